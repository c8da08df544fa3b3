//! Heads of HTTP messages on their way through. Pure.
//!
//! What is meant for one connection only is left out (RFC 9110, 7.6.1); all else passes in its order.

use hyper::header::{CONNECTION, HOST, HeaderMap, HeaderValue, TE};

/// Headers that are meant for one connection. `Transfer-Encoding` stays: both sides of us frame by it.
const HOP_BY_HOP: [&str; 5] = ["connection", "keep-alive", "proxy-connection", "upgrade", "http2-settings"];

/// Returns the headers that travel on, in the order they came in.
#[must_use]
pub fn passed_on(headers: &HeaderMap) -> HeaderMap {
    let named: Vec<String> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(|name| name.trim().to_ascii_lowercase())
        // Naming these would take away what the message cannot do without.
        .filter(|name| !matches!(name.as_str(), "host" | "content-length" | "transfer-encoding" | "te"))
        .collect();
    let mut kept = HeaderMap::with_capacity(headers.len());
    for (name, value) in headers {
        let hop = HOP_BY_HOP.contains(&name.as_str()) || named.iter().any(|other| other == name.as_str());
        let odd_te = name == TE && !value.as_bytes().eq_ignore_ascii_case(b"trailers");
        if !hop && !odd_te {
            kept.append(name.clone(), value.clone());
        }
    }
    kept
}

/// Puts the upstream's authority in the place of `Host`.
pub fn set_host(headers: &mut HeaderMap, authority: &HeaderValue) {
    // Inserting keeps the place that the name has.
    headers.insert(HOST, authority.clone());
}

/// Returns the names, which hyper has in lower case, and the values.
#[must_use]
pub fn listed(headers: &HeaderMap) -> Vec<(String, String)> {
    let text = |value: &HeaderValue| String::from_utf8_lossy(value.as_bytes()).into_owned();
    headers.iter().map(|(name, value)| (name.as_str().to_owned(), text(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use hyper::header::HeaderName;

    #[test]
    fn only_what_is_meant_for_one_connection_is_left_out() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("host", "127.0.0.1:4000"),
            ("connection", "keep-alive, X-Hop, Host"),
            ("x-hop", "1"),
            ("accept", "a"),
            ("te", "trailers"),
            ("transfer-encoding", "chunked"),
            ("x-b", "1"),
            ("x-b", "2"),
            ("keep-alive", "5"),
        ] {
            headers.append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        let mut kept = passed_on(&headers);
        set_host(&mut kept, &HeaderValue::from_static("up:1"));
        let shown: Vec<String> = kept.iter().map(|(n, v)| format!("{n}={}", v.to_str().unwrap())).collect();
        assert_eq!(shown, ["host=up:1", "accept=a", "te=trailers", "transfer-encoding=chunked", "x-b=1", "x-b=2"]);
    }
}
