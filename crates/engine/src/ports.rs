//! The ports: everything the engine needs from the outside, as traits that other crates implement.
//!
//! The engine has no type parameters; a port is an `Arc<dyn Trait>`.

mod memory;
mod outbound;

use crate::archive::{ArchiveFault, PackOrder, PackedArchive, ReadArchive};
use crate::model_request::ThreadTerms;
use crate::request::{HomeChoice, WorkspaceChoice};
use async_trait::async_trait;
use holon_domain::command::{CommandFailure, TaskStreams};
use holon_domain::delta::TextSink;
use holon_domain::file_change::PatchResult;
use holon_domain::guidance::{
    Guidance, GuidanceRoots, InstalledSkill, SkillFault, SkillInstallation, SkillSource,
    SkillSourceKind,
};
use holon_domain::image::{ImageDigest, ImageFault, SentImage, ShownImage, ViewedImage};
use holon_domain::intent::{TaskInput, TaskOutput};
use holon_domain::model::{CacheLives, ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::place::Place;
use holon_domain::provider::{ModelPolicy, StatedWindow};
use holon_domain::task::TaskReport;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_domain::web::{FetchedPage, SearchAnswer, WebFetch, WebSearch, WebTools};
use holon_domain::work_item::PlanArtifact;
use holon_domain::workspace::{
    AttachedWorkspace, CleanVerdict, SelectedWorkspace, WorkspaceEntry, WorkspaceFailure,
    WorkspaceOrder, WorktreeReport, WorktreeUser,
};
use holon_domain::{AgentId, CallId, Entropy, Timestamp, WorkItemId};
use std::fs::File;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

pub use holon_domain::command::{
    AliveCommand, CommandContext, CommandKey, CommandOrder, CommandProbe, CommandRun, InputRefusal,
    LatePolicy, OutputRetention, OutputSize,
};
pub use memory::{
    CuratedContent, EpisodeExport, ExportedEpisode, MemoryFiles, NoMemoryFiles, ProfiledWorkspace,
};
pub use outbound::{Destination, NoOutbound, OutboundHost, SubmitReport};

/// Words for people about a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelName {
    pub display_name: String,
    /// Absent if nothing describes the model.
    pub description: Option<String>,
}

/// Sends requests to model providers.
#[async_trait]
pub trait ModelClient: Send + Sync + std::fmt::Debug {
    /// Makes one attempt at one round. Returns soon after `cancel` fires; the shell drops the result then.
    async fn call(
        &self,
        request: &ModelRequest,
        text: TextSink<'_>,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure>;

    /// Checks without network access that a call to this model could work: its provider is known, its script is
    /// readable.
    async fn check(&self, model: &ModelRef) -> Result<(), ModelFailure>;

    /// Limits of this model as configured, without anything learned from its provider.
    fn policy(&self, model: &ModelRef) -> ModelPolicy;

    /// How long the provider of this model keeps the beginning of a request in its cache.
    fn cache_lives(&self, _model: &ModelRef) -> CacheLives {
        ThreadTerms::DEFAULT.cache
    }

    /// Name of this model for people, and its description.
    fn name(&self, model: &ModelRef) -> ModelName {
        ModelName {
            display_name: model.model().to_owned(),
            description: None,
        }
    }

    /// Base URL of the provider that is asked for this model. `None` if no server is asked.
    fn endpoint(&self, _model: &ModelRef) -> Option<String> {
        None
    }

    /// The context window that the model's server describes. `None` if it does not describe one. Called before every
    /// round of a model with an assumed window; returns within a few seconds, and at once when the answer is known. `now`
    /// is the monotonic time of [`Clock::elapsed`].
    async fn stated_window(&self, _model: &ModelRef, _now: Duration) -> Option<StatedWindow> {
        None
    }

    /// Starts to watch the credential of a provider that has refused it, until [`ModelClient::credential_renewed`] has
    /// reported this provider. Watching a provider twice changes nothing.
    fn watch_credential(&self, _provider: &str) {}

    /// Waits until a watched provider has a usable credential that differs from the refused one, and returns the id of
    /// the provider. Only one caller may wait.
    async fn credential_renewed(&self) -> String {
        std::future::pending().await
    }
}

/// Runs commands, each under a shim process that outlives the host. A command key is started at most once.
#[async_trait]
pub trait CommandHost: Send + Sync + std::fmt::Debug {
    /// Returns true if a command with this key may have been started: its claim exists. Its result does not matter.
    async fn was_begun(&self, key: &CommandKey) -> bool;

