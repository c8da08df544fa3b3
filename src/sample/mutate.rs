//! The new build: each mutation is one change that `diff`, `replay` and `test` must find, or must not.

use serde_json::{Value, json};

/// Names one change.
///
/// Changes of the list touch one weather tool only; changes of values touch `get_forecast`,
/// `search_locations` and the extra tools that return such values. Calls are accepted as before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Mutation {
    /// Lists one more tool, `get_tides`.
    AddTool,
    /// Does not know `search_locations` any more.
    DropTool,
    /// Calls the argument of `get_alerts` `area`.
    RenameArg,
    /// Requires `unit` in `get_forecast`.
    RequireArg,
    /// Offers `language` in `get_forecast`.
    AddOptional,
    /// Words the description of `get_alerts` differently.
    DescChange,
    /// Lists the tools backwards.
    ReorderTools,
    /// Writes the keys of every tool backwards.
    ReorderKeys,
    /// Returns places and tags backwards.
    ReorderArray,
    /// Forecasts another temperature, and echoes with `!`.
    ChangeValue,
    /// Returns temperatures and sums as text.
    TypeChange,
    /// Returns whole numbers as `1.0`.
    IntToFloat,
    /// Returns numbers that are wrong in the last digits.
    FloatNoise,
    /// Takes three times as long.
    Slower,
}

/// Returns by how much delays are multiplied.
pub(super) fn delay_factor(mutation: Option<Mutation>) -> f64 {
    if mutation == Some(Mutation::Slower) { 3.0 } else { 1.0 }
}

/// Changes the list of tools.
pub(super) fn tools(mutation: Option<Mutation>, tools: &mut Vec<Value>) {
    let Some(mutation) = mutation else { return };
    match mutation {
        Mutation::AddTool => tools.push(json!({
            "name": "get_tides", "description": "Tides of a harbour",
            "inputSchema": {"type": "object"}, "annotations": {"readOnlyHint": true},
        })),
        Mutation::DropTool => tools.retain(|tool| tool["name"] != "search_locations"),
        Mutation::ReorderTools => tools.reverse(),
        Mutation::ReorderKeys => tools.iter_mut().for_each(reverse_keys),
        _ => {}
    }
    for tool in tools {
        match (mutation, tool["name"].as_str()) {
            (Mutation::RenameArg, Some("get_alerts")) => {
                let region = tool["inputSchema"]["properties"]["region"].take();
                tool["inputSchema"]["properties"] = json!({"area": region});
                tool["inputSchema"]["required"] = json!(["area"]);
            }
            (Mutation::RequireArg, Some("get_forecast")) => {
                tool["inputSchema"]["properties"]["unit"] = json!({"type": "string"});
                tool["inputSchema"]["required"] = json!(["city", "unit"]);
            }
            (Mutation::AddOptional, Some("get_forecast")) => {
                tool["inputSchema"]["properties"]["language"] = json!({"type": "string"});
            }
            (Mutation::DescChange, Some("get_alerts")) => {
                tool["description"] = json!("Warnings for a region, or `none`");
            }
            _ => {}
        }
    }
}

fn reverse_keys(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            let entries: Vec<(String, Value)> = std::mem::take(fields).into_iter().collect();
            for (name, mut field) in entries.into_iter().rev() {
                reverse_keys(&mut field);
                fields.insert(name, field);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(reverse_keys),
        _ => {}
    }
}

/// Changes a forecast.
pub(super) fn forecast(mutation: Option<Mutation>, forecast: &mut Value) {
    let Some(days) = forecast["days"].as_array_mut() else {
        return;
    };
    for day in days {
        let field = if mutation == Some(Mutation::IntToFloat) { "humidity" } else { "high" };
        day[field] = number(mutation, day[field].take());
    }
}

/// Changes a number.
pub(super) fn number(mutation: Option<Mutation>, number: Value) -> Value {
    let float = number.as_f64().unwrap_or(0.0);
    match mutation {
        Some(Mutation::ChangeValue) => json!(float + 1.0),
        Some(Mutation::TypeChange) => json!(number.to_string()),
        Some(Mutation::IntToFloat) => json!(float),
        Some(Mutation::FloatNoise) => json!(float + 1e-13),
        _ => number,
    }
}

/// Changes an echo.
pub(super) fn echo(mutation: Option<Mutation>, text: &str) -> String {
    let sign = if mutation == Some(Mutation::ChangeValue) { "!" } else { "" };
    format!("{text}{sign}")
}

/// Changes the order of an array.
pub(super) fn reorder(mutation: Option<Mutation>, array: &mut Value) {
    if let (Some(Mutation::ReorderArray), Some(items)) = (mutation, array.as_array_mut()) {
        items.reverse();
    }
}

#[cfg(test)]
mod tests {
    use super::{Mutation, number, reverse_keys};
    use serde_json::json;

    #[test]
    fn numbers_change_in_one_way_each() {
        let changed = |mutation| number(Some(mutation), json!(3)).to_string();
        assert_eq!(changed(Mutation::IntToFloat), "3.0");
        assert_eq!(changed(Mutation::TypeChange), r#""3""#);
        assert_eq!(changed(Mutation::ChangeValue), "4.0");
        assert_eq!(changed(Mutation::FloatNoise), "3.0000000000001");
        assert_eq!(changed(Mutation::Slower), "3");
    }

    #[test]
    fn keys_are_reversed_at_every_depth() {
        let mut value = json!({"a": {"b": 1, "c": 2}, "d": []});
        reverse_keys(&mut value);
        assert_eq!(value.to_string(), r#"{"d":[],"a":{"c":2,"b":1}}"#);
    }
}
