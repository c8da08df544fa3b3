//! The tap on HTTP: a reverse proxy in front of one upstream.
//!
//! Bodies pass chunk by chunk in both directions, each shown to the session's tap before it is written on. Nothing is
//! waited for but the other side; a client that leaves takes its request with it, and an answer that breaks off upstream
//! breaks off here.

use super::http_exchange::{Exchange, Ongoing, RequestBody, ResponseBody};
use super::http_rewrite::Origins;
use super::http_sessions::{HttpNotice, SessionPlan, Sessions, TellHttp};
use super::recorder::Notify;
use super::signals;
use crate::clock::Stopwatch;
use crate::session::frame::Channel;
use crate::session::http::{Headers, HttpEnding, is_event_stream};
use crate::transport::http_body::Carried;
use crate::transport::http_client::{ClientError, HttpClient, Options, cause};
use crate::transport::http_guard::{Refusal, refusal};
use crate::transport::http_heads;
use crate::transport::http_server::{Listener, Reply};
use http_body_util::{BodyExt, Either, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, LOCATION, WWW_AUTHENTICATE};
use hyper::http::request::Parts;
use hyper::{Request, Response, StatusCode, Uri, Version};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// How often it is looked whether sessions are idle.
const SWEEP: Duration = Duration::from_secs(30);

/// The longest metadata that is read as a whole to be rewritten, in bytes.
const METADATA: u64 = 256 << 10;

/// What is put in front of what.
#[derive(Debug, Clone)]
pub struct HttpPlan {
    /// The upstream's URL.
    pub upstream: Uri,
    /// Where to listen; several are tried in their order.
    pub listen: Vec<SocketAddr>,
    /// Names under which clients reach the listener, besides the loopback ones.
    pub names: Vec<String>,
    /// How the upstream is reached.
    pub options: Options,
    /// Headers that every request gets.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// What every session begins with.
    pub sessions: SessionPlan,
}

/// Why nothing is recorded, as a sentence.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// No address could be listened at.
    #[error("cannot listen at {address}: {reason}")]
    Listen {
        /// The last address that was tried.
        address: SocketAddr,
        /// What the system said.
        reason: String,
    },
    /// There is no way to the upstream.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The system gives no threads.
    #[error("{0}")]
    Runtime(std::io::Error),
}

struct Proxy {
    upstream: Uri,
    authority: HeaderValue,
    origin: String,
    client: HttpClient,
    names: Vec<String>,
    headers: Vec<(HeaderName, HeaderValue)>,
    sessions: Arc<Sessions>,
}

/// Listens and records until a signal comes; `listening` is told the address.
///
/// # Errors
/// Nothing was recorded then.
pub fn record(
    plan: HttpPlan,
    tell: TellHttp,
    notify: Notify,
    listening: impl FnOnce(SocketAddr),
) -> Result<(), HttpError> {
    let client = HttpClient::new(&plan.upstream, &plan.options)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_io()
        .enable_time()
        .build()
        .map_err(HttpError::Runtime)?;
    let sessions = Arc::new(Sessions::new(plan.sessions, Stopwatch::start(), tell, notify));
    let authority = plan.upstream.authority().map_or("", |authority| authority.as_str());
    let authority = authority.rsplit('@').next().unwrap_or_default();
    let proxy = Arc::new(Proxy {
        origin: format!("{}://{authority}", plan.upstream.scheme_str().unwrap_or("http")),
        authority: HeaderValue::from_str(authority).unwrap_or(HeaderValue::from_static("")),
        upstream: plan.upstream,
        client,
        names: plan.names,
        headers: plan.headers,
        sessions: Arc::clone(&sessions),
    });
    let (stop, stopped) = tokio::sync::oneshot::channel();
    catch_signals(stop);
    let done = runtime.block_on(async {
        let listener = bind(&plan.listen).await?;
        let address = listener.address().map_err(HttpError::Runtime)?;
        listening(address);
        let sweeper = Arc::clone(&sessions);
        tokio::select! {
            () = listener.serve(move |request, connection| proxy.clone().answer(request, connection)) => {}
            () = async {
                loop {
                    tokio::time::sleep(SWEEP).await;
                    sweeper.sweep();
                }
            } => {}
            _ = stopped => {}
        }
        Ok(())
    });
    sessions.end_all("the recording was stopped");
    // What is open is broken off: its clients find out as they would without us.
    runtime.shutdown_background();
    done
}

