//! The interface for changes. Every method returns after its commit is on disk.

mod archive;
mod binding;
mod budget;
mod context;
mod delivery;
mod images;
mod kept_reply;
mod once;
mod skills;
mod storage;
mod task;
mod token;
mod trigger;
mod work;
mod workspace;

pub use binding::BindingAddition;
pub use delivery::TargetMaking;
pub(crate) use once::{Once, once};
pub use storage::{PruneOrder, PruneReport};
pub use token::{TokenMaking, TokenRemoval};
pub use trigger::WebhookTerms;

use crate::error::Error;
use crate::meters::HostMeters;
use crate::request::{AdmittedMessage, CreateAgent, HomeChoice, Ingress, WorkspaceChoice};
use crate::shell::{Sender, Shell};
use holon_core::input::{AfterAbort, NewAgent};
use holon_core::{Input, Reply, admission, lifecycle};
use holon_domain::agent::{
    AgentIdentity, AgentKind, AgentRecord, IdentityView, Ownership, ProfilePreset, Visibility,
};
use holon_domain::model::{ModelChoice, ModelRef};
use holon_domain::request_key::RequestKey;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, RunId, TaskId};
use holon_store::Readers;
use std::sync::Arc;
use tokio::sync::Mutex;

/// Reason for which a template is refused for an agent that exists.
pub(crate) const TEMPLATE_OF_EXISTING: &str =
    "it exists already, and a template or seed makes a new agent only";

/// Changes agents and their work. Cheap to clone. Every method returns after its commit is on disk.
#[derive(Debug, Clone)]
pub struct ControlHandle {
    shell: Shell,
    /// For answers to callers only; no effect depends on what is read here.
    readers: Readers,
    agents_dir: Arc<str>,
    default_agent: Arc<AgentId>,
    /// Held while an agent is created from a template or an archive, so that its home and its row are made together.
    creating: Arc<Mutex<()>>,
    /// Held while a binding is made or revoked, so that it and its secret change together.
    binding: Arc<Mutex<()>>,
    /// Key of the request that this handle serves. Absent if the caller gave none.
    request: Option<Arc<RequestKey>>,
}

impl ControlHandle {
    pub(crate) fn new(
        shell: Shell,
        readers: Readers,
        agents_dir: String,
        default_agent: AgentId,
    ) -> Self {
        Self {
            shell,
            readers,
            agents_dir: agents_dir.into(),
            default_agent: Arc::new(default_agent),
            creating: Arc::default(),
            binding: Arc::default(),
            request: None,
        }
    }

    /// Returns a handle for one request with this key: its decision is made once, and a repetition gets the same reply.
    #[must_use]
    pub fn for_request(&self, key: RequestKey) -> Self {
        Self {
            request: Some(Arc::new(key)),
            ..self.clone()
        }
    }

    /// Returns the key of the request that this handle serves.
    pub(crate) const fn request_key(&self) -> Option<&Arc<RequestKey>> {
        self.request.as_ref()
    }

    pub(crate) const fn shell(&self) -> &Shell {
        &self.shell
    }

    pub(crate) const fn readers(&self) -> &Readers {
        &self.readers
    }

