//! The layouts of the store: an append-only list, counted by `user_version`.

/// "MCPT" as SQLite's `application_id`.
pub const APPLICATION_ID: i64 = 0x4D43_5054;

/// Each layout as the change from the one before.
pub const MIGRATIONS: [&str; 2] = [include_str!("migrations/0001_init.sql"), include_str!("migrations/0002_http.sql")];

/// The first layout whose `http_requests` are written.
pub const HTTP: i64 = 2;

/// Returns the newest layout.
#[must_use]
pub fn newest() -> i64 {
    MIGRATIONS.len() as i64
}
