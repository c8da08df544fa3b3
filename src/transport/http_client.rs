//! The way to an upstream server: TLS, HTTP/1.1 and HTTP/2, and a proxy in between.

use super::http_body::Carried;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::{Request, Response, Uri};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long a connection may take to be made.
const CONNECT: Duration = Duration::from_secs(30);

/// How long an unused connection is kept: shorter than servers keep theirs, so that no request meets a closing one.
const IDLE: Duration = Duration::from_secs(3);

/// How an upstream is reached.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// A file of certificates to trust besides those of the system.
    pub ca_file: Option<PathBuf>,
    /// Our own certificate, and its key.
    pub identity: Option<(PathBuf, PathBuf)>,
    /// The proxy to go through.
    pub proxy: Option<Uri>,
}

/// Why there is no way to an upstream, as a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct ClientError(pub String);

/// A body on its way up: one that passes through, or one of our own.
type Outgoing = Either<Carried, Full<Bytes>>;

/// A client of one upstream.
#[derive(Clone)]
pub enum HttpClient {
    /// Straight to it.
    Direct(Client<HttpsConnector<HttpConnector>, Outgoing>),
    /// Through the tunnel of a proxy.
    Tunneled(Client<HttpsConnector<Tunnel<HttpConnector>>, Outgoing>),
}

impl HttpClient {
    /// Returns a client; certificates are only read for an upstream that has some.
    ///
    /// # Errors
    /// Says which certificate or key cannot be read.
    pub fn new(upstream: &Uri, options: &Options) -> Result<Self, ClientError> {
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        let tls = tls(upstream.scheme_str() == Some("https"), options)?;
        let builder = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_all_versions();
        let mut client = Client::builder(TokioExecutor::new());
        client.pool_timer(hyper_util::rt::TokioTimer::new());
        client.pool_idle_timeout(IDLE).http1_preserve_header_case(true).http2_adaptive_window(true);
        client.http1_max_buf_size(256 << 10);
        Ok(match &options.proxy {
            None => Self::Direct(client.build(builder.wrap_connector(connector))),
            Some(proxy) => Self::Tunneled(client.build(builder.wrap_connector(Tunnel::new(proxy.clone(), connector)))),
        })
    }

    /// Sends a request; its body follows as it comes.
    ///
    /// # Errors
    /// The upstream cannot be reached, or does not answer in HTTP.
    pub async fn send(&self, request: Request<Carried>) -> Result<Response<Incoming>, ClientError> {
        self.send_any(request.map(Either::Left)).await
    }

    /// Sends a request whose body is there as a whole.
    ///
    /// # Errors
    /// The upstream cannot be reached, or does not answer in HTTP.
    pub async fn send_whole(&self, request: Request<Bytes>) -> Result<Response<Incoming>, ClientError> {
        self.send_any(request.map(|body| Either::Right(Full::new(body)))).await
    }

    async fn send_any(&self, request: Request<Outgoing>) -> Result<Response<Incoming>, ClientError> {
        let sent = match self {
            Self::Direct(client) => client.request(request).await,
            Self::Tunneled(client) => client.request(request).await,
        };
        sent.map_err(|error| ClientError(cause(&error)))
    }
}

/// Returns what went wrong, from its cause.
#[must_use]
pub fn cause(error: &(dyn std::error::Error + 'static)) -> String {
    let mut cause = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let text = cause.to_string();
    if text.contains("CaUsedAsEndEntity") {
        return "its certificate is that of an authority (CA:TRUE), which no server may show".into();
    }
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_lowercase().chain(characters).collect())
}

fn tls(wanted: bool, options: &Options) -> Result<rustls::ClientConfig, ClientError> {
    let mut roots = rustls::RootCertStore::empty();
    if wanted {
        // One certificate of the system that cannot be read is none of our business.
        let found = rustls_native_certs::load_native_certs();
        roots.add_parsable_certificates(found.certs);
    }
    if let Some(file) = &options.ca_file {
        for certificate in certificates(file)? {
            roots.add(certificate).map_err(|e| ClientError(format!("`{}`: {e}", file.display())))?;
        }
    }
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let failed = |error: rustls::Error| ClientError(error.to_string());
    let builder = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(failed)?
        .with_root_certificates(roots);
    match &options.identity {
        None => Ok(builder.with_no_client_auth()),
        Some((certificate, key)) => {
            let read = PrivateKeyDer::from_pem_file(key)
                .map_err(|e| ClientError(format!("`{}` has no private key: {e}", key.display())))?;
            builder.with_client_auth_cert(certificates(certificate)?, read).map_err(failed)
        }
    }
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, ClientError> {
    let wrong = |what: String| ClientError(format!("`{}` has no certificate: {what}", file.display()));
    let found: Vec<CertificateDer<'static>> = CertificateDer::pem_file_iter(file)
        .map_err(|e| wrong(e.to_string()))?
        .collect::<Result<_, _>>()
        .map_err(|e| wrong(e.to_string()))?;
    if found.is_empty() { Err(wrong("it is empty".into())) } else { Ok(found) }
}

/// Returns true if a host is reached without a proxy, by a list such as `localhost,.corp.example,*`.
#[must_use]
pub fn is_exempt(host: &str, no_proxy: &str) -> bool {
    let host = host.trim_matches(['[', ']']).to_ascii_lowercase();
    no_proxy.split([',', ' ']).map(|item| item.trim().to_ascii_lowercase()).filter(|item| !item.is_empty()).any(
        |item| {
            let domain = item.trim_start_matches('.');
            item == "*" || host == domain || host.strip_suffix(domain).is_some_and(|before| before.ends_with('.'))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_that_need_no_proxy() {
        assert!(is_exempt("localhost", "localhost,127.0.0.1") && is_exempt("a.corp.example", ".corp.example"));
        assert!(is_exempt("corp.example", "corp.example") && is_exempt("h", "*"));
        assert!(!is_exempt("xcorp.example", "corp.example") && !is_exempt("h", ""));
    }
}
