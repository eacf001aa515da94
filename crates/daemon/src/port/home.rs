//! The engine's port for agents' homes on this machine. Blocking work runs off the async threads.
//!
//! Unless a template makes it, a home is not created with its agent: the first command or patch that needs it creates
//! it, see `workspace`. The default agent's home is created with it.

use super::archive::Archives;
use super::attached::Attachments;
use super::clock::wall_clock;
use async_trait::async_trait;
use holon_domain::AgentId;
use holon_domain::limits::OPERATOR_SEED_BYTES;
use holon_domain::template::TemplateSelector;
use holon_domain::workspace::{ReservedDirs, WorkspaceEntry};
use holon_engine::archive::{ArchiveFault, PackOrder, PackedArchive, ReadArchive};
use holon_engine::ports::HomeHost;
use holon_engine::request::{HomeChoice, WorkspaceChoice};
use holon_workspace::{ClaimFolders, TemplateOrder, TemplateStore};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Interval of the retries on a full disk.
const FULL_PAUSE: Duration = Duration::from_secs(1);
/// Number of retries between two log lines about it: one minute.
const FULL_LOG_EVERY: u64 = 60;

/// The directory of the agents' homes, and the records about them.
#[derive(Debug)]
pub(crate) struct Homes {
    agents_dir: PathBuf,
    claims: ClaimFolders,
    attachments: Attachments,
    templates: TemplateStore,
    /// Directories of the host. A repository around one is no project.
    reserved: ReservedDirs,
    archives: Archives,
}

/// Template of a new home for which only a seed was given.
const DEFAULT_TEMPLATE: &str = "holon-default";

impl Homes {
    /// Creates the port for homes in `agents_dir`.
    pub(crate) const fn new(
        agents_dir: PathBuf,
        claims: ClaimFolders,
        attachments: Attachments,
        templates: TemplateStore,
        reserved: ReservedDirs,
        archives: Archives,
    ) -> Self {
        Self {
            agents_dir,
            claims,
            attachments,
            templates,
            reserved,
            archives,
        }
    }

    async fn off_thread(
        agent_id: &AgentId,
        work: impl Fn() -> Result<(), holon_workspace::Error> + Clone + Send + 'static,
    ) -> Result<(), String> {
        let mut tries: u64 = 0;
        loop {
            match tokio::task::spawn_blocking(work.clone()).await {
                // Every component waits for disk space, so the agent must not fail here.
                Ok(Err(error)) if is_full(&error) => {
                    if tries.is_multiple_of(FULL_LOG_EVERY) {
                        tracing::warn!(%agent_id, %error, "waits for disk space");
                    }
                    tries += 1;
                    tokio::time::sleep(FULL_PAUSE).await;
                }
                Ok(done) => return done.map_err(|error| error.to_string()),
                Err(stopped) => {
                    return Err(format!("the work on the home ended early: {stopped}"));
                }
            }
        }
    }
}

fn is_full(error: &holon_workspace::Error) -> bool {
    match error {
        holon_workspace::Error::Io { source, .. } => matches!(
            source.kind(),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
        ),
        holon_workspace::Error::Missing { .. }
        | holon_workspace::Error::NotADirectory { .. }
        | holon_workspace::Error::Relative { .. }
        | holon_workspace::Error::NotUtf8 { .. }
        | holon_workspace::Error::CwdOutsideRoot { .. }
        | holon_workspace::Error::HomeBlocked { .. }
        | holon_workspace::Error::UnreadableRecord { .. }
        | holon_workspace::Error::Random(_) => false,
    }
}

/// Lists the homes with the mark of an unconfirmed one. A directory that cannot be listed has none.
fn list_unconfirmed(agents_dir: &Path) -> Vec<AgentId> {
    let Ok(entries) = std::fs::read_dir(agents_dir) else {
        return Vec::new();
    };
    let homes = entries.flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let agent_id = AgentId::parse_stored(&name).ok()?;
        holon_workspace::is_unconfirmed(&entry.path()).then_some(agent_id)
    });
    homes.collect()
}

