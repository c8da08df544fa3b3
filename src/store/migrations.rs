//! The layouts of the store: an append-only list, counted by `user_version`.

/// "MCPT" as SQLite's `application_id`.
pub const APPLICATION_ID: i64 = 0x4D43_5054;

/// Each layout as the change from the one before.
pub const MIGRATIONS: [&str; 2] = [include_str!("migrations/0001_init.sql"), include_str!("migrations/0002_masks.sql")];

/// Shows an older layout as if it were the newest, to a reader that may not write.
pub const AS_NEWEST: &str = "CREATE TEMP VIEW sessions AS SELECT *, '[]' AS masks FROM main.sessions";

/// Returns the newest layout.
#[must_use]
pub fn newest() -> i64 {
    MIGRATIONS.len() as i64
}
