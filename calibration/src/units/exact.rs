//! Decimal numbers read exactly and rounded once, to the nearest double.

/// A unit's factor to the base unit of its kind: `scale` × 10^`power`, exactly.
#[derive(Debug, Clone, Copy)]
pub(super) struct Factor {
    scale: u64,
    power: i32,
}

impl Factor {
    /// Product of both factors, which does not overflow for the factors of the tables.
    pub fn with(self, other: Self) -> Self {
        factor(self.scale * other.scale, self.power + other.power)
    }
}

/// A factor, scale first.
pub(super) const fn factor(scale: u64, power: i32) -> Factor {
    Factor { scale, power }
}

/// An exact number: its decimal digits, without a point, times 10^`power`.
#[derive(Debug)]
pub(super) struct Exact {
    digits: Vec<u8>,
    power: i32,
}

impl Exact {
    /// Splits a text into its exact number and its unit.
    pub fn split(text: &str) -> Option<(Exact, &str)> {
        let (end, mantissa) = number_length(text)?;
        let (whole, fraction) = text[..mantissa]
            .split_once('.')
            .unwrap_or((&text[..mantissa], ""));
        let digits = whole.bytes().chain(fraction.bytes());
        let exponent: i32 = text[mantissa..end]
            .get(1..)
            .map_or(Ok(0), str::parse)
            .ok()?;
        let exact = Exact {
            digits: digits.map(|byte| byte - b'0').collect(),
            power: exponent - i32::try_from(fraction.len()).ok()?,
        };
        Some((exact, text[end..].trim_start()))
    }

    /// The product, exactly.
    pub fn times(mut self, by: Factor) -> Self {
        let mut carry = 0;
        for digit in self.digits.iter_mut().rev() {
            let product = u64::from(*digit) * by.scale + carry;
            *digit = (product % 10) as u8; // below ten
            carry = product / 10;
        }
        while carry > 0 {
            self.digits.insert(0, (carry % 10) as u8); // below ten
            carry /= 10;
        }
        self.power += by.power;
        self
    }

    /// The digits as text, without the zeros in front.
    fn text(&self) -> String {
        let significant = self.digits.iter().skip_while(|digit| **digit == 0);
        significant.map(|digit| char::from(b'0' + digit)).collect()
    }

    /// Returns the nearest double; infinite if the number is too large.
    pub fn to_f64(&self) -> f64 {
        let text = format!("0{}e{}", self.text(), self.power);
        text.parse().unwrap_or(f64::INFINITY)
    }

    /// Converts the number if it is whole: `Ok(None)` above 2^63 − 1, `Err` if it is not whole.
    pub fn to_whole(&self) -> std::result::Result<Option<u64>, ()> {
        let text = self.text();
        let digits = text.trim_end_matches('0');
        if digits.is_empty() {
            return Ok(Some(0));
        }
        let power = self.power + (text.len() - digits.len()) as i32; // texts are short
        let zeros = usize::try_from(power).map_err(|_| ())?;
        if digits.len() + zeros > 19 {
            return Ok(None);
        }
        let whole = format!("{digits}{}", "0".repeat(zeros)).parse::<u64>();
        Ok(whole.ok().filter(|count| i64::try_from(*count).is_ok()))
    }
}

/// Length of the plain number a text starts with, and of its mantissa.
fn number_length(text: &str) -> Option<(usize, usize)> {
    let digits_at = |start: usize| {
        let rest = text.as_bytes().iter().skip(start);
        rest.take_while(|byte| byte.is_ascii_digit()).count()
    };
    let whole = digits_at(0);
    let point = text[whole..].starts_with('.');
    let fraction = if point { digits_at(whole + 1) } else { 0 };
    if whole + fraction == 0 {
        return None;
    }
    let mantissa = whole + usize::from(point) + fraction;
    let after = &text.as_bytes()[mantissa..];
    let sign = usize::from(matches!(after.get(1), Some(b'+' | b'-')));
    let exponent = digits_at(mantissa + 1 + sign).min(3);
    if matches!(after.first(), Some(b'e' | b'E')) && exponent > 0 {
        return Some((mantissa + 1 + sign + exponent, mantissa));
    }
    Some((mantissa, mantissa))
}
