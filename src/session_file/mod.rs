//! The session file: JSON Lines, made to be read in a pull request, and exact.
//!
//! The first line tells of the session; then comes one frame a line, and, for a session over HTTP, one line for each
//! exchange before the first of its frames. A frame that is plain JSON stands as it is under
//! `message`; else its text stands under `text`, or, when it is not UTF-8, under `base64`. All three give back the
//! same bytes. [`encode`] writes, [`decode`] reads, and [`FileSource`] is a file as a recording.

pub mod decode;
pub mod encode;
pub mod source;
pub mod sse;

pub use source::FileSource;

/// The number of the format.
pub const FORMAT: u32 = 1;