    /// Starts the command, or finds the one already started with this key, and waits until it ends or its time is up.
    /// After `cancel` it returns `Cancelled` soon and leaves the command running.
    async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure>;

    /// Finds out the state of a command within a bounded time, without reading its output.
    async fn probe(&self, key: &CommandKey) -> CommandProbe;

    /// Returns true if the command is proven to run.
    async fn is_alive(&self, key: &CommandKey) -> bool {
        matches!(self.probe(key).await, CommandProbe::Running(_))
    }

    /// Waits for the end of a command that was begun. Dropping the future changes nothing for the command.
    async fn watch(&self, key: &CommandKey) -> TaskReport;

    /// Asks every process of the command to end, kills the remaining ones after `grace_ms`, and reports the end. A
    /// command that was not begun yet can never begin afterwards.
    async fn stop(&self, key: &CommandKey, grace_ms: u64) -> TaskReport;

    /// Writes to a command's standard input. Idempotent: input with a number that was written before is not written
    /// again.
    ///
    /// # Errors
    /// When the command takes no input.
    async fn input(&self, key: &CommandKey, input: &TaskInput) -> Result<u64, InputRefusal>;

    /// Reads the part of a command's output that the query asks for, at most `max_bytes` of each stream.
    async fn printed(
        &self,
        key: &CommandKey,
        query: &TaskOutput,
        max_bytes: usize,
    ) -> Result<TaskStreams, String>;

    /// Removes the files by which a command is found, once its outcome is committed. `output` says if its output files
    /// stay.
    async fn forget(&self, key: &CommandKey, output: OutputRetention);

    /// Returns the size of the output files of these commands, or of all commands of this agent home.
    async fn output_size(&self, _agent_home: &str, _names: Option<&[String]>) -> OutputSize {
        OutputSize::default()
    }

    /// Removes the output files of these commands. Those of a command that runs, or whose outcome is not on record, stay.
    async fn remove_output(&self, _agent_home: &str, _names: &[String]) -> OutputSize {
        OutputSize::default()
    }

    /// Stops and forgets every command of this agent home whose name is not in `known`.
    async fn sweep(&self, agent_home: &str, known: &[String]);
}

/// Applies patches to the files of a workspace.
#[async_trait]
pub trait FileHost: Send + Sync + std::fmt::Debug {
    /// Applies a patch beneath the workspace's execution root atomically: all of it or nothing, also across a crash.
    async fn apply_patch(
        &self,
        context: CommandContext,
        call: CallId,
        patch: String,
    ) -> Result<PatchResult, ToolError>;

    /// Finds out from the journal how a patch ended that was being applied when a process died. `None` if the journal
    /// proves nothing.
    async fn settle_patch(
        &self,
        agent_home: &str,
        call: &CallId,
        patch: &str,
    ) -> Option<Result<PatchResult, ToolError>>;

    /// Removes the journal of a patch once its outcome is committed.
    async fn forget_patch(&self, agent_home: &str, call: &CallId);

    /// Completes or reverts a patch whose turn was cancelled, and removes its journal. Harmless when there is no
    /// journal. Only called while [`FileHost::apply_patch`] is not running for the call.
    ///
    /// # Errors
    /// When the files or the journal cannot be brought to a consistent state now. The caller may retry.
    async fn finish_patch(&self, agent_home: &str, call: &CallId) -> Result<(), String>;

    /// Looks at an image file of the workspace and keeps a copy of it in the agent's home. Idempotent.
    ///
    /// # Errors
    /// The file is none that can be shown, or lies outside of the execution root.
    async fn view_image(
        &self,
        _context: CommandContext,
        _file_path: String,
    ) -> Result<ViewedImage, ToolError> {
        let message = "this host shows no images";
        Err(ToolError::new(
            ToolErrorKind::UnsupportedRuntimeCapability,
            message,
        ))
    }

    /// Reads the copy of an image that was viewed. `None` if it is gone or was changed.
    async fn load_image(&self, _agent_home: &str, _image: &ViewedImage) -> Option<ShownImage> {
        None
    }

