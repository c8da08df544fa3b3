//! A body on its way through: every chunk is shown to an observer before it is written on.

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::header::HeaderMap;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

/// How long a chunk whose copy has no room waits before it asks again.
const ASK_AGAIN: Duration = Duration::from_millis(5);

/// How a body ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyEnd {
    /// All of it has passed.
    Complete,
    /// Its sender broke it off.
    Broken,
    /// Its receiver does not want it any more.
    Dropped,
}

/// Sees a body pass.
pub trait Observer: Send + 'static {
    /// Returns true if a chunk can be taken now; else it is asked again in a moment.
    fn has_room(&mut self, length: usize) -> bool;

    /// Takes the next chunk and returns what is written on in its place: the same, but for what must be rewritten.
    fn data(&mut self, bytes: Bytes) -> Bytes;

    /// Returns what it still holds back at the end of the body.
    fn rest(&mut self) -> Option<Bytes> {
        None
    }

    /// Returns true if what is written on may have another length.
    fn rewrites(&self) -> bool {
        false
    }

    /// Takes the trailers.
    fn trailers(&mut self, _trailers: &HeaderMap) {}

    /// Takes the end of the body; called once.
    fn end(&mut self, how: BodyEnd);
}

/// A body and its observer.
pub struct Carried {
    inner: Incoming,
    observer: Box<dyn Observer>,
    held: Option<Bytes>,
    sleep: Option<Pin<Box<tokio::time::Sleep>>>,
    ended: bool,
    kept: Option<Box<dyn Send>>,
}

impl Carried {
    /// Returns a body that shows what passes to the observer.
    #[must_use]
    pub fn new(inner: Incoming, observer: Box<dyn Observer>) -> Self {
        let mut carried = Self { inner, observer, held: None, sleep: None, ended: false, kept: None };
        // Nobody asks for more of a body that is known to be empty.
        if carried.inner.is_end_stream() {
            carried.end(BodyEnd::Complete);
        }
        carried
    }

    /// Keeps something until the body is gone.
    #[must_use]
    pub fn keep(mut self, something: impl Send + 'static) -> Self {
        self.kept = Some(Box::new(something));
        self
    }

    fn end(&mut self, how: BodyEnd) {
        if !std::mem::replace(&mut self.ended, true) {
            self.observer.end(how);
        }
    }

    /// Returns true once the copy of a chunk has room.
    fn poll_room(&mut self, length: usize, context: &mut Context<'_>) -> Poll<()> {
        loop {
            if let Some(sleep) = &mut self.sleep {
                if sleep.as_mut().poll(context).is_pending() {
                    return Poll::Pending;
                }
                self.sleep = None;
            }
            if self.observer.has_room(length) {
                return Poll::Ready(());
            }
            self.sleep = Some(Box::pin(tokio::time::sleep(ASK_AGAIN)));
        }
    }
}

impl Body for Carried {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let this = &mut *self;
        loop {
            if let Some(bytes) = this.held.take() {
                if this.poll_room(bytes.len(), context).is_pending() {
                    this.held = Some(bytes);
                    return Poll::Pending;
                }
                let bytes = this.observer.data(bytes);
                if this.inner.is_end_stream() {
                    this.end(BodyEnd::Complete);
                }
                if !bytes.is_empty() {
                    return Poll::Ready(Some(Ok(Frame::data(bytes))));
                }
            }
            let Poll::Ready(next) = Pin::new(&mut this.inner).poll_frame(context) else { return Poll::Pending };
            match next {
                None => {
                    this.end(BodyEnd::Complete);
                    return Poll::Ready(this.observer.rest().map(|rest| Ok(Frame::data(rest))));
                }
                Some(Err(error)) => {
                    this.end(BodyEnd::Broken);
                    return Poll::Ready(Some(Err(error)));
                }
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(bytes) => this.held = Some(bytes),
                    Err(frame) => {
                        if let Some(trailers) = frame.trailers_ref() {
                            this.observer.trailers(trailers);
                        }
                        return Poll::Ready(Some(Ok(frame)));
                    }
                },
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        !self.observer.rewrites() && self.held.is_none() && self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.observer.rewrites() { SizeHint::default() } else { self.inner.size_hint() }
    }
}

impl Drop for Carried {
    fn drop(&mut self) {
        self.end(BodyEnd::Dropped);
    }
}
