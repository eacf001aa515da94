//! The time zone of this machine, by its name in the database of zones.

use crate::env::Env;
use holon_domain::zone::{UTC, is_zone};
use std::path::Path;

/// Link to the file of the machine's zone.
const LOCALTIME: &str = "/etc/localtime";
/// Directory of the database, in the path of a zone's file.
const DATABASE: &str = "zoneinfo/";

/// Returns the zone of this machine: that of `TZ`, otherwise that of its clock; UTC if neither names one.
pub(crate) fn host_zone(env: &Env) -> String {
    let named = match env.get("TZ") {
        Some(zone) => zone_name(zone.to_string_lossy().trim_start_matches(':')),
        None => zone_of_link(Path::new(LOCALTIME)),
    };
    named.unwrap_or_else(|| UTC.to_owned())
}

fn zone_of_link(link: &Path) -> Option<String> {
    let target = std::fs::read_link(link).ok()?;
    zone_name(target.to_str()?)
}

/// Returns the name of a zone from its name or from the path of its file.
fn zone_name(text: &str) -> Option<String> {
    let name = text.rsplit_once(DATABASE).map_or(text, |(_, name)| name);
    let plain = ["posix/", "right/"];
    let name = plain
        .iter()
        .find_map(|dir| name.strip_prefix(dir))
        .unwrap_or(name);
    is_zone(name).then(|| name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_found_by_name_and_by_the_path_of_its_file() {
        for (text, expected) in [
            ("Europe/Berlin", Some("Europe/Berlin")),
            ("/usr/share/zoneinfo/Asia/Tokyo", Some("Asia/Tokyo")),
            ("../usr/share/zoneinfo/posix/Asia/Tokyo", Some("Asia/Tokyo")),
            ("UTC", Some("UTC")),
            ("CET-1CEST,M3.5.0,M10.5.0/3", None),
            ("/etc/passwd", None),
            ("", None),
        ] {
            assert_eq!(zone_name(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_link_to_a_zone_names_it_and_another_file_does_not() {
        let dir = tempfile::tempdir().unwrap();
        let link = dir.path().join("localtime");
        assert_eq!(zone_of_link(&link), None);
        std::os::unix::fs::symlink("/usr/share/zoneinfo/America/New_York", &link).unwrap();
        assert_eq!(zone_of_link(&link).as_deref(), Some("America/New_York"));
        let file = dir.path().join("file");
        std::fs::write(&file, "TZif").unwrap();
        assert_eq!(zone_of_link(&file), None);
    }
}
