//! A server on raw sockets: it says exactly the bytes that a test wants, when it wants.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;

/// A request as it came.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Asked {
    pub(crate) fn verb(&self) -> &str {
        self.head.split(' ').next().unwrap()
    }

    pub(crate) fn path(&self) -> &str {
        self.head.split(' ').nth(1).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.head.lines().filter_map(|line| line.split_once(": "));
        found.filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// One connection, while a request is answered.
pub(crate) struct Wire<'a> {
    pub(crate) socket: &'a mut TcpStream,
    events: &'a Arc<(Mutex<Vec<String>>, Condvar)>,
}

impl Wire<'_> {
    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        let _ = self.socket.write_all(bytes);
    }

    /// Answers with a whole body.
    pub(crate) fn answer(&mut self, status: &str, headers: &str, body: &[u8]) {
        self.write(format!("HTTP/1.1 {status}\r\n{headers}Content-Length: {}\r\n\r\n", body.len()).as_bytes());
        self.write(body);
    }

    pub(crate) fn json(&mut self, body: &str) {
        self.answer("200 OK", "Content-Type: application/json\r\n", body.as_bytes());
    }

    /// Begins an event stream.
    pub(crate) fn stream(&mut self, headers: &str) {
        self.write(
            format!(
                "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n{headers}Transfer-Encoding: chunked\r\n\r\n"
            )
            .as_bytes(),
        );
    }

    /// Writes a chunk.
    pub(crate) fn chunk(&mut self, bytes: &[u8]) {
        self.write(&[format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat());
    }

    pub(crate) fn end(&mut self) {
        self.write(b"0\r\n\r\n");
    }

    /// Tells the test that something has happened.
    pub(crate) fn tell(&self, what: &str) {
        self.events.0.lock().unwrap().push(what.to_owned());
        self.events.1.notify_all();
    }

    /// Waits until something has happened.
    pub(crate) fn wait(&self, what: &str) -> bool {
        wait(self.events, what)
    }

    /// Waits until the other side has gone.
    pub(crate) fn wait_for_disconnect(&mut self) {
        let mut byte = [0];
        while self.socket.read(&mut byte).is_ok_and(|read| read > 0) {}
        self.tell("disconnected");
    }
}

fn wait(events: &Arc<(Mutex<Vec<String>>, Condvar)>, what: &str) -> bool {
    let until = Instant::now() + crate::support::PATIENCE;
    let mut seen = events.0.lock().unwrap();
    while !seen.iter().any(|event| event == what) {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return false;
        }
        seen = events.1.wait_timeout(seen, left).unwrap().0;
    }
    true
}

/// A server that answers by a function.
pub(crate) struct Upstream {
    pub(crate) port: u16,
    asked: Arc<Mutex<Vec<Asked>>>,
    events: Arc<(Mutex<Vec<String>>, Condvar)>,
}

impl Upstream {
    /// Serves each request with `answer`; a connection ends when it says false.
    pub(crate) fn new(answer: impl Fn(&Asked, &mut Wire<'_>) -> bool + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let upstream = Self { port, asked: Arc::default(), events: Arc::default() };
        let (asked, events, answer) = (Arc::clone(&upstream.asked), Arc::clone(&upstream.events), Arc::new(answer));
        std::thread::spawn(move || {
            for socket in listener.incoming() {
                let mut socket = socket.unwrap();
                socket.set_nodelay(true).unwrap();
                let (asked, events, answer) = (Arc::clone(&asked), Arc::clone(&events), Arc::clone(&answer));
                std::thread::spawn(move || {
                    let mut buffer = Vec::new();
                    while let Some(request) = read_request(&mut socket, &mut buffer) {
                        asked.lock().unwrap().push(request.clone());
                        if !answer(&request, &mut Wire { socket: &mut socket, events: &events }) {
                            break;
                        }
                    }
                });
            }
        });
        upstream
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }

    /// The requests so far.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub(crate) fn tell(&self, what: &str) {
        self.events.0.lock().unwrap().push(what.to_owned());
        self.events.1.notify_all();
    }

    pub(crate) fn wait(&self, what: &str) {
        assert!(wait(&self.events, what), "the upstream never saw `{what}`");
    }
}

fn read_request(socket: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<Asked> {
    let mut more = |buffer: &mut Vec<u8>| {
        let mut piece = [0; 64 << 10];
        let read = socket.read(&mut piece).ok().filter(|read| *read > 0)?;
        buffer.extend_from_slice(&piece[..read]);
        Some(())
    };
    let find = |buffer: &[u8], what: &[u8]| buffer.windows(what.len()).position(|window| window == what);
    let end = loop {
        if let Some(end) = find(buffer, b"\r\n\r\n") {
            break end;
        }
        more(buffer)?;
    };
    let head = String::from_utf8_lossy(&buffer[..end]).into_owned();
    buffer.drain(..end + 4);
    let mut asked = Asked { head, body: Vec::new() };
    if asked.header("transfer-encoding").is_some_and(|coding| coding.contains("chunked")) {
        loop {
            while find(buffer, b"\r\n").is_none() {
                more(buffer)?;
            }
            let line = find(buffer, b"\r\n")?;
            let size = usize::from_str_radix(std::str::from_utf8(&buffer[..line]).ok()?.trim(), 16).ok()?;
            while buffer.len() < line + 2 + size + 2 {
                more(buffer)?;
            }
            asked.body.extend_from_slice(&buffer[line + 2..line + 2 + size]);
            buffer.drain(..line + 2 + size + 2);
            if size == 0 {
                return Some(asked);
            }
        }
    }
    let length: usize = asked.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    while buffer.len() < length {
        more(buffer)?;
    }
    asked.body = buffer.drain(..length).collect();
    Some(asked)
}