    /// Returns true once recovery is done. Before that, no other method may be called.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.shell.is_up()
    }

    /// Returns a look at the figures of the host.
    #[must_use]
    pub fn meters(&self) -> HostMeters {
        HostMeters::new(self.shell.clone())
    }

    /// The error for requests cut off by the end of the host: it is shutting down, or its store is lost.
    #[must_use]
    pub fn shutdown_error(&self) -> Error {
        self.shell.shutdown_error()
    }

    /// Creates an agent. Idempotent: repeating the same request returns the existing agent.
    ///
    /// # Errors
    /// When the name is taken differently, the workspace or model cannot be used, or storage fails.
    pub async fn create_agent(&self, request: CreateAgent) -> Result<IdentityView, Error> {
        let CreateAgent {
            agent_id,
            workspace,
            home,
            model,
        } = request;
        let kind = if agent_id == *self.default_agent {
            AgentKind::Default
        } else {
            AgentKind::Named
        };
        let identity = AgentIdentity {
            agent_id,
            kind,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            root_agent_id: None,
        };
        let new = self.new_agent(identity.clone(), &workspace, model).await?;
        let _alone = if home.is_empty() {
            None
        } else {
            Some(self.creating.lock().await)
        };
        if let Some(found) = self.find(&identity.agent_id).await? {
            return accept_existing(&found, &new, &workspace, &home);
        }
        self.check_reserved(&new.workspace)?;
        if !home.is_empty() {
            return self.create_with_home(new, &home).await;
        }
        match self.shell.create(new.clone()).await {
            Ok(()) => Ok(IdentityView::created(identity, new.agent_home)),
            // Another caller created the agent between the read and the commit.
            Err(Error::AgentConflict { .. }) => match self.find(&identity.agent_id).await? {
                Some(found) => accept_existing(&found, &new, &workspace, &home),
                None => Err(Error::Overloaded),
            },
            Err(error) => Err(error),
        }
    }

    /// Makes the home of a new agent from a template, and then the agent. The home is removed if the agent cannot be
    /// made; a crash in between leaves a home that the next attempt replaces.
    async fn create_with_home(
        &self,
        new: NewAgent,
        choice: &HomeChoice,
    ) -> Result<IdentityView, Error> {
        let (identity, agent_home) = (new.identity.clone(), new.agent_home.clone());
        let home = &self.shell.ports.home;
        let made = home.make_from_template(&agent_home, choice).await;
        made.map_err(|message| Error::Template { message })?;
        holon_fault::hit("template.applied");
        match self.shell.create(new).await {
            Ok(()) => Ok(IdentityView::created(identity, agent_home)),
            // The commit may have taken effect, so the home must stay.
            Err(error @ (Error::CommitUnknown | Error::StoreLost { .. } | Error::ShuttingDown)) => {
                Err(error)
            }
            // Another caller created the agent meanwhile: the home is that agent's.
            Err(error @ Error::AgentConflict { .. }) => Err(error),
            Err(error) => {
                if let Err(reason) = home.remove(&identity.agent_id, &agent_home).await {
                    tracing::warn!(
                        agent_home,
                        reason,
                        "the home of an agent that was not made stays"
                    );
                }
                Err(error)
            }
        }
    }

    /// Resolves and checks the workspace and model of a new agent.
    pub(crate) async fn new_agent(
        &self,
        identity: AgentIdentity,
        workspace: &WorkspaceChoice,
        model: Option<ModelRef>,
    ) -> Result<NewAgent, Error> {
        let agent_home = format!("{}/{}", self.agents_dir, identity.agent_id);
        let workspace = self.workspace(workspace, &agent_home).await?;
        if let Some(model) = &model {
            self.check(model).await?;
        }
        let new = NewAgent {
            identity,
            agent_home,
            workspace,
            model,
            run: None,
        };
        lifecycle::check_new(&new, self.now())?;
        Ok(new)
    }

    pub(crate) async fn workspace(
        &self,
        choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, Error> {
        self.shell
            .ports
            .home
            .workspace(choice, agent_home)
            .await
            .map_err(|message| Error::Workspace { message })
    }

    /// Refuses a workspace from which a command could remove the host's own records. Only for workspaces that are new
    /// to their agent.
    pub(crate) fn check_reserved(&self, workspace: &WorkspaceEntry) -> Result<(), Error> {
        let facts = self.shell.kernel.conditions().now();
        match facts.reserved.find_overlap(workspace) {
            Some(reserved) => Err(Error::WorkspaceReserved {
                workspace: workspace.execution_root.clone(),
                reserved: reserved.display().to_string(),
            }),
            None => Ok(()),
        }
    }

    pub(crate) async fn find(&self, agent_id: &AgentId) -> Result<Option<AgentRecord>, Error> {
        let id = agent_id.clone();
        let read = self.readers.read(move |reader| reader.agent(&id));
        let found = self.shell.read_or_put_aside(agent_id, read).await?;
        Ok(found.map(|(_, agent)| agent))
    }

    /// Adds a message to an agent's queue.
    ///
    /// # Errors
    /// When there is no such agent, admission refuses it or storage fails; then nothing was written.
    pub async fn admit(
        &self,
        agent_id: &AgentId,
        ingress: Ingress,
    ) -> Result<AdmittedMessage, Error> {
        self.admit_from(Sender::Client, agent_id, ingress).await
    }

    /// Admits a message that a command of the agent sends to its own agent. Its authority is at most that of the turn
    /// that started the command.
    ///
    /// # Errors
    /// As for [`ControlHandle::admit`].
    pub async fn admit_from_command(
        &self,
        agent_id: &AgentId,
        task_id: TaskId,
        mut ingress: Ingress,
    ) -> Result<AdmittedMessage, Error> {
        self.shell.conceal(agent_id, &mut ingress).await;
        let input = Input::FromCommand {
            task_id,
            ingress: Box::new(ingress),
        };
        read_admission(agent_id, self.submit(agent_id, input).await?)
    }

    pub(crate) async fn admit_from(
        &self,
        sender: Sender,
        agent_id: &AgentId,
        mut ingress: Ingress,
    ) -> Result<AdmittedMessage, Error> {
        self.shell.conceal(agent_id, &mut ingress).await;
        let input = Input::Admit(Box::new(ingress));
        let key = match sender {
            Sender::Client => self.request.as_ref(),
            Sender::OwnRun | Sender::Runtime => None,
        };
        let submitted = self.shell.submit_keyed(agent_id, sender, key, input).await;
        read_admission(agent_id, submitted?)
    }

    /// Admits the message of a run with a temporary agent, and keeps `begun` under the key of its request in the same
    /// commit.
    pub(crate) async fn admit_run(
        &self,
        agent_id: &AgentId,
        key: &Arc<RequestKey>,
        begun: String,
        mut ingress: Ingress,
    ) -> Result<AdmittedMessage, Error> {
        self.shell.conceal(agent_id, &mut ingress).await;
        let input = Input::Admit(Box::new(ingress));
        let submitted = self.shell.submit_run(agent_id, key, begun, input).await;
        read_admission(agent_id, submitted?)
    }

    /// Starts a stopped agent, and brings back one that was put aside. That may be a private child too: nobody but the
    /// operator can mend its rows, and its parent cannot start it.
    ///
    /// # Errors
    /// When there is no such agent, it still cannot be read, or storage fails.
    pub async fn start_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        match self.submit(agent_id, Input::Start).await {
            Err(Error::AgentAside { .. }) => self.shell.take_back(agent_id).await?,
            Err(Error::AgentNotFound { .. }) if self.is_child_aside(agent_id).await? => {
                self.shell.take_back(agent_id).await?
            }
            other => other?,
        };
        // The due loop skipped the entries of an agent that was put aside.
        self.shell.wake_due_loop();
        Ok(())
    }

    async fn is_child_aside(&self, agent_id: &AgentId) -> Result<bool, Error> {
        let id = agent_id.clone();
        let read = self.readers.read(move |reader| reader.is_child_aside(&id));
        Ok(read.await?)
    }

    /// Removes an agent with all its data. Returns once the request is committed; the removal itself continues in the
    /// background. Repeating the request changes nothing, or retries at once if the removal waits after a failure.
    ///
    /// # Errors
    /// When there is no such agent or storage fails.
    pub async fn remove_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        match self.submit(agent_id, Input::Delete).await {
            // An agent that is put aside cannot decide about its own removal.
            Err(Error::AgentAside { .. }) => {
                let (shell, agent_id) = (self.shell.clone(), agent_id.clone());
                let home = format!("{}/{agent_id}", self.agents_dir);
                self.shell.spawn(async move {
                    shell.remove_if_aside(&agent_id, Some(&home)).await;
                });
                Ok(())
            }
            other => other.map(|_| ()),
        }
    }

    async fn submit(&self, agent_id: &AgentId, input: Input) -> Result<Reply, Error> {
        let key = self.request.as_ref();
        self.shell
            .submit_keyed(agent_id, Sender::Client, key, input)
            .await
    }

    /// Stops an agent: its run is aborted, its queue is kept.
    ///
    /// # Errors
    /// When there is no such agent or storage fails.
    pub async fn stop_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        self.submit(agent_id, Input::Stop).await.map(|_| ())
    }

    /// Archives an agent: it is stopped for good and no longer listed, and its history can be read.
    ///
    /// # Errors
    /// When there is no such agent, it is being removed, or storage fails.
    pub async fn archive_agent(&self, agent_id: &AgentId) -> Result<(), Error> {
        self.submit(agent_id, Input::Archive).await.map(|_| ())
    }

    /// Aborts the current run of an agent, and returns its id. With a `run_id`, only this run is aborted.
    ///
    /// # Errors
    /// When there is no such agent, it runs nothing or another run, or storage fails.
    pub async fn abort_run(
        &self,
        agent_id: &AgentId,
        run_id: Option<RunId>,
        then: AfterAbort,
    ) -> Result<RunId, Error> {
        match self.submit(agent_id, Input::Abort { run_id, then }).await? {
            Reply::Aborted { run_id } => Ok(run_id),
            other => Err(Error::Internal {
                message: format!("an abort was answered by {other:?}"),
            }),
        }
    }

    /// Sets the model an agent uses from its next turn on. An open turn keeps its model, except that a suspended
    /// turn asks the new one at once.
    ///
    /// # Errors
    /// When the model or one of its fallbacks cannot be asked, there is no such agent, or storage fails; then nothing
    /// changed.
    pub async fn set_model(&self, agent_id: &AgentId, choice: ModelChoice) -> Result<(), Error> {
        match &choice {
            ModelChoice::Use { model, options } => {
                self.check(model).await?;
                for fallback in options.fallback_models.iter().flatten() {
                    self.check(fallback).await?;
                }
            }
            ModelChoice::Inherit => {}
        }
        let input = Input::Configure {
            workspace: None,
            model: Some(choice),
        };
        self.submit(agent_id, input).await.map(|_| ())
    }

    /// Refuses a model that cannot be called.
    pub(crate) async fn check(&self, model: &ModelRef) -> Result<(), Error> {
        self.check_any(std::slice::from_ref(model)).await
    }

    /// Refuses a request if none of these models can be called.
    pub(crate) async fn check_any(&self, models: &[ModelRef]) -> Result<(), Error> {
        let mut checks = Vec::new();
        for model in models {
            let check = self.shell.ports.model.check(model).await;
            let is_usable = check.is_ok();
            checks.push(check);
            if is_usable {
                break;
            }
        }
        Ok(admission::judge_models(&checks)?)
    }
}

