//! mcp-tap: a transparent recording proxy for the Model Context Protocol.
//!
//! The rooms, from the ground up; each may use those above it in this list (ARCHITECTURE.md has the table, a test
//! checks it):
//!
//! - [`protocol`]: MCP and JSON-RPC on bytes, pure
//! - [`session`]: the vocabulary of a recording, pure
//! - [`analysis`]: reports from sessions, pure
//! - [`store`], [`session_file`]: where recordings are kept
//! - [`transport`]: the only room that starts processes
//! - [`capture`]: from a transport to the store
//! - [`replay`]: the client, once more
//! - [`mock`]: the server, once more
//! - [`output`]: the only room that prints
//! - [`commands`]: one file a command

pub mod analysis;
pub mod capture;
pub mod cli;
pub mod clock;
pub mod commands;
pub mod config;
pub mod error;
pub mod exit_code;
pub mod mock;
pub mod output;
pub mod protocol;
pub mod replay;
pub mod sample;
pub mod session;
pub mod session_file;
pub mod store;
pub mod transport;

pub use cli::run;