async fn bind(addresses: &[SocketAddr]) -> Result<Listener, HttpError> {
    let mut failed = HttpError::Runtime(std::io::ErrorKind::AddrNotAvailable.into());
    for address in addresses {
        match Listener::bind(*address).await {
            Ok(listener) => return Ok(listener),
            Err(error) => {
                failed = HttpError::Listen { address: *address, reason: cause(&error) };
            }
        }
    }
    Err(failed)
}

/// Has the first signal that asks for an end stop the recording.
fn catch_signals(stop: tokio::sync::oneshot::Sender<()>) {
    use signal_hook::consts::{SIGCONT, SIGUSR1, SIGUSR2};
    let Ok(caught) = signals::catch() else { return };
    let mut stop = Some(stop);
    let _ = std::thread::Builder::new().name("signals".into()).spawn(move || {
        signals::each(caught, |signal, _| {
            if ![SIGCONT, SIGUSR1, SIGUSR2].contains(&signal)
                && let Some(stop) = stop.take()
            {
                let _ = stop.send(());
            }
        });
    });
}

impl Proxy {
    /// Answers one request: with the upstream's answer, or with a refusal of our own.
    async fn answer(self: Arc<Self>, request: Request<Incoming>, connection: u64) -> Response<Reply> {
        let (mut head, body) = request.into_parts();
        let text = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
        let host = text("host").or(head.uri.authority().map(hyper::http::uri::Authority::as_str)).map(str::to_owned);
        if let Some(refusal) = refusal(host.as_deref(), text("origin"), &self.names) {
            let (what, name) = match refusal {
                Refusal::Host => ("Host", host.as_deref()),
                Refusal::Origin => ("Origin", text("origin")),
            };
            self.sessions.tell(HttpNotice::Refused(format!("{what} `{}`", name.unwrap_or_default())));
            return words(StatusCode::FORBIDDEN, &format!("mcp-tap: this {what} may not talk to the tap\n"));
        }
        let origins = Origins { upstream: self.origin.clone(), tap: format!("http://{}", host.unwrap_or_default()) };
        let exchange = Exchange::begin(&self.sessions, &head, connection);
        let ongoing = Ongoing(Some(Arc::clone(&exchange)));
        let opens_stream = head.method == "GET" && !head.headers.contains_key("mcp-session-id");
        let is_metadata = head.uri.path().contains("/.well-known/oauth-protected-resource");
        let accepted = self.outgoing(&mut head).map(|uri| head.uri = uri);
        if accepted.is_none() {
            exchange.finish(HttpEnding::NoAnswer, Headers::new());
            return words(StatusCode::BAD_REQUEST, "mcp-tap: this path cannot be passed on\n");
        }
        let body = Carried::new(body, RequestBody::new(&exchange));
        let response = match self.client.send(Request::from_parts(head, body)).await {
            Ok(response) => response,
            Err(_) if exchange.request_broke() => {
                exchange.finish(HttpEnding::ClientLeft, Headers::new());
                return words(StatusCode::BAD_REQUEST, "mcp-tap: the request broke off\n");
            }
            Err(error) => {
                exchange.finish(HttpEnding::NoAnswer, Headers::new());
                self.sessions.tell(HttpNotice::Unreachable(error.to_string()));
                return words(StatusCode::BAD_GATEWAY, &format!("mcp-tap: no answer from the upstream: {error}\n"));
            }
        };
        let (mut head, body) = response.into_parts();
        head.version = Version::HTTP_11;
        let original = head.headers;
        head.headers = http_heads::passed_on(&original);
        let rewritten = rewrite_heads(&mut head.headers, &origins);
        let is_events = original.get(CONTENT_TYPE).and_then(|v| v.to_str().ok()).is_some_and(is_event_stream);
        let is_short = body.size_hint().exact().is_some_and(|length| length <= METADATA);
        let is_plain = !original.contains_key("content-encoding");
        let rewrites_body = is_metadata && is_short && is_plain && head.status.is_success();
        exchange.answered(head.status.as_u16(), &original, rewritten, is_events);
        ongoing.hand_on();
        let channel = if is_events { Channel::Sse } else { Channel::HttpBody };
        let endpoint = (opens_stream && is_events && is_plain).then(|| origins.clone());
        let body = Carried::new(body, ResponseBody::new(&exchange, channel, endpoint));
        if rewrites_body {
            return metadata(head, body, &origins, &exchange).await;
        }
        Response::from_parts(head, Either::Left(body))
    }

