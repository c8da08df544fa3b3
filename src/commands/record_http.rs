//! `record --upstream`: a tap in front of a server that is reached over HTTP.

use super::record::RecordArgs;
use crate::capture::http_proxy::{self, HttpError, HttpPlan};
use crate::capture::http_sessions::{HttpNotice, SessionPlan, TellHttp};
use crate::capture::recorder::{Notice, Notify, Summary};
use crate::capture::redact;
use crate::capture::redact_http::Masker;
use crate::output::humanize::{clock_time, counted};
use crate::output::sanitize;
use crate::output::ui::StatusUi;
use crate::protocol::json::{Node, Tree};
use crate::session::session::{Launch, Peer};
use crate::store::{Location, salt};
use crate::transport::http_client::{Options, is_exempt};
use hyper::Uri;
use hyper::header::{HeaderName, HeaderValue};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};

/// The ports that a listener is given: below those that systems give out by themselves.
const PORTS: std::ops::Range<u16> = 20_000..60_000;

/// How long the last lines may take to be printed.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_millis(500);

/// How many ports are tried after the one that the upstream's URL gives.
const TRIES: u16 = 20;

/// How a server over HTTP is reached, and how it is recorded.
#[derive(Debug, clap::Args)]
pub struct HttpArgs {
    /// Record a server that is reached over HTTP at this URL, until interrupted
    #[arg(long, value_name = "URL", conflicts_with = "command")]
    pub upstream: Option<String>,
    /// Listen here for its clients (default: 127.0.0.1 and a port made of the URL)
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<String>,
    /// Talk to the client on stdin and stdout, and to the server over HTTP
    #[arg(long, requires = "upstream", conflicts_with_all = ["listen", "allow_remote", "no_redact"])]
    pub stdio: bool,
    /// Let others than this machine connect to the listener
    #[arg(long)]
    pub allow_remote: bool,
    /// Send this header with every request, such as 'X-Tenant: 7'
    #[arg(long, value_name = "NAME: VALUE")]
    pub header: Vec<String>,
    /// Send a header whose value is in a variable, such as Authorization=TOKEN
    #[arg(long, value_name = "NAME=VAR")]
    pub header_env: Vec<String>,
    /// Trust these certificates, too
    #[arg(long, value_name = "FILE")]
    pub ca_file: Option<PathBuf>,
    /// Show this certificate to the server
    #[arg(long, value_name = "FILE", requires = "client_key")]
    pub client_cert: Option<PathBuf>,
    /// The key of that certificate
    #[arg(long, value_name = "FILE", requires = "client_cert")]
    pub client_key: Option<PathBuf>,
    /// Store credentials in headers as they are
    #[arg(long)]
    pub no_redact: bool,
}

impl HttpArgs {
    /// Returns the first flag that was given and that says nothing without an upstream.
    #[must_use]
    pub fn first_flag(&self) -> Option<&'static str> {
        [
            (self.listen.is_some(), "--listen"),
            (self.allow_remote, "--allow-remote"),
            (!self.header.is_empty(), "--header"),
            (!self.header_env.is_empty(), "--header-env"),
            (self.ca_file.is_some(), "--ca-file"),
            (self.client_cert.is_some(), "--client-cert"),
            (self.no_redact, "--no-redact"),
        ]
        .into_iter()
        .find_map(|(given, flag)| given.then_some(flag))
    }
}

/// A sentence for a person, and what to do.
pub(super) struct Wrong(pub(super) String, pub(super) Option<String>);

