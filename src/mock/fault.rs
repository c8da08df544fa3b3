//! Faults that a person asks for: which answers they meet, and what becomes of those. Pure.

use super::score::what;
use std::time::Duration;

/// What becomes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It comes later.
    Delay(Duration),
    /// A JSON-RPC error with this code comes instead.
    Error(i64),
    /// It does not come.
    Drop,
    /// A line that is no JSON comes instead.
    Garbage,
    /// Its first half comes, and then the stream ends.
    Cut,
    /// The server exits with this status instead.
    Crash(u8),
}

/// A fault, and what it meets.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// What becomes of the answer.
    pub kind: Kind,
    /// The method or the name of requests that it meets; absent for all.
    pub target: Option<String>,
    /// How probable it is.
    pub probability: f64,
}

/// Reads `KIND[=VALUE][:TARGET][@PROBABILITY]`.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub fn parse(text: &str) -> Result<Fault, String> {
    let (rest, probability) = match text.rsplit_once('@') {
        Some((rest, chance)) => match chance.parse::<f64>() {
            Ok(chance) if (0.0..=1.0).contains(&chance) => (rest, chance),
            // A resource may have the sign in its address.
            _ if rest.contains(':') && chance.parse::<f64>().is_err() => (text, 1.0),
            _ => return Err(format!("`{chance}` is no probability from 0 to 1")),
        },
        None => (text, 1.0),
    };
    let (kind, target) = match rest.split_once(':') {
        Some((_, "")) => return Err("behind the colon stands a method or a name".into()),
        Some((kind, target)) => (kind, Some(target.to_owned())),
        None => (rest, None),
    };
    let (word, value) = kind.split_once('=').map_or((kind, None), |(word, value)| (word, Some(value)));
    let number = |what: &str| format!("{word} takes {what}, such as {word}={}", example(word));
    let kind = match (word, value) {
        ("delay", Some(value)) => Kind::Delay(time(value).ok_or_else(|| number("a time"))?),
        ("delay", None) => return Err(number("a time")),
        ("error", value) => Kind::Error(value.map_or(Ok(-32603), str::parse).map_err(|_| number("a code"))?),
        ("crash", value) => Kind::Crash(value.map_or(Ok(1), str::parse).map_err(|_| number("a status"))?),
        ("drop", None) => Kind::Drop,
        ("garbage", None) => Kind::Garbage,
        ("cut", None) => Kind::Cut,
        ("drop" | "garbage" | "cut", Some(_)) => return Err(format!("{word} takes no value")),
        _ => return Err(format!("`{word}` is none of delay, error, drop, garbage, cut and crash")),
    };
    Ok(Fault { kind, target, probability })
}

fn example(word: &str) -> &'static str {
    match word {
        "delay" => "2s",
        "error" => "-32603",
        _ => "1",
    }
}

/// Reads a time, as `500ms`, `2s` or `1m`.
#[must_use]
pub fn time(text: &str) -> Option<Duration> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len()));
    let unit = match unit {
        "ms" => 0.001,
        "s" | "" => 1.0,
        "m" => 60.0,
        _ => return None,
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * unit).filter(|seconds| *seconds > 0.0)?;
    Duration::try_from_secs_f64(seconds).ok()
}

impl Fault {
    /// Returns true if it meets requests of this method and name.
    #[must_use]
    pub fn meets(&self, method: &str, name: Option<&str>) -> bool {
        self.target.as_deref().is_none_or(|target| target == method || Some(target) == name)
    }

    /// Returns what happened, as a person is told.
    #[must_use]
    pub fn told(&self, method: &str, name: Option<&str>) -> String {
        let how = match self.kind {
            Kind::Delay(time) => format!("delayed by {} ms", time.as_millis()),
            Kind::Error(code) => format!("error {code} instead of the answer"),
            Kind::Drop => "answer dropped".into(),
            Kind::Garbage => "garbage instead of the answer".into(),
            Kind::Cut => "stream cut inside the answer".into(),
            Kind::Crash(code) => format!("crash with {code} instead of the answer"),
        };
        format!("{}: {how}", what(method, name))
    }
}

/// Throws the dice: the same seed and the same requests in the same order meet the same faults.
#[derive(Debug)]
pub struct Dice {
    faults: Vec<Fault>,
    random: fastrand::Rng,
}

impl Dice {
    /// Returns dice for these faults.
    #[must_use]
    pub fn new(faults: Vec<Fault>, seed: u64) -> Self {
        Self { faults, random: fastrand::Rng::with_seed(seed) }
    }

    /// Returns the fault that meets a request: of several the first.
    pub fn throw(&mut self, method: &str, name: Option<&str>) -> Option<Fault> {
        let mut met = None;
        for fault in &self.faults {
            // Every fault that could meet it takes its number, so that one more fault does not move the others.
            if fault.meets(method, name) && self.random.f64() < fault.probability && met.is_none() {
                met = Some(fault.clone());
            }
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_read() {
        let fault = |kind, target: Option<&str>, probability| {
            Ok(Fault { kind, target: target.map(str::to_owned), probability })
        };
        let two = Kind::Delay(Duration::from_secs(2));
        assert_eq!(parse("delay=2s:get_forecast"), fault(two, Some("get_forecast"), 1.0));
        assert_eq!(parse("error:tools/call@0.2"), fault(Kind::Error(-32603), Some("tools/call"), 0.2));
        assert_eq!(parse("error=-32001@0.5"), fault(Kind::Error(-32001), None, 0.5));
        assert_eq!(parse("drop"), fault(Kind::Drop, None, 1.0));
        assert_eq!(parse("crash=3:a:b@c"), fault(Kind::Crash(3), Some("a:b@c"), 1.0));
        for (text, why) in [
            ("delay", "delay takes a time, such as delay=2s"),
            ("delay=x", "delay takes a time, such as delay=2s"),
            ("error=x", "error takes a code, such as error=-32603"),
            ("crash=300", "crash takes a status, such as crash=1"),
            ("cut=1", "cut takes no value"),
            ("drop@2", "`2` is no probability from 0 to 1"),
            ("drop:", "behind the colon stands a method or a name"),
            ("burn", "`burn` is none of delay, error, drop, garbage, cut and crash"),
        ] {
            assert_eq!(parse(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn the_same_seed_throws_the_same() {
        let throws = |seed| {
            let mut dice = Dice::new(vec![parse("drop:tools/call@0.5").unwrap()], seed);
            (0..64).map(|_| dice.throw("tools/call", Some("f")).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(throws(7), throws(7));
        assert_ne!(throws(7), throws(8));
        assert!(throws(7).iter().any(|met| *met) && throws(7).iter().any(|met| !*met));
        let mut always = Dice::new(vec![parse("error:f").unwrap(), parse("drop").unwrap()], 1);
        assert_eq!(always.throw("tools/call", Some("f")).map(|fault| fault.kind), Some(Kind::Error(-32603)));
        assert_eq!(always.throw("tools/list", None).map(|fault| fault.kind), Some(Kind::Drop));
    }
}
