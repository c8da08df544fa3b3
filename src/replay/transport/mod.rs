//! How the driver reaches a server.

mod client;
mod lines;
mod stdio;

pub use client::{ClientTransport, Received};
pub use stdio::StdioTransport;