/// Reads the reply to an admission.
fn read_admission(agent_id: &AgentId, reply: Reply) -> Result<AdmittedMessage, Error> {
    match reply {
        Reply::Admitted {
            message_id,
            message_seq,
            log_end,
        } => Ok(AdmittedMessage {
            agent_id: agent_id.clone(),
            message_id,
            message_seq,
            log_end,
        }),
        other => Err(Error::Internal {
            message: format!("an admission was answered by {other:?}"),
        }),
    }
}

fn accept_existing(
    found: &AgentRecord,
    wanted: &NewAgent,
    choice: &WorkspaceChoice,
    home: &HomeChoice,
) -> Result<IdentityView, Error> {
    let agent_id = found.identity.agent_id.clone();
    if found.identity.visibility != Visibility::Public {
        let reason = "the name is taken".to_owned();
        return Err(Error::AgentConflict { agent_id, reason });
    }
    if found.archived_at.is_some() {
        let reason = "it is archived".to_owned();
        return Err(Error::AgentConflict { agent_id, reason });
    }
    if !home.is_empty() {
        let reason = TEMPLATE_OF_EXISTING.to_owned();
        return Err(Error::AgentConflict { agent_id, reason });
    }
    if !choice.is_empty() && found.workspace != wanted.workspace {
        let reason = format!("it works in {}", found.workspace.cwd);
        return Err(Error::AgentConflict { agent_id, reason });
    }
    if wanted.model.is_some() && found.model_override != wanted.model {
        let model = found
            .model_override
            .as_ref()
            .map_or_else(|| "the default model".to_owned(), ToString::to_string);
        return Err(Error::AgentConflict {
            agent_id,
            reason: format!("it asks {model}"),
        });
    }
    Ok(IdentityView {
        created: Some(false),
        ..found.identity_view()
    })
}
