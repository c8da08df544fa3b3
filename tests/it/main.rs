//! One test binary, by user journey.
#![allow(clippy::disallowed_methods, reason = "tests start processes, sleep and look into the store themselves")]

mod json_properties;
mod record;
mod support;
