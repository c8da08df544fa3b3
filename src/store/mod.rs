//! The store: the only room that speaks SQL.
//!
//! Several recorders and readers share one SQLite file. Frames are evidence and are only appended; messages are
//! derived and can be rebuilt. All statements stand in [`queries`], where a test asks SQLite how it would run each.

pub mod delete;
pub mod error;
mod http;
pub mod liveness;
pub mod location;
pub mod migrations;
pub mod open;
pub mod queries;
pub mod reader;
pub mod reindex;
pub mod retention;
pub mod rows;
pub mod salt;
pub mod watch;
pub mod writer;

pub use error::StoreError;
pub use location::Location;
pub use reader::Reader;
pub use writer::Writer;
