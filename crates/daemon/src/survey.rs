//! Checks the store of a home without a host, for the doctor.

use holon_config::Settings;
use holon_domain::AgentId;
use holon_domain::agent::LastFailure;
use holon_store::LearnedModel;
use std::path::{Path, PathBuf};

/// Lists problems of the store and the agents' homes, in sentences for the operator. A store that cannot be read is
/// itself a problem in the list.
#[must_use]
pub fn survey(settings: &Settings) -> Vec<String> {
    let agents = settings.home.value.join("agents");
    match holon_store::survey(&db_path(settings), &agents) {
        Ok(found) => found,
        Err(error) => vec![error.to_string()],
    }
}

/// Reads the limits of models that their providers revealed. A store that cannot be read has none here; [`survey`]
/// reports it.
#[must_use]
pub fn learned_limits(settings: &Settings) -> Vec<LearnedModel> {
    holon_store::learned_limits(&db_path(settings)).unwrap_or_default()
}

/// Reads the newest failure of any agent, and its agent. A store that cannot be read has none here; [`survey`] reports
/// it.
#[must_use]
pub fn newest_agent_failure(home: &Path) -> Option<(AgentId, LastFailure)> {
    holon_store::newest_failure(&store_path(home)).unwrap_or_default()
}

pub(crate) fn db_path(settings: &Settings) -> PathBuf {
    store_path(&settings.home.value)
}

fn store_path(home: &Path) -> PathBuf {
    home.join("state").join("holon.sqlite3")
}
