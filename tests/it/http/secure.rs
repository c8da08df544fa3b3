//! Upstreams behind TLS and behind a proxy.

use super::*;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

fn fixture(name: &str) -> String {
    format!("{}/tests/fixtures/tls/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A server behind TLS that answers one request a connection; with `asks`, only to clients with our certificate.
fn secure(asks: bool) -> u16 {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let certificate = CertificateDer::from_pem_file(fixture("cert.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(fixture("key.pem")).unwrap();
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = if asks {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(certificate.clone()).unwrap();
        let verifier =
            rustls::server::WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build().unwrap();
        builder.with_client_cert_verifier(verifier)
    } else {
        builder.with_no_client_auth()
    };
    let config = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for socket in listener.incoming() {
            let config = Arc::clone(&config);
            std::thread::spawn(move || {
                let tls = rustls::ServerConnection::new(config).unwrap();
                let mut stream = rustls::StreamOwned::new(tls, socket.unwrap());
                let mut asked = Vec::new();
                let mut piece = [0; 4096];
                while !asked.ends_with(b"}") {
                    let Some(read) = stream.read(&mut piece).ok().filter(|read| *read > 0) else { return };
                    asked.extend_from_slice(&piece[..read]);
                }
                let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
                let _ = write!(stream, "{head}Content-Length: {}\r\n\r\n{WELCOME}", WELCOME.len());
                let _ = stream.flush();
            });
        }
    });
    port
}

#[test]
fn a_certificate_that_is_not_trusted_is_said_and_one_that_is_works() {
    let env = TestEnv::new();
    let url = format!("https://localhost:{}/mcp", secure(false));
    let tap = Tap::at(&env, &url, &[]);
    let answer = Http::connect(tap.port).post("", &initialize("a"));
    assert_eq!(answer.status(), 502);
    assert!(answer.text().contains("invalid peer certificate: "), "{}", answer.text());
    tap.stop();
    let tap = Tap::at(&env, &url, &["--ca-file", &fixture("cert.pem")]);
    assert_eq!(Http::connect(tap.port).post("", &initialize("a")).text(), WELCOME);
    tap.stop();
    // The variable that other programs know does the same.
    let env = TestEnv::new().with("SSL_CERT_FILE", &fixture("cert.pem"));
    let tap = Tap::at(&env, &url, &[]);
    assert_eq!(Http::connect(tap.port).post("", &initialize("a")).text(), WELCOME);
    tap.stop();
}

#[test]
fn a_server_that_asks_for_a_certificate_gets_ours() {
    let env = TestEnv::new();
    let url = format!("https://localhost:{}/mcp", secure(true));
    let (ca, key) = (fixture("cert.pem"), fixture("key.pem"));
    let tap = Tap::at(&env, &url, &["--ca-file", &ca]);
    assert_eq!(Http::connect(tap.port).post("", &initialize("a")).status(), 502);
    tap.stop();
    let tap = Tap::at(&env, &url, &["--ca-file", &ca, "--client-cert", &ca, "--client-key", &key]);
    assert_eq!(Http::connect(tap.port).post("", &initialize("a")).text(), WELCOME);
    tap.stop();
}

#[test]
fn the_proxy_of_the_environment_is_gone_through_unless_it_is_not_for_this_host() {
    let port = secure(false);
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap();
    let heard = Arc::clone(&asked);
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let mut client = client.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && client.read(&mut byte).is_ok_and(|read| read > 0) {
                head.push(byte[0]);
            }
            heard.lock().unwrap().push(String::from_utf8_lossy(&head).lines().next().unwrap_or_default().to_owned());
            let mut server = TcpStream::connect(("127.0.0.1", port)).unwrap();
            client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
            let (mut up, mut down) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || std::io::copy(&mut up, &mut server));
            std::thread::spawn(move || std::io::copy(&mut down, &mut client));
        }
    });
    let url = format!("https://localhost:{port}/mcp");
    let ca = fixture("cert.pem");
    for (no_proxy, tunnels) in [("", 1), ("localhost", 1)] {
        let env = TestEnv::new().with("HTTPS_PROXY", &format!("http://{proxy}")).with("NO_PROXY", no_proxy);
        let tap = Tap::at(&env, &url, &["--ca-file", &ca]);
        assert_eq!(Http::connect(tap.port).post("", &initialize("a")).text(), WELCOME);
        tap.stop();
        assert_eq!(asked.lock().unwrap().as_slice(), vec![format!("CONNECT localhost:{port} HTTP/1.1"); tunnels]);
    }
}
