//! Listens for HTTP/1.1 clients.

use super::http_body::Carried;
use http_body_util::{Either, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::collections::BTreeMap;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;

/// How many connections there may be: one more, and the one that has been without a request for longest is closed.
pub const MOST_CONNECTIONS: usize = 512;

/// How long a head may be, in bytes.
const HEAD: usize = 128 << 10;

/// How many headers it may have.
const HEADERS: usize = 256;

/// The body of an answer: the upstream's, or words of our own.
pub type Reply = Either<Carried, Full<Bytes>>;

/// A socket that clients connect to.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
}

impl Listener {
    /// Listens at an address; port 0 takes any.
    ///
    /// # Errors
    /// What the system said: the port is taken, perhaps.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        Ok(Self { socket: TcpListener::bind(address).await? })
    }

    /// Returns the address that clients connect to.
    ///
    /// # Errors
    /// What the system said.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Serves for ever: `answer` gets each request with the number of its connection.
    pub async fn serve<A, F>(self, answer: A)
    where
        A: Fn(Request<Incoming>, u64) -> F + Clone + Send + Sync + 'static,
        F: Future<Output = Response<Reply>> + Send + 'static,
    {
        let connections = Connections::default();
        let mut next = 0;
        loop {
            // Out of descriptors, or a client that left before it was accepted: the next may do better.
            let Ok((stream, _)) = self.socket.accept().await else {
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
                continue;
            };
            let number = next;
            next += 1;
            let connection = connections.enter(number);
            let connections = connections.clone();
            let answer = answer.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = one(stream, number, &connection, answer) => {}
                    () = connection.evicted.notified() => {}
                }
                connections.leave(number);
            });
        }
    }
}

async fn one<A, F>(stream: TcpStream, number: u64, connection: &Arc<Connection>, answer: A)
where
    A: Fn(Request<Incoming>, u64) -> F,
    F: Future<Output = Response<Reply>>,
{
    // A stream of small events must not wait for more of them.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let busy = Busy::new(connection);
        let answering = answer(request, number);
        async move {
            let response = answering.await;
            // A stream that goes on is no idle connection.
            let response = response.map(|reply| match reply {
                Either::Left(carried) => Either::Left(carried.keep(busy)),
                words => words,
            });
            Ok::<_, std::convert::Infallible>(response)
        }
    });
    let mut server = hyper::server::conn::http1::Builder::new();
    server.preserve_header_case(true).auto_date_header(false).max_buf_size(HEAD).max_headers(HEADERS);
    // A client that breaks off is told by its exchange; there is nobody to tell of one that speaks no HTTP.
    let _ = server.serve_connection(TokioIo::new(stream), service).await;
}

#[derive(Debug, Default)]
struct Connection {
    requests: AtomicUsize,
    has_asked: AtomicBool,
    evicted: Notify,
}

/// Counts a request that is being answered.
struct Busy(Arc<Connection>);

impl Busy {
    fn new(connection: &Arc<Connection>) -> Self {
        connection.requests.fetch_add(1, Ordering::AcqRel);
        connection.has_asked.store(true, Ordering::Release);
        Self(Arc::clone(connection))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::AcqRel);
    }
}

#[derive(Debug, Clone, Default)]
struct Connections {
    open: Arc<Mutex<BTreeMap<u64, Arc<Connection>>>>,
}

impl Connections {
    /// Enters a connection, closing the one that can best be done without where there are too many.
    fn enter(&self, number: u64) -> Arc<Connection> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.len() >= MOST_CONNECTIONS {
            // First those that have never asked for anything: a client that is slow on purpose.
            let silent = open.iter().find(|(_, other)| !other.has_asked.load(Ordering::Acquire));
            let idle = silent.or_else(|| open.iter().find(|(_, other)| other.requests.load(Ordering::Acquire) == 0));
            let last = idle.map(|(number, _)| *number);
            if let Some(evicted) = last.and_then(|number| open.remove(&number)) {
                evicted.evicted.notify_one();
            }
        }
        let connection = Arc::new(Connection::default());
        open.insert(number, Arc::clone(&connection));
        connection
    }

    fn leave(&self, number: u64) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).remove(&number);
    }
}
