//! The engine's port for instruction files, skills and notes. Blocking work runs off the async threads.

use super::clock::wall_clock;
use async_trait::async_trait;
use holon_domain::guidance::{
    Guidance, GuidanceRoots, InstalledSkill, SkillFault, SkillInstallation, SkillSource,
    SkillSourceKind,
};
use holon_engine::ports::GuidanceHost;
use holon_workspace::{
    FetchError, Fetcher, InstructionReader, ReadySkill, SkillError, SkillReader,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Directory of guidance in the user's home.
const USER_DIR: &str = ".agents";

/// Reads guidance on this machine.
#[derive(Debug)]
pub(crate) struct GuidanceFiles {
    readers: Arc<Readers>,
    user_home: Option<PathBuf>,
    fetcher: Fetcher,
}

/// What reads the files; kept for the life of the host, because each remembers what it has read.
#[derive(Debug)]
struct Readers {
    instructions: InstructionReader,
    skills: SkillReader,
}

impl GuidanceFiles {
    /// Creates the port for the guidance of a user. `fetcher` serves skills on GitHub.
    pub(crate) fn new(user_home: Option<&Path>, fetcher: Fetcher) -> Self {
        let user_dir = user_home.map(|home| home.join(USER_DIR));
        let readers = Readers {
            instructions: InstructionReader::new(user_dir),
            skills: SkillReader::new(user_home.map(Path::to_owned)),
        };
        Self {
            readers: Arc::new(readers),
            user_home: user_home.map(Path::to_owned),
            fetcher,
        }
    }
}

#[async_trait]
impl GuidanceHost for GuidanceFiles {
    fn user_home(&self) -> Option<PathBuf> {
        self.user_home.clone()
    }

    async fn read(&self, roots: GuidanceRoots) -> Guidance {
        let (readers, now) = (Arc::clone(&self.readers), wall_clock());
        let read = tokio::task::spawn_blocking(move || Guidance {
            instructions: readers.instructions.read(&roots, now),
            skills: readers.skills.read(&roots, now),
            notes: holon_workspace::read_notes(Path::new(&roots.agent_home)),
        });
        match read.await {
            Ok(guidance) => guidance,
            Err(stopped) => {
                tracing::warn!(%stopped, "instruction files could not be read");
                Guidance::default()
            }
        }
    }

    async fn installed_skills(&self, agent_home: &str) -> Vec<InstalledSkill> {
        let home = PathBuf::from(agent_home);
        match off_thread(move || holon_workspace::installed_skills(&home)).await {
            Ok(skills) => skills,
            Err(fault) => {
                tracing::warn!(agent_home, ?fault, "skills could not be listed");
                Vec::new()
            }
        }
    }

    async fn install_skill(
        &self,
        agent_home: &str,
        source: SkillSource,
    ) -> Result<SkillInstallation, SkillFault> {
        let (home, fetcher) = (PathBuf::from(agent_home), self.fetcher.clone());
        off_thread(move || {
            let skill = ReadySkill::prepare(&source, &fetcher)?;
            // The skill may be the first file in the home.
            holon_workspace::make_home(&home, || true)?;
            holon_workspace::install_skill(&home, &skill)?;
            Ok(SkillInstallation {
                name: skill.name().to_owned(),
                kind: source.kind(),
                fetched_from: skill.fetched_from().cloned(),
            })
        })
        .await
    }

    async fn uninstall_skill(
        &self,
        agent_home: &str,
        name: &str,
    ) -> Result<Option<SkillSourceKind>, SkillFault> {
        let (home, name) = (PathBuf::from(agent_home), name.to_owned());
        off_thread(move || holon_workspace::uninstall_skill(&home, &name)).await
    }

    async fn skill_change(&self, entrypoint: &str) -> Option<String> {
        let path = PathBuf::from(entrypoint);
        let looked = tokio::task::spawn_blocking(move || holon_workspace::skill_change(&path));
        match looked.await {
            Ok(change) => change,
            Err(stopped) => Some(format!("its files could not be compared: {stopped}")),
        }
    }
}

/// Runs work on skills on a thread for blocking work.
async fn off_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, SkillError> + Send + 'static,
) -> Result<T, SkillFault> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done.map_err(|error| fault(&error)),
        Err(stopped) => Err(SkillFault::Refused {
            message: format!("the work on the skill ended early: {stopped}"),
        }),
    }
}

fn fault(error: &SkillError) -> SkillFault {
    let message = error.to_string();
    match error {
        SkillError::AlreadyInstalled { .. } => SkillFault::AlreadyInstalled { message },
        SkillError::NotInstalled { .. } => SkillFault::NotInstalled { message },
        SkillError::Fetch(error) if error.is_timeout() => SkillFault::TimedOut { message },
        SkillError::Fetch(FetchError::Unreachable { .. } | FetchError::OutOfBounds { .. }) => {
            SkillFault::Unreachable { message }
        }
        SkillError::UnknownBuiltin { .. }
        | SkillError::Name { .. }
        | SkillError::NotASkill { .. }
        | SkillError::Refused { .. }
        | SkillError::TooLarge { .. }
        | SkillError::Remote(_)
        | SkillError::Fetch(_)
        | SkillError::Files(_) => SkillFault::Refused { message },
    }
}
