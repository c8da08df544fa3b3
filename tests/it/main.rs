//! One test binary, by user journey.

mod json_properties;