/// Runs the command and returns the exit status.
#[must_use]
pub fn run(ui: StatusUi, location: &Location, args: &RecordArgs, url: &str) -> u8 {
    let plan = match plan(location, args, url) {
        Ok(plan) => plan,
        Err(Wrong(text, hint)) => {
            ui.say(&text);
            if let Some(hint) = hint {
                ui.hint(&hint);
            }
            return 2;
        }
    };
    let host = plan.upstream.host().unwrap_or_default().to_owned();
    let path = plan.upstream.path().to_owned();
    let (tell, notify, last) = talk(ui);
    let masks = plan.sessions.masker.is_on();
    let done = http_proxy::record(plan, tell, notify, |address| {
        ui.say(&format!("recording {} to {}", sanitize::line(&host), location.shown()));
        ui.say(&format!("url for the client: http://{address}{}", sanitize::line(&path)));
        ui.say(if masks {
            "credentials in headers are masked before they are stored"
        } else {
            "credentials in headers are stored as they are (--no-redact)"
        });
    });
    let (printed, all_printed) = channel();
    if last.send(Talk::End(printed)).is_ok() {
        let _ = all_printed.recv_timeout(LAST_WORDS);
    }
    match done {
        Ok(()) => 0,
        Err(error) => {
            ui.say(&error.to_string());
            if let HttpError::Listen { .. } = error {
                ui.hint("another program may have the port: choose one with --listen 127.0.0.1:PORT");
            }
            3
        }
    }
}

pub(super) fn plan(location: &Location, args: &RecordArgs, url: &str) -> Result<HttpPlan, Wrong> {
    let upstream = upstream(url)?;
    let http = &args.http;
    let (listen, names) = addresses(&upstream, http)?;
    let mut random = [0; 16];
    fastrand::Rng::new().fill(&mut random);
    let masker = if http.no_redact { Masker::off() } else { Masker::new(salt::of(&location.path, random)) };
    let launch = Launch { url: Some(redact::url(url)), ..Launch::default() };
    let name = match &args.name {
        Some(name) => (name.clone(), true),
        None => (name_of(&upstream), false),
    };
    let options = Options {
        ca_file: http.ca_file.clone(),
        identity: http.client_cert.clone().zip(http.client_key.clone()),
        proxy: proxy(&upstream)?,
    };
    Ok(HttpPlan {
        listen,
        names,
        options,
        headers: headers(http)?,
        sessions: SessionPlan {
            store: location.path.clone(),
            retention: crate::config::retention(),
            launch,
            name,
            masker: Arc::new(masker),
            first_id: crate::config::test_seam("MCP_TAP_TEST_ID").and_then(|text| text.parse().ok()),
        },
        upstream,
    })
}

pub(super) fn upstream(url: &str) -> Result<Uri, Wrong> {
    let shown = sanitize::line(&redact::url(url));
    let hint = || Some("such as https://host.example/mcp".to_owned());
    let parsed: Uri = url.parse().map_err(|_| Wrong(format!("`{shown}` is not a URL"), hint()))?;
    let known = matches!(parsed.scheme_str(), Some("http" | "https"));
    if !known || parsed.host().is_none_or(str::is_empty) {
        return Err(Wrong(format!("`{shown}` is not a URL that begins with http:// or https://"), hint()));
    }
    Ok(parsed)
}

/// Returns the addresses to try, and the names by which they are reached.
fn addresses(upstream: &Uri, args: &HttpArgs) -> Result<(Vec<SocketAddr>, Vec<String>), Wrong> {
    let Some(listen) = &args.listen else {
        let first = port_of(&upstream.to_string());
        let ports = (0..TRIES).map(|more| PORTS.start + (first - PORTS.start + more) % (PORTS.end - PORTS.start));
        let at = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
        return Ok((ports.map(at).chain([at(0)]).collect(), Vec::new()));
    };
    let shown = sanitize::line(listen);
    let (name, port) = listen.rsplit_once(':').unwrap_or(("127.0.0.1", listen));
    let port: u16 = port.parse().map_err(|_| {
        Wrong(format!("`{shown}` is not an address"), Some("such as 127.0.0.1:4000, or 4000".to_owned()))
    })?;
    let ip: IpAddr = match name.trim_matches(['[', ']']) {
        "localhost" | "" => IpAddr::V4(Ipv4Addr::LOCALHOST),
        text => text.parse().map_err(|_| {
            Wrong(format!("`{shown}` is not an address"), Some("such as 127.0.0.1:4000, or 4000".to_owned()))
        })?,
    };
    if !ip.is_loopback() && !args.allow_remote {
        let hint = "everybody on the network could use the server through it; --allow-remote does that";
        return Err(Wrong(format!("`{shown}` can be reached from other machines"), Some(hint.to_owned())));
    }
    // Whoever reaches it from elsewhere uses names that are not known here.
    let names = if ip.is_loopback() { Vec::new() } else { vec![ip.to_string(), "*".into()] };
    Ok((vec![SocketAddr::new(ip, port)], names))
}

