//! Replay: being the client again, against another server or another build of it.
//!
//! | file | holds |
//! |---|---|
//! | [`script`] | a recording, read for being played |
//! | [`plan`] | pure: the steps, and what each waits for |
//! | [`bind`] | pure: values that the server made and the client sent back |
//! | [`edit`] | pure: replacing spans of a JSON text and nothing else |
//! | [`answer`] | pure: which recorded answer belongs to a question of the server |
//! | [`choice`] | pure: which steps are sent at all |
//! | [`driver`] | plays the steps; [`live`] is what it knows of the server |
//! | [`transport`] | how the driver reaches a server: a trait, and stdio |
//! | [`report`] | what a replay met besides the differences; [`tested`] is what a test found |

pub mod answer;
pub mod bind;
pub mod choice;
pub mod driver;
pub mod edit;
pub mod live;
pub mod plan;
pub mod report;
pub mod script;
pub mod tested;
pub mod transport;
