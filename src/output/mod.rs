//! The only room that prints. Reports are made elsewhere; here they become text, tables and JSON.

pub mod github;
pub mod humanize;
pub mod json;
pub mod json_diff;
pub mod json_mock;
pub mod json_test;
pub mod junit;
pub mod progress;
pub mod render;
pub mod sanitize;
pub mod styles;
pub mod table;
pub mod ui;
