//! The exact value of a JSON number, read from its spelling and never from a float.
//!
//! JSON puts no limit on a number's size or precision (RFC 8259 §6). Two spellings mean the same
//! number when their decimal values are equal, which is decided here without rounding and without
//! writing an exponent out: the cost is that of the spelling.

use crate::protocol::json::scan_number;
use std::{
    cmp::{Ordering, Reverse},
    fmt,
};

/// Values from this magnitude on are written with an exponent, as ECMAScript's `Number::toString`
/// does.
const PLAIN_MAGNITUDES: std::ops::RangeInclusive<i64> = -7..=20;

/// A decimal number of any size, equal, ordered and hashed by value.
///
/// It is `±d.ddd… × 10^magnitude` with a first and a last digit that are not 0; zero has no digits
/// and no sign.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Decimal {
    negative: bool,
    digits: String,
    magnitude: Magnitude,
}

/// The power of ten of the first digit. The order of the variants is the order of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Magnitude {
    /// Below what an `i64` holds.
    FarBelow(Reverse<Natural>),
    /// What nearly every number has.
    Near(i64),
    /// Above what an `i64` holds.
    FarAbove(Natural),
}

/// A natural number as decimal digits without leading zeros, ordered by length and then by digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Natural {
    length: usize,
    digits: String,
}

impl Decimal {
    /// Reads a number in JSON's spelling (RFC 8259 §6), or returns `None` for any other text.
    pub fn parse(spelling: &str) -> Option<Decimal> {
        if scan_number(spelling.as_bytes(), 0).ok()? != spelling.len() {
            return None;
        }
        let unsigned = spelling.strip_prefix('-').unwrap_or(spelling);
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = format!("{whole}{fraction}");
        let significant = all_digits.trim_start_matches('0');
        if significant.is_empty() {
            return Some(Decimal { negative: false, digits: String::new(), magnitude: Magnitude::Near(0) });
        }
        let leading_zeros = signed(all_digits.len() - significant.len());
        Some(Decimal {
            negative: unsigned.len() < spelling.len(),
            digits: significant.trim_end_matches('0').to_owned(),
            magnitude: Magnitude::new(exponent, signed(whole.len()) - 1 - leading_zeros),
        })
    }

    /// Tells whether the value is 0, however spelled.
    pub fn is_zero(&self) -> bool {
        self.digits.is_empty()
    }

    /// Tells whether the value has no fraction, such as `1.50e1`.
    pub fn is_integer(&self) -> bool {
        match &self.magnitude {
            Magnitude::FarBelow(_) => false,
            Magnitude::Near(magnitude) => self.is_zero() || *magnitude >= signed(self.digits.len()) - 1,
            // No spelling has 2^63 digits, so all of them stand before the point.
            Magnitude::FarAbove(_) => true,
        }
    }

    /// Returns the one spelling that all spellings of this value share; itself a JSON number.
    ///
    /// Laid out like ECMAScript's `Number::toString`, but exact: `0`, `-1.5`, `100`, `0.001`, from
    /// 10^21 on and below 10^-7 with one digit before the point and an exponent: `1.25e400`,
    /// `-1e-8`. Costs the digits that there are.
    pub fn canonical(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        if self.is_zero() {
            return "0".to_owned();
        }
        let (first, rest) = self.digits.split_at_checked(1).unwrap_or((&self.digits, ""));
        let exponent = match &self.magnitude {
            Magnitude::Near(near) if PLAIN_MAGNITUDES.contains(near) => {
                return format!("{sign}{}", self.plain(*near));
            }
            Magnitude::Near(near) => near.to_string(),
            Magnitude::FarAbove(far) => far.digits.clone(),
            Magnitude::FarBelow(Reverse(far)) => format!("-{}", far.digits),
        };
        let point = if rest.is_empty() { "" } else { "." };
        format!("{sign}{first}{point}{rest}e{exponent}")
    }

