//! Reports from sessions. Pure: no IO, no clock; what it reads comes through `SessionSource`, what it says is plain
//! data.
//!
//! | file | holds |
//! |---|---|
//! | [`exchanges`] | the exchanges of a session with their payloads |
//! | [`align`] | which exchange of one session belongs to which of the other |
//! | [`value_diff`] | two JSON values, compared by pointer; [`array_align`] pairs the items of arrays |
//! | [`value_hash`] | what each value of a tree is, in a number |
//! | [`text_diff`] | two texts, compared by words |
//! | [`normalize`] | masks: volatile values that are compared by their shape |
//! | [`volatile`], [`dates`] | what such values look like |
//! | [`rules`] | masks by rule: what people, or repeated runs, said is volatile |
//! | [`learn`] | which masks make repeated runs the same |
//! | [`blob`] | base64 and SHA-256, for what is no text |
//! | [`secrets`] | what must not be committed by mistake |
//! | [`surface`] | what a server offers, compared |
//! | [`identity`] | who spoke, compared |
//! | [`diff`] | the comparison of two sessions; [`report`] is what it finds |
//! | [`latency`] | how long calls took; [`statistics`] has the definitions |

pub mod align;
pub mod array_align;
pub mod blob;
pub mod dates;
pub mod diff;
pub mod exchanges;
pub mod identity;
pub mod latency;
pub mod learn;
pub mod normalize;
pub mod report;
pub mod rules;
pub mod secrets;
pub mod statistics;
pub mod surface;
pub mod text_diff;
pub mod value_diff;
pub mod value_hash;
pub mod volatile;
