//! The interface for reading. Nothing here can write or start work.

mod attachment;
mod context;
mod events;
mod figures;
mod labels;
mod memory;
mod policy;
mod prompt;
mod storage;
mod task;
mod usage;
mod work;

pub use attachment::AttachmentRead;
pub use context::TurnMeasure;
pub use figures::{HostActivity, HostFigures};
pub(crate) use labels::{BriefTexts, add_labels};
pub use storage::StorageSizes;
pub use work::{EntryFilter, WorkItemPage};

use crate::conditions::SharedConditions;
use crate::conduct::HistoryTerms;
use crate::deltas::Deltas;
use crate::error::Error;
use crate::memory::Memory;
use crate::model_request::ThreadTerms;
use crate::ports::{
    Clock, CommandHost, GuidanceHost, ModelClient, PlanHost, Ports, WebHost, WorkspaceHost,
};
use crate::stalled::StalledAgents;
use holon_core::summary;
use holon_domain::agent::{AgentRecord, Visibility};
use holon_domain::brief::BriefRecord;
use holon_domain::delivery::{DeliveryRoute, DeliveryTarget};
use holon_domain::delta::AssistantDelta;
use holon_domain::feed::FeedNotice;
use holon_domain::guidance::{GuidanceRoots, InstalledSkill, SkillCatalog};
use holon_domain::needs::Part;
use holon_domain::operator_transport::OperatorTransportBinding;
use holon_domain::queue::{MessageSeq, QueueView};
use holon_domain::request_key::TokenRecord;
use holon_domain::summary::{AgentListEntry, AgentSummary};
use holon_domain::task::TaskRecord;
use holon_domain::tool::ToolOutputBudget;
use holon_domain::transcript::TranscriptEntry;
use holon_domain::trigger::CapabilityKey;
use holon_domain::{AgentId, Timestamp, limits};
use holon_store::{AgentNo, FeedSource, LaneView, ListedAgent, Reader, Readers};
use std::sync::Arc;
use tokio::sync::broadcast;

/// Reads agents, their logs and their work. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ReadHandle {
    readers: Readers,
    facts: SharedConditions,
    model: Arc<dyn ModelClient>,
    plans: Arc<dyn PlanHost>,
    guidance: Arc<dyn GuidanceHost>,
    workspace: Arc<dyn WorkspaceHost>,
    web: Arc<dyn WebHost>,
    /// Only the output of commands is read by it.
    command: Arc<dyn CommandHost>,
    clock: Arc<dyn Clock>,
    /// Conceals tokens in the output of commands.
    capability_key: CapabilityKey,
    history_terms: HistoryTerms,
    thread_terms: ThreadTerms,
    tool_output: ToolOutputBudget,
    epoch: String,
    stalled: StalledAgents,
    feed: FeedSource,
    deltas: Deltas,
    memory: Memory,
}

/// The sources of what subscribers learn while it happens.
pub(crate) struct LiveFeeds {
    pub(crate) notices: FeedSource,
    pub(crate) deltas: Deltas,
}

impl ReadHandle {
    pub(crate) fn new(
        readers: Readers,
        facts: SharedConditions,
        ports: &Ports,
        epoch: String,
        stalled: StalledAgents,
        feeds: LiveFeeds,
    ) -> Self {
        let memory = Memory::new(Arc::new(readers.clone()), ports);
        Self {
            readers,
            facts,
            model: Arc::clone(&ports.model),
            plans: Arc::clone(&ports.plan),
            guidance: Arc::clone(&ports.guidance),
            workspace: Arc::clone(&ports.workspace),
            web: Arc::clone(&ports.web),
            command: Arc::clone(&ports.command),
            clock: Arc::clone(&ports.clock),
            capability_key: CapabilityKey::default(),
            history_terms: HistoryTerms::default(),
            thread_terms: ThreadTerms::default(),
            tool_output: ToolOutputBudget::default(),
            epoch,
            stalled,
            feed: feeds.notices,
            deltas: feeds.deltas,
            memory,
        }
    }

