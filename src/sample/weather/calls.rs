//! The quick calls of the weather server, and the radar, which is not.

use std::time::Duration;

use serde_json::{Value, json};

use super::{picture, places, structured, text, tool_error};
use crate::sample::{
    Build, clock, mutate,
    server::{Request, Server},
    values::base64,
};

/// Looks places up by a part of their name.
pub(super) fn search_locations(server: &Server, request: &Request) -> Value {
    server.pause(request, 43.0);
    let Some(query) = request.argument("query").as_str() else {
        return tool_error("query is required");
    };
    let mut found = places::matching(query);
    if server.args.mutate == Some(mutate::Mutation::ReorderArray) {
        found.reverse();
    }
    structured(request.revision, json!({"places": found}))
}

/// Forecasts up to seven days.
pub(super) fn get_forecast(server: &Server, request: &Request) -> Value {
    let city = request.argument("city").as_str().unwrap_or("");
    let Some(place) = places::known(city) else {
        server.pause(request, 12.0);
        return tool_error(format!("unknown place: {city}"));
    };
    let days = match request.argument("days") {
        Value::Null => Some(7),
        // Clients send numbers as text more often than they should.
        Value::String(text) => text.parse().ok(),
        number => number.as_u64(),
    };
    let Some(days @ 1..=7) = days else {
        return tool_error("days must be 1 to 7");
    };
    if server.args.build == Build::Changed && days != 1 && days != 7 {
        return tool_error("days must be 1 or 7");
    }
    let slower = mutate::delay_factor(server.args.mutate);
    if place == "Bergen" {
        server.pause(request, 958.0 * slower);
        if server.args.noise && server.args.build == Build::Recorded {
            server.output.write(b"cache miss: Bergen\n");
        }
        server.pause(request, 282.0 * slower);
    } else {
        server.pause(request, 288.0 * slower);
    }
    let days: Vec<Value> = (0..days).map(|index| places::day(server.args.build, place, index)).collect();
    let mut forecast = json!({"city": place, "days": days, "issued": server.values.now()});
    mutate::forecast(server.args.mutate, &mut forecast);
    structured(request.revision, forecast)
}

/// Reports the alerts of a region; there never are any.
pub(super) fn get_alerts(server: &Server, request: &Request) -> Value {
    server.pause(request, 61.0);
    let region = request.argument("region").as_str().unwrap_or("");
    match regions(server.args.build).contains(&region) {
        true => text("none"),
        false => tool_error(format!("unknown region: {region}")),
    }
}

/// Returns the regions that the build knows.
pub(super) fn regions(build: Build) -> &'static [&'static str] {
    match build {
        Build::Recorded => &places::REGIONS,
        Build::Changed => &places::REGIONS[..3],
    }
}

/// Paints a radar picture; the recorded build takes over a minute and does not hear a cancellation.
pub(super) fn get_radar(server: &Server, request: &Request) -> Value {
    if request.argument("area").is_null() && request.argument("station").is_null() {
        return tool_error("area or station is required");
    }
    let most = most_frames(server.args.build);
    let frames = request.argument("frames").as_u64().unwrap_or(12);
    if !(1..=most).contains(&frames) {
        return tool_error(format!("frames must be 1 to {most}"));
    }
    if server.args.build == Build::Changed {
        server.pause(request, 212.0);
    } else if server.pause(request, 62_433.0) {
        // However early the cancellation came, the answer comes after it.
        server.pause_firmly(2_432.0);
        clock::sleep(Duration::from_millis(5));
    }
    let data = base64(&picture::png(frames as usize, server.args.frame_bytes));
    json!({"content": [{"type": "image", "data": data, "mimeType": "image/png"}]})
}

/// Returns how many frames the build paints at most.
pub(super) fn most_frames(build: Build) -> u64 {
    match build {
        Build::Recorded => 24,
        Build::Changed => 48,
    }
}
