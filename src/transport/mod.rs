//! The only room that starts processes and opens sockets.

pub mod process_group;
pub mod shutdown;
pub mod stdio;
pub mod streams;