    /// Returns a handle whose reads do not wait for those of this one, for the pages of event streams: many that are
    /// opened at once would hold up other requests.
    #[must_use]
    pub fn for_streams(&self) -> Self {
        Self {
            readers: self.readers.for_another_purpose(),
            ..self.clone()
        }
    }

    /// Returns the handle with a service that shares its locks with the shell's.
    pub(crate) fn with_memory(self, memory: Memory) -> Self {
        Self { memory, ..self }
    }

    /// Returns the handle with the key by which it knows the tokens of the host.
    pub(crate) fn with_capability_key(self, capability_key: CapabilityKey) -> Self {
        Self {
            capability_key,
            ..self
        }
    }

    /// Returns the handle with the terms of retention.
    pub(crate) fn with_history_terms(self, history_terms: HistoryTerms) -> Self {
        Self {
            history_terms,
            ..self
        }
    }

    /// Returns the handle with the bounds of agents' threads.
    pub(crate) fn with_thread_terms(self, thread_terms: ThreadTerms) -> Self {
        Self {
            thread_terms,
            ..self
        }
    }

    /// Returns the handle with the share of a tool's output that a model reads.
    pub(crate) fn with_tool_output(self, tool_output: ToolOutputBudget) -> Self {
        Self {
            tool_output,
            ..self
        }
    }

    /// Returns the terms on which the oldest turns of agents are removed.
    #[must_use]
    pub const fn history_terms(&self) -> HistoryTerms {
        self.history_terms
    }

    /// Identity of this store, created with it. A changed epoch makes old cursors invalid.
    #[must_use]
    pub fn epoch(&self) -> &str {
        &self.epoch
    }

