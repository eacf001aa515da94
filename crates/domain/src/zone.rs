//! Time zones by name, and times on the wall of a zone.

use crate::time::Timestamp;
use jiff::tz::TimeZone;

/// Name of the zone in which times are stored.
pub const UTC: &str = "UTC";

/// Returns a zone by its name; UTC if there is none of that name. The database of zones is many files, which are listed
/// only for a zone other than UTC.
pub(crate) fn time_zone(name: &str) -> TimeZone {
    if name == UTC {
        return TimeZone::UTC;
    }
    TimeZone::get(name).unwrap_or(TimeZone::UTC)
}

/// Returns true if the name of a zone is known.
#[must_use]
pub fn is_zone(zone: &str) -> bool {
    TimeZone::get(zone).is_ok()
}

/// Spells a time as a clock and a calendar in the zone show it: `Saturday 2026-11-14, 22:46 in Europe/Berlin (UTC+01:00)`.
#[must_use]
pub fn spell(at: Timestamp, zone: &str) -> String {
    let time = format_in(at, zone, "%A %Y-%m-%d, %H:%M");
    if zone == UTC {
        format!("{time} in UTC")
    } else {
        format!("{time} in {zone} (UTC{})", format_in(at, zone, "%:z"))
    }
}

/// Returns the time of day in the zone, as `22:46:07`.
#[must_use]
pub fn clock_time(at: Timestamp, zone: &str) -> String {
    format_in(at, zone, "%H:%M:%S")
}

/// Names of the zone whose times are stored ones.
const UTC_NAMES: [&str; 8] = [
    UTC,
    "Etc/UTC",
    "UCT",
    "Etc/UCT",
    "Universal",
    "Etc/Universal",
    "Zulu",
    "Etc/Zulu",
];

/// Spells a time as it is stored, with the clock and the offset of the zone: `2026-11-15T00:46:40.123+01:00`. In UTC it ends
/// in `Z`.
#[must_use]
pub fn stamp(at: Timestamp, zone: &str) -> String {
    if UTC_NAMES.contains(&zone) {
        return at.to_string();
    }
    format_in(at, zone, "%Y-%m-%dT%H:%M:%S%.3f%:z")
}

/// Spells a stored time anew with the clock of the zone. A text that is no time stays as it is.
#[must_use]
pub fn restamp(stored: &str, zone: &str) -> String {
    match stored.parse::<jiff::Timestamp>() {
        Ok(at) => stamp(Timestamp::from_millis(at.as_millisecond()), zone),
        Err(_) => stored.to_owned(),
    }
}

/// Formats a time; one beyond the calendar is spelled as a number.
fn format_in(at: Timestamp, zone: &str, form: &str) -> String {
    match jiff::Timestamp::from_millisecond(at.as_millis()) {
        Ok(at) => at.to_zoned(time_zone(zone)).strftime(form).to_string(),
        Err(_) => at.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_spelled_in_its_zone_over_midnight_and_daylight_saving() {
        let winter = Timestamp::from_millis(1_794_700_000_000);
        assert_eq!(spell(winter, "UTC"), "Saturday 2026-11-14, 23:46 in UTC");
        assert_eq!(
            spell(winter, "Europe/Berlin"),
            "Sunday 2026-11-15, 00:46 in Europe/Berlin (UTC+01:00)"
        );
        let summer = winter.minus_days(120);
        assert_eq!(
            spell(summer, "Europe/Berlin"),
            "Saturday 2026-07-18, 01:46 in Europe/Berlin (UTC+02:00)"
        );
        assert_eq!(
            spell(winter, "America/St_Johns"),
            "Saturday 2026-11-14, 20:16 in America/St_Johns (UTC-03:30)"
        );
        assert_eq!(clock_time(winter, "Asia/Kolkata"), "05:16:40");
        for zone in UTC_NAMES {
            assert_eq!(stamp(winter, zone), winter.to_string());
            assert_eq!(format_in(winter, zone, "%:z"), "+00:00", "{zone}");
        }
        assert_eq!(
            stamp(winter, "Europe/Berlin"),
            "2026-11-15T00:46:40.000+01:00"
        );
        assert_eq!(
            restamp("2026-07-18T23:46:40.123Z", "Asia/Kathmandu"),
            "2026-07-19T05:31:40.123+05:45"
        );
        assert_eq!(restamp("soon", "Asia/Kathmandu"), "soon");
    }

    #[test]
    fn a_time_beyond_the_calendar_is_still_spelled() {
        let end = Timestamp::from_millis(i64::MAX);
        assert!(spell(end, "Europe/Berlin").starts_with("9223372036854775807ms"));
    }
}
