//! Recording: from a transport's bytes to rows of the store, without ever holding up the traffic.
//!
//! A pump hands a copy of each chunk to the [`tap`] before it writes the chunk on, so that the order in the tap is
//! the order of causes. The [`recorder`] thread takes the chunks, [`assemble`] makes frames and messages of them.

pub mod assemble;
mod bodies;
pub mod bridge;
pub mod buffers;
mod checkpoints;
pub mod decode;
mod http_exchange;
pub mod http_proxy;
pub mod http_rewrite;
pub mod http_router;
pub mod http_sessions;
pub mod launch;
pub mod pump;
pub mod recorder;
pub mod redact;
pub mod redact_http;
pub mod signals;
pub mod stdio_proxy;
pub mod tap;
