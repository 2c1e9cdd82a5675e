//! Fields as clients write them: a number that may be a string, an object that may be anything.
//!
//! Pure. What a field should not be counts as absent; it never makes its line unreadable. Called by the parsers of
//! adapters.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// More tokens than any window holds; a larger count is no count.
const LIMIT: u64 = 100_000_000;

/// A count of tokens: a number or a string of digits. Negative, fractional over the limit or absent is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count(pub Option<u64>);

impl Count {
    /// The count, with none as nothing.
    pub fn or_zero(self) -> u64 {
        self.0.unwrap_or(0)
    }

    fn of(value: u64) -> Self {
        Self(Some(value).filter(|value| *value <= LIMIT))
    }

    fn of_f64(value: f64) -> Self {
        // Also refuses what is no number at all.
        if !(0.0..=100_000_000.0).contains(&value) {
            return Self(None);
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "within 0..=LIMIT by the test above"
        )]
        Self(Some(value.round() as u64))
    }
}

/// A decimal number: a number or a string of one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Decimal(pub Option<f64>);

/// A string; anything else counts as absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(pub Option<String>);

/// True only where it says so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

/// An object of a known shape; anything else counts as absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part<T>(pub Option<T>);

impl<T> Default for Part<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// What a field makes of each JSON type.
trait Lax<'de>: Default {
    fn from_u64(_value: u64) -> Self {
        Self::default()
    }
    fn from_f64(_value: f64) -> Self {
        Self::default()
    }
    fn from_bool(_value: bool) -> Self {
        Self::default()
    }
    fn from_text(_text: &str) -> Self {
        Self::default()
    }
    fn from_map<A: MapAccess<'de>>(mut map: A) -> Result<Self, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Self::default())
    }
}

impl Lax<'_> for Count {
    fn from_u64(value: u64) -> Self {
        Self::of(value)
    }
    fn from_f64(value: f64) -> Self {
        Self::of_f64(value)
    }
    fn from_text(text: &str) -> Self {
        text.trim().parse().map_or(Self(None), Self::of)
    }
}

impl Lax<'_> for Decimal {
    fn from_u64(value: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "a percentage is small")]
        Self(Some(value as f64))
    }
    fn from_f64(value: f64) -> Self {
        Self(Some(value))
    }
    fn from_text(text: &str) -> Self {
        Self(text.trim().parse().ok())
    }
}

impl Lax<'_> for Words {
    fn from_text(text: &str) -> Self {
        Self(Some(text.to_owned()))
    }
}

impl Lax<'_> for Flag {
    fn from_bool(value: bool) -> Self {
        Self(value)
    }
}

impl<'de, T: Deserialize<'de>> Lax<'de> for Part<T> {
    fn from_map<A: MapAccess<'de>>(map: A) -> Result<Self, A::Error> {
        T::deserialize(MapAccessDeserializer::new(map)).map(|it| Self(Some(it)))
    }
}

struct LaxVisitor<T>(PhantomData<T>);

impl<'de, T: Lax<'de>> Visitor<'de> for LaxVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }
    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Ok(T::from_text(text))
    }
    fn visit_unit<E: de::Error>(self) -> Result<T, E> {
        Ok(T::default())
    }
    fn visit_bool<E: de::Error>(self, value: bool) -> Result<T, E> {
        Ok(T::from_bool(value))
    }
    fn visit_i64<E: de::Error>(self, value: i64) -> Result<T, E> {
        Ok(u64::try_from(value).map_or_else(|_| T::default(), T::from_u64))
    }
    fn visit_u64<E: de::Error>(self, value: u64) -> Result<T, E> {
        Ok(T::from_u64(value))
    }
    fn visit_f64<E: de::Error>(self, value: f64) -> Result<T, E> {
        Ok(T::from_f64(value))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<T, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(T::default())
    }
    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        T::from_map(map)
    }
}

macro_rules! lax {
    ($($name:ident),*) => {$(
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_any(LaxVisitor(PhantomData))
            }
        }
    )*};
}

lax!(Count, Decimal, Words, Flag);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Part<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LaxVisitor(PhantomData))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_plausible_number_or_nothing() {
        let count = |json: &str| serde_json::from_str::<Count>(json).unwrap().0;
        let table = [
            ("12", Some(12)),
            ("12.0", Some(12)),
            ("\"12\"", Some(12)),
            ("0", Some(0)),
            ("-1", None),
            ("\"-1\"", None),
            ("1e308", None),
            ("-0.4", None),
            ("1000000000", None),
            ("\"NaN\"", None),
            ("null", None),
            ("{\"a\":[{}]}", None),
            ("[1]", None),
            ("true", None),
        ];
        assert_eq!(table.map(|(json, _)| (json, count(json))), table);
    }

    #[test]
    fn a_part_of_another_type_is_absent() {
        #[derive(Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(default)]
        struct Inner {
            n: Count,
        }
        let part = |json: &str| serde_json::from_str::<Part<Inner>>(json).unwrap().0;
        assert_eq!(part("[{}]"), None);
        assert_eq!(part("\"x\""), None);
        assert_eq!(
            part("{\"n\":\"3\",\"m\":{}}"),
            Some(Inner { n: Count(Some(3)) })
        );
    }
}
