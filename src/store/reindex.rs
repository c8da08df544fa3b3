//! Derives the messages of a session again, from its frames.

use super::error::StoreError;
use super::queries as sql;
use super::reader::{Reader, Stored, range};
use super::writer::insert_message;
use crate::session::derive::{CLASSIFIER_VERSION, PieceDeriver, apply};
use crate::session::message::{Message, Place};
use rusqlite::params;
use std::collections::HashMap;

/// Replaces the messages of a session by what the present classifier makes of its frames.
///
/// # Errors
/// Nothing is changed then.
pub fn session(reader: &Reader, stored: &Stored) -> Result<(), StoreError> {
    let mut deriver = PieceDeriver::default();
    let mut messages: Vec<Message> = Vec::new();
    let mut at: HashMap<Place, usize> = HashMap::new();
    reader
        .pieces(stored.number, 0..u64::MAX, u64::MAX, &mut |info, part, bytes| {
            deriver.piece(info, part, bytes, |derived| apply(derived, &mut messages, &mut at));
            Ok(())
        })
        .map_err(|e| StoreError::Row(e.to_string()))?;
    let exchanges = super::http::read(reader.connection(), range(stored.number, 0..u64::MAX))?;
    deriver.exchanges(&exchanges, |derived| apply(derived, &mut messages, &mut at));
    let connection = reader.connection();
    connection.execute_batch("BEGIN IMMEDIATE")?;
    let replace = || -> Result<(), StoreError> {
        let (from, to) = range(stored.number, 0..u64::MAX);
        connection.execute(sql::DELETE_MESSAGES, [from, to])?;
        let mut words = HashMap::new();
        for message in &messages {
            insert_message(connection, &mut words, stored.number, message)?;
        }
        connection.execute(sql::SET_CLASSIFIER, params![stored.number, CLASSIFIER_VERSION])?;
        Ok(())
    };
    let done = replace();
    connection.execute_batch(if done.is_ok() { "COMMIT" } else { "ROLLBACK" })?;
    done
}
