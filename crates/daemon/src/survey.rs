//! Checks the store of a home without a host, for the doctor.

use holon_config::Settings;

/// Lists problems of the store and the agents' homes, in sentences for the operator. A store that cannot be read is
/// itself a problem in the list.
#[must_use]
pub fn survey(settings: &Settings) -> Vec<String> {
    let home = &settings.home.value;
    let db_path = home.join("state").join("holon.sqlite3");
    match holon_store::survey(&db_path, &home.join("agents")) {
        Ok(found) => found,
        Err(error) => vec![error.to_string()],
    }
}