    /// Writes the digits without exponent, for magnitudes near 0.
    fn plain(&self, magnitude: i64) -> String {
        let Ok(whole_length) = usize::try_from(magnitude + 1) else {
            let zeros = "0".repeat(usize::try_from(-1 - magnitude).unwrap_or(0));
            return format!("0.{zeros}{}", self.digits);
        };
        match self.digits.split_at_checked(whole_length) {
            Some(("", fraction)) => format!("0.{fraction}"),
            Some((whole, "")) => whole.to_owned(),
            Some((whole, fraction)) => format!("{whole}.{fraction}"),
            None => format!("{:0<whole_length$}", self.digits),
        }
    }

    fn signum(&self) -> i8 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        // Without trailing zeros, digits after the same magnitude order as text does.
        let by_size = (&self.magnitude, &self.digits).cmp(&(&other.magnitude, &other.digits));
        self.signum().cmp(&other.signum()).then(if self.negative { by_size.reverse() } else { by_size })
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.canonical())
    }
}

impl Magnitude {
    /// Adds `shift`, which counts digits of one spelling, to a spelled exponent of any length.
    fn new(exponent: &str, shift: i64) -> Magnitude {
        // `from_str` knows both signs; it fails only for exponents that do not fit.
        let fitting = exponent.parse::<i64>().ok();
        if let Some(near) = fitting.and_then(|value| value.checked_add(shift)) {
            return Magnitude::Near(near);
        }
        let negative = exponent.starts_with('-');
        let digits = exponent.trim_start_matches(['-', '+']);
        let far = Natural::sum(digits, if negative { shift.saturating_neg() } else { shift });
        let sign = if negative { "-" } else { "" };
        // Adding can bring a number from just outside back in, and each value must have one form
        // only.
        match (format!("{sign}{}", far.digits).parse(), negative) {
            (Ok(near), _) => Magnitude::Near(near),
            (Err(_), true) => Magnitude::FarBelow(Reverse(far)),
            (Err(_), false) => Magnitude::FarAbove(far),
        }
    }
}

impl Natural {
    /// Adds a small, possibly negative number to a natural one that is greater than it.
    fn sum(digits: &str, small: i64) -> Natural {
        let mut carry = small;
        let mut reversed = Vec::with_capacity(digits.len() + 1);
        for digit in digits.bytes().rev() {
            let place = i64::from(digit & 0x0F) + carry;
            reversed.push(place.rem_euclid(10));
            carry = place.div_euclid(10);
        }
        while carry > 0 {
            reversed.push(carry % 10);
            carry /= 10;
        }
        let forward = reversed.iter().rev().skip_while(|digit| **digit == 0);
        let digits: String = forward.filter_map(|digit| char::from_digit(u32::try_from(*digit).ok()?, 10)).collect();
        Natural { length: digits.len(), digits }
    }
}

