//! Mock: being the recorded server, for any client.
//!
//! | file | holds |
//! |---|---|
//! | [`score`] | pure: what the server said, and after which message of the client |
//! | [`matcher`] | pure: which recorded request a live one is |
//! | [`rewrite`] | pure: what the live client made, in the place of what the recorded one had made |
//! | [`stage`] | pure: what has been said by whom, and what goes out next |
//! | [`fault`] | pure: faults that a person asks for |
//! | [`server`] | hears the client, and answers |
//! | [`forward`] | asks a live server instead, and keeps apart whose message is whose |
//! | [`transport`] | how the client is reached: a trait, and stdio |
//! | [`report`] | what a mock met |

pub mod fault;
pub mod forward;
pub mod matcher;
pub mod report;
pub mod rewrite;
pub mod score;
pub mod server;
pub mod stage;
pub mod transport;