/// Returns the port that a URL gives: the same tomorrow.
fn port_of(url: &str) -> u16 {
    let hash = Sha256::digest(url.as_bytes());
    let number = hash.iter().take(4).fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
    let span = u32::from(PORTS.end - PORTS.start);
    PORTS.start + u16::try_from(number % span).unwrap_or(0)
}

fn name_of(upstream: &Uri) -> String {
    let host = upstream.host().unwrap_or_default();
    let name: String = host.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | '.')).take(60).collect();
    if crate::session::selector::name_problem(&name).is_none() && name.parse::<IpAddr>().is_err() {
        name
    } else {
        "http".into()
    }
}

fn proxy(upstream: &Uri) -> Result<Option<Uri>, Wrong> {
    if upstream.scheme_str() != Some("https") {
        return Ok(None);
    }
    let (proxy, exempt) = crate::config::https_proxy();
    let Some(proxy) = proxy.filter(|_| !is_exempt(upstream.host().unwrap_or_default(), &exempt)) else {
        return Ok(None);
    };
    let with_scheme = if proxy.contains("://") { proxy.clone() } else { format!("http://{proxy}") };
    let parsed = with_scheme.parse();
    parsed
        .map(Some)
        .map_err(|_| Wrong(format!("HTTPS_PROXY is not a URL: `{}`", sanitize::line(&redact::url(&proxy))), None))
}

fn headers(args: &HttpArgs) -> Result<Vec<(HeaderName, HeaderValue)>, Wrong> {
    let mut headers = Vec::new();
    let mut add = |name: &str, value: &str| {
        let shown = sanitize::line(name.trim());
        let name: HeaderName =
            name.trim().parse().map_err(|_| Wrong(format!("`{shown}` is not the name of a header"), None))?;
        let value: HeaderValue = value
            .trim()
            .parse()
            .map_err(|_| Wrong(format!("the value of `{shown}` cannot stand in a header"), None))?;
        headers.push((name, value));
        Ok::<(), Wrong>(())
    };
    for header in &args.header {
        let hint = || Some("such as --header 'X-Tenant: 7'".to_owned());
        let (name, value) =
            header.split_once(':').ok_or_else(|| Wrong("a header is a name, a colon and a value".into(), hint()))?;
        add(name, value)?;
    }
    for pair in &args.header_env {
        let hint = || Some("such as --header-env Authorization=TOKEN".to_owned());
        let (name, variable) = pair
            .split_once('=')
            .ok_or_else(|| Wrong("`--header-env` takes a header and the name of a variable".into(), hint()))?;
        let value = crate::config::variable(variable)
            .ok_or_else(|| Wrong(format!("the variable `{}` is not set", sanitize::line(variable)), None))?;
        add(name, &value)?;
    }
    Ok(headers)
}

/// What is handed to the thread that prints.
enum Talk {
    Line(String),
    End(Sender<()>),
}

