//! A client on a raw socket.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// One connection to the tap.
pub(crate) struct Http {
    pub(crate) socket: TcpStream,
    port: u16,
    buffer: Vec<u8>,
}

/// An answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn status(&self) -> u16 {
        self.head.split(' ').nth(1).unwrap().parse().unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.head.lines().filter_map(|line| line.split_once(": "));
        found.filter(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

impl Http {
    pub(crate) fn connect(port: u16) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", port)).unwrap();
        socket.set_nodelay(true).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
        Self { socket, port, buffer: Vec::new() }
    }

    /// Writes bytes as they are.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        self.socket.write_all(bytes).unwrap();
    }

    /// Sends a request with a body.
    pub(crate) fn send(&mut self, verb: &str, path: &str, headers: &str, body: &[u8]) {
        let host = format!("Host: 127.0.0.1:{}\r\n", self.port);
        let length = if verb == "POST" { format!("Content-Length: {}\r\n", body.len()) } else { String::new() };
        // In one piece, as clients do: who is refused for its head is hung up on before its body.
        let head = format!("{verb} {path} HTTP/1.1\r\n{host}{headers}{length}\r\n");
        self.write(&[head.as_bytes(), body].concat());
    }

    /// Sends a POST to the endpoint and reads its answer.
    pub(crate) fn post(&mut self, headers: &str, body: &str) -> Answer {
        let headers =
            format!("Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n{headers}");
        self.send("POST", "/mcp", &headers, body.as_bytes());
        self.answer()
    }

    fn more(&mut self) -> bool {
        let mut piece = [0; 64 << 10];
        let read = self.socket.read(&mut piece).unwrap_or(0);
        self.buffer.extend_from_slice(&piece[..read]);
        read > 0
    }

    /// Reads until these bytes have come, and returns everything up to their end.
    pub(crate) fn until(&mut self, what: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.buffer.windows(what.len()).position(|window| window == what) {
                return self.buffer.drain(..at + what.len()).collect();
            }
            assert!(
                self.more(),
                "the connection ended before {:?}: {:?}",
                String::from_utf8_lossy(what),
                String::from_utf8_lossy(&self.buffer)
            );
        }
    }

    /// Reads to the end of the connection.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        while self.more() {}
        std::mem::take(&mut self.buffer)
    }

    /// Reads the head of an answer.
    pub(crate) fn head(&mut self) -> String {
        String::from_utf8(self.until(b"\r\n\r\n")).unwrap()
    }

    /// Reads an answer in chunks and keeps nothing of it.
    pub(crate) fn pass_over(&mut self) {
        self.head();
        let mut tail: Vec<u8> = Vec::new();
        while !tail.ends_with(b"\r\n0\r\n\r\n") {
            assert!(!self.buffer.is_empty() || self.more(), "the body broke off");
            tail.append(&mut self.buffer);
            tail.drain(..tail.len().saturating_sub(7));
        }
    }

    /// Reads a whole answer.
    pub(crate) fn answer(&mut self) -> Answer {
        let mut answer = Answer { head: self.head(), body: Vec::new() };
        if answer.header("transfer-encoding").is_some() {
            loop {
                let line = String::from_utf8(self.until(b"\r\n")).unwrap();
                let size = usize::from_str_radix(line.trim(), 16).unwrap();
                while self.buffer.len() < size + 2 {
                    assert!(self.more(), "the body broke off");
                }
                answer.body.extend(self.buffer.drain(..size));
                self.buffer.drain(..2);
                if size == 0 {
                    return answer;
                }
            }
        }
        let length: usize = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        while self.buffer.len() < length {
            assert!(self.more(), "the body broke off");
        }
        answer.body = self.buffer.drain(..length).collect();
        answer
    }
}
