//! The layouts of the store: an append-only list, counted by `user_version`.

/// "MCPT" as SQLite's `application_id`.
pub const APPLICATION_ID: i64 = 0x4D43_5054;

/// Each layout as the change from the one before.
pub const MIGRATIONS: [&str; 1] = [include_str!("migrations/0001_init.sql")];

/// Returns the newest layout.
#[must_use]
pub fn newest() -> i64 {
    MIGRATIONS.len() as i64
}