/// Returns whom to tell: somebody who prints, so that a full pipe holds nobody up who carries traffic.
fn talk(ui: StatusUi) -> (TellHttp, Notify, Sender<Talk>) {
    let (send, lines) = channel::<Talk>();
    let _ = std::thread::Builder::new().name("talk".into()).spawn(move || {
        for talk in lines {
            match talk {
                Talk::Line(line) => ui.line(&line),
                Talk::End(done) => drop(done.send(())),
            }
        }
    });
    let (for_http, last) = (send.clone(), send.clone());
    let tell: TellHttp = Arc::new(move |notice| {
        let _ = for_http.send(Talk::Line(line(&notice)));
    });
    // Every session has a recorder of its own; what befalls the store is said once.
    let said: Mutex<HashSet<String>> = Mutex::default();
    let notify: Notify = Arc::new(move |notice| {
        let text = match notice {
            Notice::CannotRecord(why) => format!("not recording: {}", sanitize::line(&why)),
            Notice::DiskFull => "the disk is full: what does not fit is not recorded; the session goes on".into(),
            Notice::Replaced => "the store was deleted or replaced: recording goes on in a new one".into(),
            Notice::Lost(loss) => format!("{} were not recorded", counted(loss.bytes, "byte")),
            Notice::ServerStopped => return,
        };
        if said.lock().unwrap_or_else(PoisonError::into_inner).insert(text.clone()) {
            let _ = send.send(Talk::Line(format!("mcp-tap: {text}")));
        }
    });
    (tell, notify, last)
}

fn line(notice: &HttpNotice) -> String {
    let short = |id: &str| id.get(..4).unwrap_or_default().to_owned();
    let (mark, text) = match notice {
        HttpNotice::Began { id, client, revision } => {
            let client = client.as_deref().and_then(peer).unwrap_or_else(|| "a client".into());
            let revision = revision.as_deref().map(|r| format!(", {}", sanitize::line(r))).unwrap_or_default();
            (short(id), format!("{client} began a session{revision}"))
        }
        HttpNotice::Ended { id, reason, summary } => (short(id), format!("{reason}{}", holds(summary.as_deref()))),
        HttpNotice::Refused(what) => {
            ("!   ".into(), format!("{} refused: it is not this machine's", sanitize::line(what)))
        }
        HttpNotice::Challenged { status, scope } => {
            let scope = scope.as_deref().map(|s| format!(", scope {} wanted", sanitize::line(s))).unwrap_or_default();
            ("!   ".into(), format!("{status} from upstream{scope}; passed on"))
        }
        HttpNotice::Unreachable(why) => {
            ("!   ".into(), format!("no answer from the upstream: {}", sanitize::line(why)))
        }
    };
    format!("{}  {mark}  {text}", clock_time(crate::clock::wall_ns()))
}

fn holds(summary: Option<&Summary>) -> String {
    let Some(summary) = summary else { return "; its end was not recorded".into() };
    let facts = &summary.facts;
    let bad = if facts.bad > 0 { format!(", {} of them bad", facts.bad) } else { String::new() };
    format!(": {}, {}{bad}", counted(facts.messages, "message"), counted(facts.calls, "call"))
}

fn peer(text: &str) -> Option<String> {
    let tree = Tree::parse(text.as_bytes()).ok()?;
    let member = |key: &str| tree.root().get(key).and_then(Node::as_text).map(std::borrow::Cow::into_owned);
    let peer = Peer { name: member("name")?, version: member("version") };
    Some(sanitize::line(&peer.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_gives_the_same_port_every_day() {
        assert_eq!(port_of("https://weather.example/mcp"), port_of("https://weather.example/mcp"));
        assert!(PORTS.contains(&port_of("https://weather.example/mcp")) && PORTS.contains(&port_of("")));
        assert_ne!(port_of("http://a/mcp"), port_of("http://b/mcp"));
    }

    #[test]
    fn names_of_upstreams() {
        let name = |url: &str| name_of(&url.parse().unwrap());
        assert_eq!(
            (name("https://weather.example/mcp"), name("http://127.0.0.1:3001/mcp")),
            ("weather.example".into(), "http".into())
        );
        assert_eq!((name("http://localhost:3001/"), name("http://[::1]:3001/")), ("localhost".into(), "http".into()));
    }
}