    /// Lists removed agents by name, each with the time of its removal.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn deleted_agents(&self, limit: u64) -> Result<Vec<(String, Timestamp)>, Error> {
        let read = self
            .readers
            .read(move |reader| reader.tombstones(page_size(limit)));
        Ok(read.await?)
    }

    /// Lists the named tokens of callers.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn tokens(&self) -> Result<Vec<TokenRecord>, Error> {
        Ok(self.readers.read(|reader| reader.tokens()).await?)
    }

    /// Returns the time of the host's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Lists the delivery targets of the host with their state.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn delivery_targets(&self) -> Result<Vec<(DeliveryTarget, LaneView)>, Error> {
        let read = |reader: &Reader<'_>| -> Result<Vec<_>, holon_store::Error> {
            let mut found = Vec::new();
            for target in reader.delivery_targets()? {
                let lanes = reader.delivery_lane(&target.route())?;
                found.push((target, lanes));
            }
            Ok(found)
        };
        Ok(self.readers.read(read).await?)
    }

    /// Lists the bindings of an agent with the state of their deliveries.
    ///
    /// # Errors
    /// When there is no such agent or storage fails.
    pub async fn operator_bindings(
        &self,
        agent_id: &AgentId,
    ) -> Result<Vec<(OperatorTransportBinding, LaneView)>, Error> {
        self.read_agent(agent_id, |reader, no, agent| {
            let with_lane = |binding: &OperatorTransportBinding| {
                let binding_id = binding.binding_id.clone();
                let lane = agent.outbox.lane(&DeliveryRoute::Binding { binding_id });
                let lane =
                    lane.map(|lane| reader.delivery_lane_of(no, &agent.identity.agent_id, lane));
                let lane = lane.transpose();
                lane.map(|lane| (binding.clone(), lane.unwrap_or_default()))
            };
            agent.operator_bindings.iter().map(with_lane).collect()
        })
        .await
    }

    /// Lists the public agents that are not archived.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn agents(&self) -> Result<Vec<AgentListEntry>, Error> {
        self.list_agents(|row| !is_archived(row)).await
    }

    /// Lists the archived agents.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn archived_agents(&self) -> Result<Vec<AgentListEntry>, Error> {
        self.list_agents(is_archived).await
    }

    async fn list_agents(
        &self,
        is_listed: impl Fn(&ListedAgent) -> bool,
    ) -> Result<Vec<AgentListEntry>, Error> {
        let rows = self.readers.agents().await?;
        let listed = rows.into_iter().filter(is_listed);
        Ok(listed.map(|row| self.list_entry(row)).collect())
    }

    fn list_entry(&self, listed: ListedAgent) -> AgentListEntry {
        let ListedAgent {
            agent_id,
            pending,
            record,
            aside,
            soonest,
        } = listed;
        match (record, aside) {
            (Ok(agent), None) => {
                let mut queue = QueueView::of_length(pending, 0);
                queue.soonest = Part::Loaded(soonest);
                let mut entry = summary::list_entry(&agent, &queue, &self.facts.now());
                self.stalled
                    .explain(&agent_id, &mut entry.scheduling_posture);
                entry
            }
            (Ok(_), Some(reason)) => summary::aside_entry(&agent_id, pending, &reason),
            (Err(error), aside) => {
                let reason = aside.unwrap_or_else(|| error.to_string());
                summary::aside_entry(&agent_id, pending, &reason)
            }
        }
    }

    /// Returns the status of one agent.
    ///
    /// # Errors
    /// When there is none, or storage fails.
    pub async fn status(&self, agent_id: &AgentId) -> Result<AgentSummary, Error> {
        let facts = self.facts.now();
        let (chain, ask) = (Arc::clone(&facts), Arc::clone(&self.model));
        let (agent, queue, policy, rows, aside) = self
            .read_agent(agent_id, move |reader, no, agent| {
                let model = chain.models.first(agent.model_override.as_ref());
                let policy = match model {
                    Some(model) => {
                        let stored = reader.model_limits(&model.to_string())?;
                        let learned = stored.at(ask.endpoint(model)).limits;
                        Some((model.clone(), ask.policy(model).with(learned)))
                    }
                    None => None,
                };
                let reader = &reader.passing_over();
                let aside = reader.aside(&agent.identity.agent_id)?;
                let tasks = reader.active_tasks(no)?;
                let work = work::status_rows(reader, no, &agent)?;
                let mut queue = reader.queue_lengths(no)?;
                let soonest = reader.soonest_due(no)?;
                queue.soonest = Part::Loaded(soonest);
                let occupants = match &agent.occupancy {
                    Some(held) => reader.occupants(&held.execution_root)?,
                    None => Vec::new(),
                };
                let children = task::children(reader, no, &agent, &tasks)?;
                let recent = work::recent_events(reader, no)?;
                let memory = memory::working_memory(reader, no, &agent)?;
                let rows = (tasks, work, occupants, children, recent, memory);
                Ok((agent, queue, policy, rows, aside))
            })
            .await?;
        let (tasks, (work, hints), occupants, children, recent, memory) = rows;
        let tasks = tasks.iter().map(TaskRecord::list_entry).collect();
        let mut summary = summary::summarise(&agent, &queue, tasks, &facts);
        summary.model.resolved_policy = policy.map(|(model, policy)| self.resolve(&model, policy));
        summary::add_children(&mut summary, children);
        summary::add_memory(&mut summary, memory.view(agent.totals.compactions));
        summary::add_work(&mut summary, work, hints);
        summary::add_recent(&mut summary, &recent);
        summary::warn_of_occupants(&mut summary, &occupants);
        let roots = self.guidance_roots(&agent);
        let guidance = self.guidance.read(roots).await;
        summary.loaded_agents_md = guidance.instructions.sources();
        summary.skills = guidance.skills;
        self.stalled
            .explain(agent_id, &mut summary.scheduling_posture);
        if let Some(reason) = aside {
            summary::put_aside(&mut summary, &reason);
        }
        Ok(summary)
    }

    /// Returns the roots of an agent's guidance, with the kind that it has under the host's settings.
    fn guidance_roots(&self, agent: &AgentRecord) -> GuidanceRoots {
        let identity = &agent.identity;
        let kind = self.facts.now().kind_of(&identity.agent_id, identity.kind);
        GuidanceRoots::of(agent, &agent.workspace).with_kind(kind)
    }

    /// Returns the skills that an agent can use, and those in its own root.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn skills(
        &self,
        agent_id: &AgentId,
    ) -> Result<(SkillCatalog, Vec<InstalledSkill>), Error> {
        let read = self.read_agent(agent_id, |_, _, agent| Ok(agent));
        let agent = read.await?;
        let roots = self.guidance_roots(&agent);
        let catalog = self.guidance.read(roots).await.skills;
        let installed = self.guidance.installed_skills(&agent.agent_home).await;
        Ok((catalog, installed))
    }

    /// Returns the newest briefs of an agent in ascending order.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn briefs(&self, agent_id: &AgentId, limit: u64) -> Result<Vec<BriefRecord>, Error> {
        self.read_agent(agent_id, move |reader, no, _| {
            reader.briefs(no, page_size(limit))
        })
        .await
    }

    /// Returns the newest transcript entries of an agent in ascending order.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn transcript(
        &self,
        agent_id: &AgentId,
        limit: u64,
    ) -> Result<Vec<TranscriptEntry>, Error> {
        self.read_agent(agent_id, move |reader, no, _| {
            reader.transcript(no, page_size(limit))
        })
        .await
    }

    /// Returns the brief that settled an operator's message, once it exists.
    ///
    /// # Errors
    /// When there is no such agent, or storage fails.
    pub async fn outcome(
        &self,
        agent_id: &AgentId,
        message_seq: MessageSeq,
    ) -> Result<Option<BriefRecord>, Error> {
        self.read_agent(agent_id, move |reader, no, _| {
            reader.outcome(no, message_seq)
        })
        .await
    }

    /// Subscribes to notices of all commits. A receiver that lags continues by cursor.
    #[must_use]
    pub fn subscribe(&self) -> broadcast::Receiver<FeedNotice> {
        self.feed.subscribe()
    }

    /// Subscribes to notices of the commits of public agents.
    #[must_use]
    pub fn subscribe_public(&self) -> broadcast::Receiver<FeedNotice> {
        self.feed.subscribe_public()
    }

    /// Subscribes to notices of the commits of one agent.
    #[must_use]
    pub fn subscribe_to(&self, agent_id: &AgentId) -> broadcast::Receiver<FeedNotice> {
        self.feed.subscribe_to(agent_id)
    }

    /// Subscribes to the text of an agent's answers while they arrive. A receiver that lags misses pieces.
    #[must_use]
    pub fn deltas(&self, agent_id: &AgentId) -> broadcast::Receiver<Arc<AssistantDelta>> {
        self.deltas.subscribe(agent_id)
    }

    /// Reads rows of one public agent in one transaction.
    async fn read_agent<T: Send + 'static>(
        &self,
        agent_id: &AgentId,
        read: impl FnOnce(&Reader<'_>, AgentNo, AgentRecord) -> Result<T, holon_store::Error>
        + Send
        + 'static,
    ) -> Result<T, Error> {
        let id = agent_id.clone();
        let found = self.readers.read(move |reader| match reader.agent(&id) {
            Ok(Some((no, agent))) if agent.identity.visibility == Visibility::Public => {
                match read(reader, no, agent) {
                    Err(error) if error.concerns_one_agent() => match reader.aside(&id)? {
                        Some(reason) => Ok(Err(Error::AgentAside {
                            agent_id: id,
                            reason,
                        })),
                        None => Ok(Err(Error::of_read(&id, error))),
                    },
                    read => read.map(Ok),
                }
            }
            Ok(Some(_) | None) => Ok(Err(Error::AgentNotFound { agent_id: id })),
            Err(error) if reader.is_public(&id)? => Ok(Err(Error::of_agent(&id, error))),
            Err(_) => Ok(Err(Error::AgentNotFound { agent_id: id })),
        });
        found.await?
    }
}

/// Returns true if an operator archived the agent. An unreadable one counts as not archived, so that it is shown.
pub(crate) fn is_archived(row: &ListedAgent) -> bool {
    let record = row.record.as_ref();
    record.is_ok_and(|record| record.archived_at.is_some())
}

fn page_size(limit: u64) -> usize {
    usize::try_from(limit.clamp(1, limits::EVENT_PAGE_MAX)).unwrap_or(1)
}