    /// Makes the head of a request the upstream's; returns its URL, or `None` for one that cannot be made.
    fn outgoing(&self, head: &mut Parts) -> Option<Uri> {
        head.headers = http_heads::passed_on(&head.headers);
        http_heads::set_host(&mut head.headers, &self.authority);
        for (name, value) in &self.headers {
            head.headers.insert(name.clone(), value.clone());
        }
        head.version = Version::HTTP_11;
        let mut path = head.uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
        // What the upstream's URL has in its query is for every request to it, and no client needs to know it.
        if head.uri.query().is_none()
            && head.uri.path() == self.upstream.path()
            && let Some(query) = self.upstream.query()
        {
            path = format!("{path}?{query}");
        }
        let authority = self.upstream.authority()?.as_str();
        let authority = authority.rsplit('@').next().unwrap_or(authority);
        Uri::builder().scheme(self.upstream.scheme_str()?).authority(authority).path_and_query(path).build().ok()
    }
}

/// Has the headers that lead around the tap lead through it; returns what was changed.
fn rewrite_heads(headers: &mut HeaderMap, origins: &Origins) -> Vec<String> {
    let mut rewritten = Vec::new();
    let mut change = |name: HeaderName, what: &str, through: &dyn Fn(&str) -> Option<String>| {
        let old = headers.get(&name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        if let Some(new) = old.as_deref().and_then(through)
            && let Ok(value) = HeaderValue::from_str(&new)
        {
            headers.insert(name, value);
            rewritten.push(format!("{what} leads through the tap"));
        }
    };
    change(LOCATION, "Location", &|url| origins.through_tap(url));
    change(WWW_AUTHENTICATE, "`resource_metadata` of WWW-Authenticate", &|value| origins.challenge(value));
    rewritten
}

/// Answers with metadata that name the tap.
async fn metadata(
    mut head: hyper::http::response::Parts,
    body: Carried,
    origins: &Origins,
    exchange: &Exchange,
) -> Response<Reply> {
    let Ok(collected) = body.collect().await else {
        return words(StatusCode::BAD_GATEWAY, "mcp-tap: the upstream broke its metadata off\n");
    };
    let body = collected.to_bytes();
    let changed = origins.metadata(&body).map(Bytes::from);
    if changed.is_some() {
        exchange.rewrote("`resource` of the protected-resource metadata names the tap");
    }
    let body = changed.unwrap_or(body);
    if head.headers.contains_key(CONTENT_LENGTH) {
        head.headers.insert(CONTENT_LENGTH, HeaderValue::from(body.len()));
    }
    Response::from_parts(head, Either::Right(Full::new(body)))
}

fn words(status: StatusCode, text: &str) -> Response<Reply> {
    let mut response = Response::new(Either::Right(Full::new(Bytes::from(text.to_owned()))));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