    /// Checks and keeps an image that an operator sends, for the whole host. Idempotent; an image that is kept already
    /// counts as new.
    ///
    /// # Errors
    /// The bytes are no image that can be shown, or cannot be kept.
    async fn keep_sent_image(&self, _content: Vec<u8>) -> Result<SentImage, ImageFault> {
        Err(ImageFault::NotKept {
            reason: "this host keeps no images".to_owned(),
        })
    }

    /// Returns a kept image and makes it as new, so that a message may name it. `None` if there is none.
    async fn claim_sent_image(&self, _digest: &ImageDigest) -> Option<SentImage> {
        None
    }

    /// Reads an image that an operator sent. `None` if it is gone or was changed.
    async fn load_sent_image(&self, _image: &SentImage) -> Option<ShownImage> {
        None
    }

    /// Lists the images that were kept or claimed before a time.
    async fn sent_images_before(&self, _before: Timestamp) -> Vec<ImageDigest> {
        Vec::new()
    }

    /// Removes an image unless it was kept or claimed since. Returns true if it was removed.
    async fn remove_sent_image(&self, _digest: &ImageDigest, _before: Timestamp) -> bool {
        false
    }
}

/// Reads the web for agents. Every address that a model or a page names must be public, unless the settings permit it.
#[async_trait]
pub trait WebHost: Send + Sync + std::fmt::Debug {
    /// The tools that are switched on and can be used now.
    fn tools(&self) -> WebTools;

    /// Fetches one page within the bounds of the settings.
    ///
    /// # Errors
    /// The reason, worded for the model.
    async fn fetch(&self, request: WebFetch) -> Result<FetchedPage, ToolError>;

    /// Asks the search providers of the settings.
    ///
    /// # Errors
    /// No provider answered. The reason is worded for the model.
    async fn search(&self, request: WebSearch) -> Result<SearchAnswer, ToolError>;
}

/// A host without web tools.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoWeb;

#[async_trait]
impl WebHost for NoWeb {
    fn tools(&self) -> WebTools {
        WebTools::default()
    }

    async fn fetch(&self, _: WebFetch) -> Result<FetchedPage, ToolError> {
        let message = "this host fetches no pages";
        Err(ToolError::new(ToolErrorKind::WebFetchDisabled, message))
    }

    async fn search(&self, _: WebSearch) -> Result<SearchAnswer, ToolError> {
        let message = "this host asks no search providers";
        Err(ToolError::new(ToolErrorKind::ProviderUnavailable, message))
    }
}

/// A file of a home that was opened to be read once, part by part, from its beginning.
#[async_trait]
pub trait FileParts: Send + std::fmt::Debug {
    /// Length of the file when it was opened, in bytes.
    fn bytes(&self) -> u64;

    /// Reads at most `most` bytes behind what was read before. Nothing is returned at the end of the file.
    ///
    /// # Errors
    /// The reason, worded for the operator.
    async fn read_part(&mut self, most: usize) -> Result<Vec<u8>, String>;
}

/// Stores the plan files of work items in their agents' homes. The agent edits these files too, so their content cannot
/// be trusted; an implementation follows no link and reads at most `limits::PLAN_BYTES`.
#[async_trait]
pub trait PlanHost: Send + Sync + std::fmt::Debug {
    /// Writes the plan of an item atomically and describes the file.
    ///
    /// # Errors
    /// The reason, worded for the model.
    async fn write(
        &self,
        agent_home: &str,
        item: &WorkItemId,
        text: String,
        cancel: CancellationToken,
    ) -> Result<PlanArtifact, String>;

    /// Reads the plan of an item as it is now. `None` if no file can be read.
    async fn read(&self, agent_home: &str, item: &WorkItemId) -> Option<PlanArtifact>;

    /// Opens a regular file of a home, without following links; `None` if there is none. A host without files has none.
    ///
    /// # Errors
    /// The reason, worded for the operator.
    async fn open_file(
        &self,
        _agent_home: &str,
        _path: &str,
        _max_bytes: u64,
    ) -> Result<Option<Box<dyn FileParts>>, String> {
        Ok(None)
    }

    /// Lists the items that have a folder in a home.
    ///
    /// # Errors
    /// The reason why the folders cannot be listed.
    async fn list(&self, agent_home: &str) -> Result<Vec<WorkItemId>, String>;

