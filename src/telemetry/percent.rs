//! A share of the window in tenths of a percent, so that samples compare exactly.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// 0 to 100 percent; prints as a JSON number, whole where it is whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Percent(u16);

impl Percent {
    /// Clamped to 0..=100; what is no number is none.
    pub fn new(value: f64) -> Option<Self> {
        if !value.is_finite() {
            return None;
        }
        let tenths = (value.clamp(0.0, 100.0) * 10.0).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to 0..=1000 above"
        )]
        let tenths = tenths as u16;
        Some(Self(tenths))
    }

    /// `part` of `whole`, rounded to a whole percent.
    pub fn rounded(part: u64, whole: u64) -> Option<Self> {
        if whole == 0 {
            return None;
        }
        let percent = (u128::from(part) * 200 + u128::from(whole)) / (u128::from(whole) * 2);
        u16::try_from(percent.min(100)).ok().map(|it| Self(it * 10))
    }

    pub fn tenths(self) -> u16 {
        self.0
    }

    pub fn as_f64(self) -> f64 {
        f64::from(self.0) / 10.0
    }

    /// Whether two percentages could come from one measurement, rounded differently.
    pub fn agrees(self, other: Self) -> bool {
        self.0.abs_diff(other.0) <= 10
    }
}

impl std::fmt::Display for Percent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 % 10 {
            0 => write!(f, "{}", self.0 / 10),
            tenth => write!(f, "{}.{tenth}", self.0 / 10),
        }
    }
}

impl Serialize for Percent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.0.is_multiple_of(10) {
            serializer.serialize_u16(self.0 / 10)
        } else {
            serializer.serialize_f64(self.as_f64())
        }
    }
}

impl<'de> Deserialize<'de> for Percent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        use serde::de::Error as _;
        let value = f64::deserialize(deserializer)?;
        Self::new(value).ok_or_else(|| D::Error::custom("not a percentage"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_whole_in_json_where_it_is_whole() {
        let json = |value: f64| serde_json::to_string(&Percent::new(value)).unwrap();
        assert_eq!(
            [7.5, 8.0, -3.0, 1e308, f64::NAN].map(json),
            ["7.5", "8", "0", "100", "null"]
        );
        assert_eq!(serde_json::from_str::<Percent>("7.5").unwrap(), Percent(75));
    }

    #[test]
    fn rounding_is_half_up_and_never_over_a_hundred() {
        let rounded = |part, whole| Percent::rounded(part, whole).map(Percent::tenths);
        assert_eq!(rounded(15_004, 200_000), Some(80));
        assert_eq!(rounded(1, 200), Some(10));
        assert_eq!(rounded(u64::MAX, 1), Some(1_000));
        assert_eq!(rounded(5, 0), None);
    }
}
