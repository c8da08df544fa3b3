//! HTTP exchanges in the store.

use super::error::StoreError;
use super::migrations;
use super::queries as sql;
use super::rows::{key, number};
use super::writer::to_json;
use crate::session::http::{Headers, HttpEnding, HttpExchange, WireBody};
use rusqlite::{Connection, Row, params};
use serde::{Deserialize, Serialize};

/// What is seldom there.
#[derive(Default, PartialEq, Serialize, Deserialize)]
struct More {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    request_body: Option<WireBody>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    response_body: Option<WireBody>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trailers: Headers,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    rewritten: Vec<String>,
}

/// Writes an exchange as far as it has come.
pub(super) fn put(connection: &Connection, session: i64, exchange: &HttpExchange) -> Result<(), StoreError> {
    let more = More {
        request_body: exchange.request_body.clone(),
        response_body: exchange.response_body.clone(),
        trailers: exchange.trailers.clone(),
        rewritten: exchange.rewritten.clone(),
    };
    let more = if more == More::default() { None } else { Some(to_json(&more)?) };
    connection.prepare_cached(sql::PUT_HTTP)?.execute(params![
        key(session, exchange.n),
        i64::try_from(exchange.connection).unwrap_or(i64::MAX),
        exchange.verb,
        exchange.path,
        to_json(&exchange.request)?,
        exchange.status,
        exchange.status.map(|_| to_json(&exchange.response)).transpose()?,
        exchange.mcp_session_id,
        exchange.started_ns,
        exchange.answered_ns,
        exchange.ended_ns,
        exchange.ending.map(HttpEnding::as_str),
        more,
    ])?;
    Ok(())
}

/// Returns the exchanges whose keys are in the range.
pub(super) fn read(connection: &Connection, range: (i64, i64)) -> Result<Vec<HttpExchange>, StoreError> {
    // An older layout has none: nothing was recorded over HTTP then.
    let layout: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if layout < migrations::HTTP {
        return Ok(Vec::new());
    }
    let mut statement = connection.prepare_cached(sql::HTTP)?;
    let mut rows = statement.query([range.0, range.1])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(exchange(row)?);
    }
    Ok(found)
}

fn exchange(row: &Row<'_>) -> Result<HttpExchange, StoreError> {
    let json = |e: serde_json::Error| StoreError::Row(e.to_string());
    let headers = |text: Option<String>| -> Result<Headers, StoreError> {
        text.map_or(Ok(Headers::new()), |text| serde_json::from_str(&text).map_err(json))
    };
    let more: Option<String> = row.get(12)?;
    let more: More = more.map_or(Ok(More::default()), |text| serde_json::from_str(&text).map_err(json))?;
    Ok(HttpExchange {
        n: number(row.get(0)?),
        connection: row.get::<_, Option<i64>>(1)?.unwrap_or(0).unsigned_abs(),
        verb: row.get(2)?,
        path: row.get(3)?,
        request: headers(Some(row.get(4)?))?,
        status: row.get(5)?,
        response: headers(row.get(6)?)?,
        mcp_session_id: row.get(7)?,
        started_ns: row.get(8)?,
        answered_ns: row.get(9)?,
        ended_ns: row.get(10)?,
        ending: row.get::<_, Option<String>>(11)?.as_deref().and_then(HttpEnding::from_name),
        request_body: more.request_body,
        response_body: more.response_body,
        trailers: more.trailers,
        rewritten: more.rewritten,
    })
}
