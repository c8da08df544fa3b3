//! The only room that starts processes and opens sockets.

pub mod http_body;
pub mod http_client;
pub mod http_guard;
pub mod http_heads;
pub mod http_server;
pub mod process_group;
pub mod shutdown;
pub mod stdio;
pub mod streams;