    /// Removes the plan of an item that was never committed. Harmless when there is none.
    ///
    /// # Errors
    /// The reason why it cannot be removed.
    async fn remove(&self, agent_home: &str, item: &WorkItemId) -> Result<(), String>;
}

/// Reads the standing guidance of agents. Its files belong to projects and agents, so anything may be in their place;
/// an implementation follows no link and reads a bounded part.
#[async_trait]
pub trait GuidanceHost: Send + Sync + std::fmt::Debug {
    /// Reads the guidance as it is on disk now.
    async fn read(&self, roots: GuidanceRoots) -> Guidance;

    /// Returns the home of the user whom commands run as, which `~` and `$HOME` mean in them. `None` if it is not known.
    fn user_home(&self) -> Option<PathBuf>;

    /// Lists the skills in an agent's own root. Empty if they cannot be listed.
    async fn installed_skills(&self, agent_home: &str) -> Vec<InstalledSkill>;

    /// Installs a skill into an agent's home, completely or not at all. Runs nothing of it.
    ///
    /// # Errors
    /// When it is no skill, or one of its name is there.
    async fn install_skill(
        &self,
        agent_home: &str,
        source: SkillSource,
    ) -> Result<SkillInstallation, SkillFault>;

    /// Removes a skill from an agent's home, and returns the kind of its source if the runtime installed it.
    ///
    /// # Errors
    /// When there is none of this name.
    async fn uninstall_skill(
        &self,
        agent_home: &str,
        name: &str,
    ) -> Result<Option<SkillSourceKind>, SkillFault>;

