//! The imaginary world: places, and the weather they have.

use serde_json::{Value, json};

use crate::sample::{Build, values::scramble};

/// The places there are.
pub(super) const PLACES: [&str; 22] = [
    "Bergen",
    "Berlin",
    "Bergamo",
    "Bern",
    "Berkeley",
    "Beringen",
    "Bergerac",
    "Berat",
    "Oslo",
    "Trondheim",
    "Tromsø",
    "Stavanger",
    "Geilo",
    "Hønefoss",
    "Hamburg",
    "Helsinki",
    "Łódź",
    "Lisboa",
    "London",
    "Madrid",
    "Paris",
    "Zürich",
];

/// The regions that have alerts; the last is gone from the changed build.
pub(super) const REGIONS: [&str; 4] = ["NO-03", "NO-11", "NO-50", "NO-46"];

const SKIES: [&str; 7] = [
    "clear and cold",
    "cloudy, a few sunny spells",
    "rain before noon, then showers from the west",
    "fog in the morning",
    "snow above 400 m",
    "strong wind from the south-west",
    "overcast, mostly dry",
];

/// Returns the places whose name contains `query`.
pub(super) fn matching(query: &str) -> Vec<&'static str> {
    let query = query.to_lowercase();
    PLACES.into_iter().filter(|place| place.to_lowercase().contains(&query)).collect()
}

/// Returns the spelling of a known place.
pub(super) fn known(name: &str) -> Option<&'static str> {
    PLACES.into_iter().find(|place| place.eq_ignore_ascii_case(name))
}

/// Returns the forecast for one day: the same in every run, so that only builds can differ.
pub(super) fn day(build: Build, place: &str, index: u64) -> Value {
    let seed = place.bytes().fold(index, |state, byte| scramble(state ^ u64::from(byte)));
    #[expect(clippy::cast_precision_loss, reason = "two digits")]
    let tenth = |shift: u32, span: u64| (seed >> shift & 0xffff) as f64 % span as f64 / 10.0;
    let low = tenth(0, 70) - 3.0;
    let (mut high, mut text) = (low + 2.0 + tenth(16, 50), SKIES[(seed >> 32) as usize % 7]);
    if place == "Oslo" && index == 0 {
        (high, text) = match build {
            Build::Recorded => (7.5, "light rain in the evening"),
            Build::Changed => (8.1, "light sleet in the evening"),
        };
    }
    let round = |value: f64| (value * 10.0).round() / 10.0;
    let from = ["SW", "W", "NW", "S"][(seed >> 40) as usize % 4];
    json!({
        "date": format!("2026-12-{:02}", index + 1),
        "high": round(high),
        "low": round(low),
        "text": text,
        "wind": {"from": from, "speed": round(tenth(44, 180))},
        "precipitation": round(tenth(24, 120)),
        "humidity": 55 + (seed >> 48) % 40,
    })
}

#[cfg(test)]
mod tests {
    use super::{day, known, matching};
    use crate::sample::Build;

    #[test]
    fn the_story_holds() {
        assert_eq!(matching("Ber")[..3], ["Bergen", "Berlin", "Bergamo"]);
        assert_eq!(known("Atlantis"), None);
        assert_eq!(day(Build::Recorded, "Oslo", 0)["high"], 7.5);
        assert_eq!(day(Build::Changed, "Oslo", 0)["text"], "light sleet in the evening");
        assert_eq!(day(Build::Recorded, "Oslo", 1), day(Build::Changed, "Oslo", 1));
    }
}