/// Makes a length signed; no spelling in memory is too long for it.
fn signed(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Tells whether two spellings mean the same number: `1`, `1.0` and `10e-1` do.
///
/// What is not a JSON number equals only the same text.
pub fn same_value(a: &str, b: &str) -> bool {
    a == b || Decimal::parse(a).is_some_and(|a| Decimal::parse(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(spelling: &str) -> Decimal {
        Decimal::parse(spelling).unwrap()
    }

    #[test]
    fn equal_values_have_one_canonical_spelling() {
        for (canonical, spellings) in [
            ("0", &["0", "-0", "0.0e5", "0e99999999999999999999", "-0.000E-3"][..]),
            ("1", &["1", "1.0", "1e0", "10e-1", "0.1e1", "1E+00", "0.001e3", "1e-0"]),
            ("-1.5", &["-1.5", "-15e-1", "-0.15E1", "-1.500"]),
            ("100", &["100", "1e2", "100.00", "1000e-1"]),
            ("0.001", &["0.001", "1e-3", "0.1e-2"]),
            ("0.0000001", &["1e-7"]),
            ("1e-8", &["0.00000001", "10e-9"]),
            ("123456789012345678901", &["123456789012345678901", "12345678901234567890.1e1"]),
            ("1e21", &["1000000000000000000000", "1e21"]),
            ("12.25", &["12.25", "1225e-2"]),
            ("1.25e400", &["1.25e400", "125e398"]),
            ("9007199254740993", &["9007199254740993", "9007199254740993.0"]),
            ("1e9223372036854775807", &["1e9223372036854775807", "0.1e9223372036854775808", "10e9223372036854775806"]),
            ("1e9223372036854775808", &["1e9223372036854775808", "10e9223372036854775807", "0.01e9223372036854775810"]),
            ("1e-9223372036854775808", &["1e-9223372036854775808", "10e-9223372036854775809"]),
            ("1e-9223372036854775809", &["0.1e-9223372036854775808", "1e-009223372036854775809"]),
            (
                "1e100000000000000000000",
                &["1e100000000000000000000", "10e99999999999999999999", "0.1e100000000000000000001"],
            ),
            ("-2.5e-100000000000000000000", &["-25e-100000000000000000001", "-0.25e-99999999999999999999"]),
        ] {
            for spelling in spellings {
                assert_eq!(decimal(spelling).canonical(), canonical, "{spelling}");
                assert_eq!(decimal(spelling), decimal(canonical), "{spelling}");
                assert!(same_value(spelling, canonical), "{spelling}");
            }
        }
    }

    #[test]
    fn the_order_is_by_value() {
        let ascending = [
            "-1e99999999999999999999",
            "-1e400",
            "-1234",
            "-10",
            "-9.99",
            "-1",
            "-1e-400",
            "-1e-99999999999999999999",
            "0",
            "1e-100000000000000000000",
            "1e-99999999999999999999",
            "1e-9223372036854775809",
            "1e-9223372036854775808",
            "1e-400",
            "0.1",
            "0.12",
            "0.2",
            "1",
            "1.0000000000000000000001",
            "2",
            "10",
            "9007199254740992",
            "9007199254740993",
            "1e400",
            "1.5e400",
            "1e9223372036854775807",
            "1e9223372036854775808",
            "9e99999999999999999998",
            "1e99999999999999999999",
            "1e100000000000000000000",
        ];
        for (index, smaller) in ascending.iter().enumerate() {
            assert_eq!(decimal(smaller).cmp(&decimal(smaller)), Ordering::Equal);
            for greater in ascending.iter().skip(index + 1) {
                assert!(decimal(smaller) < decimal(greater), "{smaller} {greater}");
                assert!(decimal(greater) > decimal(smaller), "{greater} {smaller}");
                assert!(!same_value(smaller, greater), "{smaller} {greater}");
            }
        }
    }

    #[test]
    fn only_json_numbers_are_read() {
        for text in ["", "-", "01", "1.", ".5", "+1", "1e", " 1", "1 ", "NaN", "0x1", "1_0", "--1", "1e5.0", "١"] {
            assert_eq!(Decimal::parse(text), None, "{text}");
        }
        assert!(same_value("01", "01") && !same_value("01", "1") && !same_value("01", "001"));
    }

    #[test]
    fn integers_are_told_from_fractions() {
        for (spelling, expected) in [
            ("0", true),
            ("1.0", true),
            ("1.5e1", true),
            ("1.5", false),
            ("1e-1", false),
            ("1e400", true),
            ("0e-5", true),
            ("1e99999999999999999999", true),
            ("1e-99999999999999999999", false),
            ("120", true),
        ] {
            assert_eq!(decimal(spelling).is_integer(), expected, "{spelling}");
        }
    }

    #[test]
    fn long_spellings_cost_their_length() {
        let zeros = "0".repeat(1_000_000);
        assert_eq!(decimal(&format!("1{zeros}")).canonical(), "1e1000000");
        assert_eq!(decimal(&format!("0.{zeros}1")).canonical(), "1e-1000001");
        assert!(same_value(&format!("0.{zeros}1e1000001"), "1"));
        let nines = "9".repeat(1_000_000);
        assert_eq!(decimal(&format!("10e{nines}")).canonical(), format!("1e1{zeros}"));
        assert_eq!(decimal("1e999999999").canonical(), "1e999999999");
    }
}
