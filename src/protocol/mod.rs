//! MCP and JSON-RPC on bytes: no IO, no clock, and parsing that never fails.
//!
//! Two ways to read JSON, and no third: the [`envelope`] scan, one pass that tells what a message is
//! (all that recording needs), and the lossless tree in [`json`] for those who look inside.

pub mod body;
pub mod envelope;
pub mod interest;
pub mod json;
pub mod jsonrpc;
pub mod line;
pub mod method;
pub mod number;
mod pieces;
pub mod revision;
pub mod sse;
pub mod utf8;
