//! Where an agent works: facts about the host, the operator's clock and the repository, which the runtime reads when a turn
//! begins.

use crate::zone::UTC;

/// The place of one turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Name of the zone of the operator's clock.
    pub zone: String,
    /// Absent if the reader knows nothing of the host.
    pub host: Option<HostFacts>,
    /// Repository of the working directory. Absent if it is in none.
    pub repository: Option<RepositoryState>,
}

impl Default for Place {
    fn default() -> Self {
        Self {
            zone: UTC.to_owned(),
            host: None,
            repository: None,
        }
    }
}

/// The machine on which commands run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostFacts {
    /// Operating system and processor.
    pub system: String,
    pub name: String,
    /// Shell in which commands run.
    pub shell: String,
    /// True if `rg` was found when the host started.
    pub has_ripgrep: bool,
}

/// A repository as it is when a turn begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryState {
    /// Directory of the working files.
    pub root: String,
    /// Absent if git did not answer in time, or refuses the repository.
    pub work: Option<RepositoryWork>,
}

/// What is checked out, and whether it was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepositoryWork {
    /// Absent if the head is detached.
    pub branch: Option<String>,
    /// Beginning of the commit's hash. Absent if there is no commit yet.
    pub head: Option<String>,
    /// True if files differ from that commit, or are new and not ignored.
    pub is_dirty: bool,
}
