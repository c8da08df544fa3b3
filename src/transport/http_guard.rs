//! Who may talk to the listener. Pure.
//!
//! A web page can make a browser send requests to this machine, under a name that leads here (DNS rebinding): a `Host`
//! or an `Origin` that is not this machine's is refused before anything is passed on.

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// Its `Host` is not the listener's.
    Host,
    /// Its `Origin` is not this machine's.
    Origin,
}

/// Returns why a request is refused, or `None`; `own` are the names under which the listener is reached besides the
/// loopback ones, `*` for any.
#[must_use]
pub fn refusal(host: Option<&str>, origin: Option<&str>, own: &[String]) -> Option<Refusal> {
    let is_own = |name: &str| is_loopback(name) || own.iter().any(|own| own == "*" || own.eq_ignore_ascii_case(name));
    if !host.is_some_and(|host| is_own(name_of(host))) {
        return Some(Refusal::Host);
    }
    match origin {
        None => None,
        Some(origin) => {
            let authority = origin.split_once("://").map(|(_, authority)| authority.split('/').next().unwrap_or(""));
            if authority.is_some_and(|authority| is_own(name_of(authority))) { None } else { Some(Refusal::Origin) }
        }
    }
}

/// Returns the name in `name:port`.
fn name_of(authority: &str) -> &str {
    if authority.starts_with('[') {
        return authority.split_inclusive(']').next().unwrap_or(authority);
    }
    authority.split(':').next().unwrap_or(authority)
}

fn is_loopback(name: &str) -> bool {
    let name = name.trim_matches(['[', ']']);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_names_and_origins_are_refused() {
        let own = ["tap.lan".to_owned()];
        let cases = [
            (Some("127.0.0.1:4000"), None, None),
            (Some("localhost"), Some("http://localhost:3000"), None),
            (Some("[::1]:4000"), Some("http://[::1]"), None),
            (Some("TAP.lan:4000"), None, None),
            (Some("evil.example:4000"), None, Some(Refusal::Host)),
            (Some("localhost.evil.example"), None, Some(Refusal::Host)),
            (None, None, Some(Refusal::Host)),
            (Some("127.0.0.1:4000"), Some("http://evil.example"), Some(Refusal::Origin)),
            (Some("127.0.0.1:4000"), Some("null"), Some(Refusal::Origin)),
        ];
        for (host, origin, expected) in cases {
            assert_eq!(refusal(host, origin, &own), expected, "{host:?} {origin:?}");
        }
    }
}
