//! The lossless tree: one of the two ways in which mcp-tap reads JSON.
//!
//! [`Tree::parse`] reads a text in one pass into a flat arena of nodes that point into the borrowed
//! bytes. Nothing is converted: numbers keep their spelling, objects their key order and duplicate
//! keys, strings their escapes, lone surrogates and invalid UTF-8.
//!
//! - The grammar is RFC 8259, strictly, with three additions: a leading UTF-8 byte order mark is
//!   skipped, strings may hold invalid UTF-8 (the bytes are evidence), and any depth is accepted.
//! - Nothing here recurses: parsing, walking, comparing and dropping are linear in size and safe at
//!   any depth.
//! - A node costs 24 bytes, the text itself is never copied.
//!
//! | file | holds |
//! |---|---|
//! | `tree` | [`Tree`], the arena, and [`NodeId`] |
//! | `parse` | the one pass that fills it |
//! | `scan` | where a string or number ends, and [`SyntaxError`] |
//! | `node` | [`Node`], what can be asked of one value |
//! | `pointer` | JSON pointers (RFC 6901) |
//! | `walk` | [`Children`] and [`Descendants`] |
//! | `text` | strings: [`unescape`] and [`unescape_bytes`] |

mod node;
mod parse;
mod pointer;
mod scan;
mod text;
mod tree;
mod walk;

pub(crate) use scan::scan_number;
pub use {
    node::{Kind, Node},
    scan::SyntaxError,
    text::{unescape, unescape_bytes},
    tree::{NodeId, Tree},
    walk::{Children, Descendants, leaves},
};