    /// Says in which way the files of a skill differ from those that were installed. `None` if they do not, or the skill
    /// was not installed as a copy. `entrypoint` is the path of its `SKILL.md`.
    async fn skill_change(&self, entrypoint: &str) -> Option<String>;
}

/// Manages agents' homes. The command or patch that first needs a home creates it.
#[async_trait]
pub trait HomeHost: Send + Sync + std::fmt::Debug {
    /// Checks that the home exists or can be created, and records the directory the agent works in.
    async fn prepare(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String>;
    /// Creates the home of the default agent and its `AGENTS.md` if either is missing. Changes nothing that exists.
    async fn seed(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String>;
    /// Creates the home of an agent if there is none, and records the directory the agent works in. A home that exists is
    /// left as it is.
    ///
    /// # Errors
    /// When something else is in its place, or the filesystem refuses.
    async fn ensure(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }
    /// Makes the home of an agent that does not exist yet from a template, completely or not at all. The home counts as
    /// a leftover of an interrupted attempt until [`HomeHost::prepare`] has run.
    ///
    /// # Errors
    /// The reason, worded for the operator. Nothing was made.
    async fn make_from_template(&self, agent_home: &str, choice: &HomeChoice)
    -> Result<(), String>;
    /// Packs the home and the record of an agent into an archive without secrets.
    ///
    /// # Errors
    /// When there is more than an archive may hold, or the files cannot be read.
    async fn pack(&self, _order: PackOrder) -> Result<PackedArchive, ArchiveFault> {
        Err(ArchiveFault::unsupported())
    }
    /// Creates a file without a name for an archive that is being received.
    ///
    /// # Errors
    /// When the file cannot be created.
    async fn new_upload(&self) -> Result<File, ArchiveFault> {
        Err(ArchiveFault::unsupported())
    }
    /// Checks a whole archive. Makes nothing of it.
    ///
    /// # Errors
    /// When the archive breaks a rule of its format.
    async fn read_archive(&self, _file: File) -> Result<ReadArchive, ArchiveFault> {
        Err(ArchiveFault::unsupported())
    }
    /// Makes the home of an agent that does not exist yet from a checked archive, completely or not at all. The home
    /// counts as a leftover of an interrupted attempt until [`HomeHost::prepare`] has run.
    ///
    /// # Errors
    /// When the home exists, or the filesystem refuses. Nothing was made.
    async fn make_from_archive(
        &self,
        _agent_home: &str,
        _archive: ReadArchive,
    ) -> Result<(), ArchiveFault> {
        Err(ArchiveFault::unsupported())
    }
    /// Lists the homes that interrupted creations left behind, by the names of their agents. An agent with one of these
    /// names may exist, if it was stored and not prepared yet.
    async fn unconfirmed_homes(&self) -> Vec<AgentId> {
        Vec::new()
    }
    /// Removes the home and the records of the agent's commands and patches. Harmless when they are gone.
    async fn remove(&self, agent_id: &AgentId, agent_home: &str) -> Result<(), String>;
    /// Resolves the workspace a caller chose and checks it: the root exists, and the directory lies inside it.
    async fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String>;
}

/// Lists the agents of the host, with the directories in which they and their tasks work.
#[async_trait]
pub trait WorktreeUsers: Send + Sync + std::fmt::Debug {
    /// Lists every agent. An agent that cannot be read is an error: it may work in any directory.
    async fn list(&self) -> Result<Vec<WorktreeUser>, String>;
}

/// Right of an operator's request to make a workspace of one repository active. No clean-up removes worktrees of that
/// repository while it is held.
#[derive(Debug, Default)]
pub struct EntryGuard {
    _lock: Option<tokio::sync::OwnedMutexGuard<()>>,
}

impl EntryGuard {
    /// Wraps the lock of the repository.
    #[must_use]
    pub const fn new(lock: tokio::sync::OwnedMutexGuard<()>) -> Self {
        Self { _lock: Some(lock) }
    }
}

/// Looks at directories that are to become workspaces, and keeps the worktrees that the runtime makes.
#[async_trait]
pub trait WorkspaceHost: Send + Sync + std::fmt::Debug {
    /// Waits until no other request enters the repository of this order. The caller holds the guard from the look at the
    /// workspace to the commit that makes it active. A host without worktrees has nothing to guard.
    async fn enter(&self, _order: &WorkspaceOrder) -> EntryGuard {
        EntryGuard::default()
    }

    /// Looks at the workspace that an order names, and makes the worktree of an isolated one. Idempotent: the same order
    /// finds the worktree that it made before.
    async fn select(&self, order: WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure>;

    /// Looks at the directory that an order names by its path.
    async fn attach(&self, order: WorkspaceOrder) -> Result<AttachedWorkspace, WorkspaceFailure>;

    /// Looks at every managed worktree, and unless it is a dry run removes those without work in them. `users` are
    /// asked for each repository once no worktree of it can be made or entered until the end.
    async fn clean(
        &self,
        users: &dyn WorktreeUsers,
        dry_run: bool,
    ) -> Result<WorktreeReport, String>;

    /// Removes one managed worktree that its agent does not come back to, unless it holds work or is used. One that is
    /// gone counts as removed.
    async fn clean_one(
        &self,
        users: &dyn WorktreeUsers,
        path: &str,
    ) -> Result<CleanVerdict, String>;

    /// Looks at the host and at the repository around the current directory of a workspace, in a bounded time. The zone is
    /// left to the caller. A host that knows nothing of either says so.
    async fn place(&self, _workspace: &WorkspaceEntry) -> Place {
        Place::default()
    }

    /// Lists the files of a managed worktree that differ from the commit at which it began.
    async fn changed_files(&self, path: &str) -> Result<Vec<String>, String>;
}

/// Reads the wall clock and a monotonic clock, and sleeps.
#[async_trait]
pub trait Clock: Send + Sync + std::fmt::Debug {
    /// The time of the wall clock. It may jump in both directions.
    fn now(&self) -> Timestamp;
    /// Time since a fixed moment of this process by a monotonic clock. Used for durations and to detect steps of the
    /// wall clock.
    fn elapsed(&self) -> Duration;
    /// Returns once [`Clock::elapsed`] has reached `elapsed`. A step of the wall clock does not change that.
    async fn sleep_until(&self, elapsed: Duration);
}

/// Provides randomness; each commit takes a fresh source.
pub trait EntropySource: Send + Sync + std::fmt::Debug {
    /// Creates a source for one decision.
    fn source(&self) -> Box<dyn Entropy + Send>;
}

/// One implementation of every port.
#[derive(Debug, Clone)]
pub struct Ports {
    pub model: Arc<dyn ModelClient>,
    pub command: Arc<dyn CommandHost>,
    pub file: Arc<dyn FileHost>,
    pub plan: Arc<dyn PlanHost>,
    pub guidance: Arc<dyn GuidanceHost>,
    pub home: Arc<dyn HomeHost>,
    pub workspace: Arc<dyn WorkspaceHost>,
    pub outbound: Arc<dyn OutboundHost>,
    pub memory: Arc<dyn MemoryFiles>,
    pub web: Arc<dyn WebHost>,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn EntropySource>,
}
