//! The date and time of day, for people: RFC 3339 in UTC.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the current time.
pub fn now() -> String {
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_secs());
    of_unix(seconds)
}

/// Formats a Unix time: seconds since 1970-01-01T00:00:00Z, without leap seconds.
///
/// Civil date from days, in years that begin in March: month m (March is 0) begins at day (153·m +
/// 2)/5, and 400 years have 146 097 days (Gregorian calendar).
pub fn of_unix(seconds: u64) -> String {
    let (days, day_s) = (seconds / 86_400, seconds % 86_400);
    let days = days + 719_468; // since 0000-03-01
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 {
        from_march + 3
    } else {
        from_march - 9
    };
    let year = 400 * era + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (day_s / 3600, day_s / 60 % 60, day_s % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use super::of_unix;

    #[test]
    fn known_moments() {
        assert_eq!(of_unix(0), "1970-01-01T00:00:00Z");
        assert_eq!(of_unix(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(of_unix(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(of_unix(1_000_000_000), "2001-09-09T01:46:40Z");
        assert_eq!(of_unix(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