#[async_trait]
impl HomeHost for Homes {
    async fn prepare(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String> {
        let (attachments, home) = (self.attachments.clone(), agent_home.to_owned());
        Self::off_thread(agent_id, move || {
            holon_workspace::check_home(Path::new(&home))?;
            holon_workspace::confirm_home(Path::new(&home))?;
            attachments.record_start(&home);
            Ok(())
        })
        .await
    }

    async fn seed(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String> {
        let home = agent_home.to_owned();
        Self::off_thread(agent_id, move || {
            holon_workspace::ensure_guide(Path::new(&home))
        })
        .await
    }

    async fn ensure(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String> {
        let (attachments, home) = (self.attachments.clone(), agent_home.to_owned());
        Self::off_thread(agent_id, move || {
            if std::fs::symlink_metadata(&home).is_ok() {
                return Ok(());
            }
            holon_workspace::make_home(Path::new(&home), || true)?;
            attachments.record_start(&home);
            Ok(())
        })
        .await
    }

    async fn make_from_template(
        &self,
        agent_home: &str,
        choice: &HomeChoice,
    ) -> Result<(), String> {
        let template = choice.template.as_deref().unwrap_or(DEFAULT_TEMPLATE);
        let selector = TemplateSelector::parse(template).map_err(|error| error.to_string())?;
        if choice
            .seed
            .as_ref()
            .is_some_and(|seed| seed.len() > OPERATOR_SEED_BYTES)
        {
            return Err(format!(
                "the seed has more than {OPERATOR_SEED_BYTES} bytes"
            ));
        }
        let order = TemplateOrder {
            selector: selector.to_string(),
            seed: choice.seed.clone(),
            applied_at: wall_clock(),
        };
        let (templates, home) = (self.templates.clone(), PathBuf::from(agent_home));
        let made = tokio::task::spawn_blocking(move || {
            let template = templates.resolve(&selector)?;
            holon_workspace::apply_template(&home, &template, &order)
        });
        match made.await {
            Ok(made) => made.map_err(|error| error.to_string()),
            Err(stopped) => Err(format!("the work on the home ended early: {stopped}")),
        }
    }

    async fn pack(&self, order: PackOrder) -> Result<PackedArchive, ArchiveFault> {
        self.archives.pack(order).await
    }

    async fn new_upload(&self) -> Result<File, ArchiveFault> {
        self.archives.new_upload().await
    }

    async fn read_archive(&self, file: File) -> Result<ReadArchive, ArchiveFault> {
        self.archives.read(file).await
    }

    async fn make_from_archive(
        &self,
        agent_home: &str,
        archive: ReadArchive,
    ) -> Result<(), ArchiveFault> {
        self.archives.place(agent_home, archive).await
    }

    async fn unconfirmed_homes(&self) -> Vec<AgentId> {
        let dir = self.agents_dir.clone();
        let listed = tokio::task::spawn_blocking(move || list_unconfirmed(&dir));
        listed.await.unwrap_or_default()
    }

    async fn remove(&self, agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        let (dir, id) = (self.agents_dir.clone(), agent_id.clone());
        Self::off_thread(agent_id, move || holon_workspace::remove_home(&dir, &id)).await?;
        holon_fault::hit("home.removed");
        // Removed last: the proof that a command ran stays as long as any other file of its agent.
        let (claims, id) = (self.claims.clone(), agent_id.clone());
        Self::off_thread(agent_id, move || claims.remove(&id)).await
    }

    async fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        let (choice, home) = (choice.clone(), agent_home.to_owned());
        let (attachments, reserved) = (self.attachments.clone(), self.reserved.clone());
        let agents_dir = self.agents_dir.clone();
        let chosen = tokio::task::spawn_blocking(move || {
            let (root, cwd) = (choice.workspace_root.as_deref(), choice.cwd.as_deref());
            let home = Path::new(&home);
            let chosen = holon_workspace::choose(root, cwd, home, &reserved)
                .map_err(|error| error.to_string())?;
            // The caller refuses the host's own directories by itself, but not for an agent that works there already.
            let is_reserved = reserved.find_overlap(&chosen).is_some();
            if !chosen.is_agent_home() && !is_reserved {
                for root in [&chosen.execution_root, &chosen.workspace_anchor] {
                    holon_workspace::check_homes(&agents_dir, home, Path::new(root))?;
                }
            }
            attachments.remember(&home.to_string_lossy(), &chosen);
            Ok::<_, String>(chosen)
        });
        match chosen.await {
            Ok(chosen) => chosen,
            Err(stopped) => Err(format!("the workspace could not be looked at: {stopped}")),
        }
    }
}
