//! Shows an agent's last prompt again, or that of an earlier turn, from the rows that a later request of its turn would
//! use; or drafts the next one.

use super::ReadHandle;
use crate::error::Error;
use crate::model_request::{
    kept_frame, kept_memory, needs_brief_tools, offered_tools, prompt_budget, shown_children,
    tasks_running_at, thread_of,
};
use holon_core::Rejection;
use holon_domain::agent::AgentRecord;
use holon_domain::authority::{AuthorityClass, TrustLevel};
use holon_domain::guidance::Guidance;
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageEnvelope, MessageKind, Origin, Priority,
};
use holon_domain::model::{ConversationItem, ModelRef, Stability};
use holon_domain::place::Place;
use holon_domain::prompt_plan::{BlockCut, BlockDecision, BlockOutcome, BlockSource};
use holon_domain::prompt_view::{
    CacheMark, DraftPrompt, PromptBlockView, PromptView, RoundCacheUse, ShownPrompt, ThreadPart,
    TurnPart, TurnPartKind,
};
use holon_domain::provider::{ModelPolicy, PolicySource};
use holon_domain::summary::ExecutionPolicy;
use holon_domain::tool_set::ToolSet;
use holon_domain::trigger::TriggerRecord;
use holon_domain::web::WebTools;
use holon_domain::{AgentId, MessageId, Timestamp};
use holon_prompt::thread::Thread;
use holon_prompt::{ExplainedPart, FrameInput, Memory, PlanFile, Tasks, Work};
use holon_store::{DraftRows, PromptRows, RoundUsage, StoredPrompt};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The rows of a prompt with the limits of its model.
struct AskedPrompt {
    rows: PromptRows,
    model: ModelRef,
    policy: ModelPolicy,
}

impl ReadHandle {
    /// Returns the prompt of a turn, or of the agent's last answered one, with the decision about each of its parts.
    ///
    /// # Errors
    /// When there is no such agent or turn, or storage fails.
    pub async fn prompt(
        &self,
        agent_id: &AgentId,
        turn_index: Option<u64>,
    ) -> Result<PromptView, Error> {
        let ask = Arc::clone(&self.model);
        let read = self.read_agent(agent_id, move |reader, no, agent| {
            let Some(StoredPrompt { rounds, rows }) =
                reader.prompt(no, &agent.thread, turn_index)?
            else {
                return Ok(None);
            };
            let model = rounds.first().and_then(last_model);
            let asked = match rows.zip(model) {
                Some((rows, model)) => {
                    let stored = reader.model_limits(&model.to_string())?;
                    let learned = stored.at(ask.endpoint(&model)).limits;
                    let policy = ask.policy(&model).with(learned);
                    Some(AskedPrompt {
                        rows,
                        model,
                        policy,
                    })
                }
                None => None,
            };
            Ok(Some((agent, rounds, asked)))
        });
        let found = read.await?;
        let (agent, rounds, asked) = found.ok_or_else(|| Rejection::NoSuchTurn {
            agent_id: agent_id.clone(),
        })?;
        let roots = self.guidance_roots(&agent);
        let found = self.guidance.read(roots).await.instructions.sources();
        let loaded_agents_md = match &asked {
            Some(asked) => holon_prompt::shown_sources(&asked.rows.texts.agent_scoped, found),
            None => found,
        };
        Ok(PromptView {
            agent_id: agent_id.clone(),
            agent_home: agent.agent_home.clone(),
            workspace_id: agent.workspace.workspace_id.clone(),
            workspace_anchor: agent.workspace.workspace_anchor.clone(),
            execution_root: agent.workspace.execution_root.clone(),
            cwd: agent.workspace.cwd.clone(),
            execution_policy: ExecutionPolicy::host_local(),
            loaded_agents_md,
            prompt: asked.map(|asked| show(&agent, &asked, self.web.tools())),
            rounds: rounds.iter().map(cache_use).collect(),
        })
    }
}

/// A text that would open a turn, with what the turn would show beside it.
pub(super) struct DraftedTurn {
    pub(super) agent: AgentRecord,
    pub(super) rows: DraftRows,
    pub(super) model: ModelRef,
    pub(super) policy: ModelPolicy,
    pub(super) triggers: Vec<TriggerRecord>,
}

/// What is read from disk for a draft.
struct DraftFiles {
    guidance: Guidance,
    place: Place,
}

impl ReadHandle {
    /// Returns the prompt that an agent's next turn would begin with, if an operator sent this text now. Nothing is
    /// stored, and no model is asked.
    ///
    /// # Errors
    /// When there is no such agent, no model is configured, or storage fails.
    pub async fn draft_prompt(
        &self,
        agent_id: &AgentId,
        text: String,
        trust: Option<TrustLevel>,
    ) -> Result<DraftPrompt, Error> {
        let (facts, ask) = (self.facts.now(), Arc::clone(&self.model));
        let read = self.read_agent(agent_id, move |reader, no, agent| {
            let Some(model) = facts.models.first(agent.model_override.as_ref()).cloned() else {
                return Ok(None);
            };
            let stored = reader.model_limits(&model.to_string())?;
            let learned = stored.at(ask.endpoint(&model)).limits;
            Ok(Some(DraftedTurn {
                rows: reader.draft_rows(no, &agent)?,
                policy: ask.policy(&model).with(learned),
                triggers: reader.passing_over().triggers(no)?,
                agent,
                model,
            }))
        });
        let drafted = read.await?.ok_or(Rejection::NoModel)?;
        // The text would be stored without tokens. A reader gets the id of a trigger in place of its token.
        let text = self.capability_key.conceal(&text, &[]);
        let text = self.capability_key.conceal_parts(&text, &drafted.triggers);
        let text = text.into_owned();
        let now = self.clock.now();
        let current = operator_message(agent_id, text, trust, now);
        Ok(self.draft_with(&drafted, &current, now).await)
    }

    /// Drafts the prompt that a message would begin.
    pub(super) async fn draft_with(
        &self,
        drafted: &DraftedTurn,
        current: &MessageEnvelope,
        now: Timestamp,
    ) -> DraftPrompt {
        let roots = self.guidance_roots(&drafted.agent);
        let files = DraftFiles {
            guidance: self.guidance.read(roots).await,
            place: Place {
                zone: self.facts.now().operator_zone.clone(),
                ..self.workspace.place(&drafted.agent.workspace).await
            },
        };
        draft(drafted, self.web.tools(), &files, current, now)
    }
}

/// Returns the message of an operator that is not stored. It has an id that no stored message has.
pub(super) fn operator_message(
    agent_id: &AgentId,
    text: String,
    trust: Option<TrustLevel>,
    now: Timestamp,
) -> MessageEnvelope {
    let kind = MessageKind::OperatorPrompt;
    let authority = trust.map_or(AuthorityClass::OperatorInstruction, AuthorityClass::from);
    MessageEnvelope {
        id: MessageId::from_stored("msg_draft"),
        agent_id: agent_id.clone(),
        created_at: now,
        kind,
        origin: Origin::Operator { actor_id: None },
        trust: TrustLevel::from(authority),
        authority_class: authority,
        priority: Priority::Interject,
        cause: None,
        trigger_kind: kind.trigger(),
        work_item_id: None,
        resumes: None,
        waits: Vec::new(),
        task_id: None,
        source_refs: BTreeMap::new(),
        body: Body::Text { text },
        images: Vec::new(),
        metadata: None,
        delivery_surface: DeliverySurface::HttpControlPrompt,
        admission_context: AdmissionContext::ControlAuthenticated,
        correlation_id: None,
        causation_id: None,
    }
}

fn draft(
    drafted: &DraftedTurn,
    web: WebTools,
    files: &DraftFiles,
    current: &MessageEnvelope,
    now: Timestamp,
) -> DraftPrompt {
    let DraftedTurn {
        agent,
        rows,
        model,
        policy,
        triggers: _,
    } = drafted;
    let thread = thread_of(agent, &agent.thread, &rows.past);
    let tasks = tasks_running_at(&rows.tasks, now);
    let children = shown_children(&rows.children);
    let preset = agent.identity.profile_preset;
    let [whole, brief] =
        [false, true].map(|is_brief| offered_tools(preset, *policy, web, is_brief));
    let input = FrameInput {
        agent,
        guidance: &files.guidance,
        place: &files.place,
        model,
        answer_tokens: policy.max_output_tokens,
        turn_index: rows.turn_index,
        current,
        waits: &current.waits,
        operator: rows
            .operator
            .as_ref()
            .filter(|(seq, _)| !thread.shows_operator_message(*seq))
            .map(|(_, message)| message),
        base: rows.past.base.as_ref(),
        work: Work::Rows(&rows.work, &PlanFile::Known),
        memory: Memory::Rows(&rows.memory.state),
        tasks: Tasks::Rows(&tasks),
        children: &children,
        now,
        late: None,
        tools: &whole,
        budget_tokens: prompt_budget(*policy).saturating_sub(tokens_u32(thread.tokens())),
        budget_is_assumed: policy.source == PolicySource::UnknownFallback,
        is_refused: false,
        // Only a turn that the runtime itself begins repairs another.
        repairs: None,
    };
    let built = holon_prompt::build(&input);
    let tools = if needs_brief_tools(&built, input.budget_is_assumed) {
        &brief
    } else {
        &whole
    };
    let input = FrameInput { tools, ..input };
    let parts = holon_prompt::explain(&input, None);
    let blocks: Vec<PromptBlockView> = parts.into_iter().map(block).collect();
    let shown = blocks.iter().filter(|block| block.text.is_some());
    DraftPrompt {
        turn_index: rows.turn_index,
        model_ref: model.to_string(),
        policy: *policy,
        budget_tokens: prompt_budget(*policy),
        tools_tokens: estimated_tokens(tools),
        thread: shown_thread(&thread),
        prompt_tokens: shown.map(|block| u64::from(block.decision.to_tokens)).sum(),
        blocks,
    }
}

/// Returns the model of a round; `None` if another build spelled it in a way that this one does not read.
fn last_model(round: &RoundUsage) -> Option<ModelRef> {
    ModelRef::parse(&round.model_ref).ok()
}

fn cache_use(round: &RoundUsage) -> RoundCacheUse {
    RoundCacheUse::new(
        round.turn_index,
        round.round,
        &round.usage,
        round.context_management,
        round.overlap,
    )
}

fn show(agent: &AgentRecord, asked: &AskedPrompt, web: WebTools) -> ShownPrompt {
    let AskedPrompt {
        rows,
        model,
        policy,
    } = asked;
    let thread = thread_of(agent, &rows.thread, &rows.past);
    // A refusal for length makes the tools and the budget of an open turn smaller.
    let turn = agent.open_turn.as_ref();
    let turn = turn.filter(|turn| turn.turn_index == rows.turn_index);
    let ceiling = turn.and_then(|turn| turn.prompt_ceiling);
    let most = ceiling.map_or(u32::MAX, |ceiling| {
        u32::try_from(ceiling.tokens).unwrap_or(u32::MAX)
    });
    let is_brief = rows.frame.brief_tools || ceiling.is_some();
    let tools = offered_tools(agent.identity.profile_preset, *policy, web, is_brief);
    let recorded = RecordedSize::of(&rows.frame);
    let budget_tokens = recorded.map_or_else(|| prompt_budget(*policy), |size| size.budget_tokens);
    let input = FrameInput {
        agent,
        guidance: &Guidance::default(),
        place: &Place::default(),
        model,
        answer_tokens: policy.max_output_tokens,
        turn_index: rows.turn_index,
        current: &rows.current,
        waits: &rows.frame.waits,
        operator: rows.operator.as_ref(),
        base: None,
        work: Work::Kept(rows.texts.work.as_deref()),
        memory: kept_memory(&rows.texts),
        tasks: Tasks::Kept(rows.texts.tasks.as_deref()),
        children: &[],
        repairs: rows.texts.repairs,
        now: rows.texts.opened_at.unwrap_or(rows.started_at),
        late: rows.texts.late_tick,
        tools: &tools,
        budget_tokens: budget_tokens.min(most),
        // The cuts are on record, so the limits of now make no others.
        budget_is_assumed: ceiling.is_none()
            && (recorded.is_some() || policy.source == PolicySource::UnknownFallback),
        is_refused: ceiling.is_some(),
    };
    let parts = holon_prompt::explain(&input, Some(kept_frame(&rows.texts)));
    let earlier = cuts_before(&rows.frame.cuts, &parts);
    let blocks: Vec<PromptBlockView> = parts.into_iter().map(block).chain(earlier).collect();
    let shown = blocks.iter().filter(|block| block.text.is_some());
    let turn_parts =
        holon_prompt::conversation::explain(&rows.entries, &rows.joined, holon_tools::receipt);
    let tools_tokens = recorded.filter(|_| ceiling.is_none()).map_or_else(
        || estimated_tokens(&tools),
        |size| u64::from(size.tools_tokens),
    );
    let cache_marks = cache_marks(&blocks, tools_tokens);
    ShownPrompt {
        turn_index: rows.turn_index,
        model_ref: model.to_string(),
        policy: *policy,
        budget_tokens: input.budget_tokens,
        tools_tokens,
        fixed_tokens: cache_marks.last().map_or(tools_tokens, |mark| mark.tokens),
        cache_marks,
        prompt_tokens: shown.map(|block| u64::from(block.decision.to_tokens)).sum(),
        prompt_cache_key: rows.frame.prompt_cache_key.clone(),
        context_fingerprint: rows.frame.context_fingerprint.clone(),
        working_memory_revision: rows.frame.working_memory_revision,
        compression_epoch: rows.frame.compression_epoch + recaps(&rows.entries),
        thread: shown_thread(&thread),
        turn_tokens: shown_tokens(&turn_parts),
        turn_parts,
        blocks,
    }
}

/// Returns the marks inside the lasting text: behind the policy, behind the lasting text of the agent, and behind the facts
/// about its surroundings, which are the blocks of the system text.
fn cache_marks(blocks: &[PromptBlockView], tools_tokens: u64) -> Vec<CacheMark> {
    let mut tokens = tools_tokens;
    let mut marks: Vec<(Stability, bool, CacheMark)> = Vec::new();
    for block in blocks.iter().filter(|block| block.text.is_some()) {
        let decision = &block.decision;
        if decision.stability == Stability::TurnScoped {
            continue;
        }
        tokens += u64::from(decision.to_tokens);
        let own = decision.source == BlockSource::Surroundings;
        let mark = CacheMark {
            after: decision.source,
            tokens,
        };
        match marks.last_mut() {
            Some((stability, is_own, last))
                if *stability == decision.stability && *is_own == own =>
            {
                *last = mark;
            }
            Some(_) | None => marks.push((decision.stability, own, mark)),
        }
    }
    marks.into_iter().map(|(_, _, mark)| mark).collect()
}

/// What the first request of a turn could take, and its tools took of that.
#[derive(Debug, Clone, Copy)]
struct RecordedSize {
    budget_tokens: u32,
    tools_tokens: u32,
}

impl RecordedSize {
    /// Returns the sizes on record; `None` in entries of earlier builds.
    fn of(frame: &FrameRecord) -> Option<Self> {
        (frame.budget_tokens > 0).then_some(Self {
            budget_tokens: frame.budget_tokens,
            tools_tokens: frame.tools_tokens,
        })
    }
}

/// Lists the earlier turns that a prompt shows, with their sizes.
fn shown_thread(thread: &Thread) -> Vec<ThreadPart> {
    let turns = thread.shown_turns();
    let parts = turns.iter().map(|turn| ThreadPart {
        turn_index: turn.turn_index,
        items: turn.items.len(),
        tokens: u64::try_from(turn.tokens).unwrap_or(u64::MAX),
        text: match turn.items.first() {
            Some(ConversationItem::User { text }) if turn.turn_index.is_none() => {
                Some(text.clone())
            }
            Some(_) | None => None,
        },
    });
    parts.collect()
}

fn tokens_u32(tokens: usize) -> u32 {
    u32::try_from(tokens).unwrap_or(u32::MAX)
}

fn estimated_tokens(tools: &ToolSet) -> u64 {
    u64::try_from(tools.estimated_tokens()).unwrap_or(u64::MAX)
}

/// Counts the recaps of a turn.
fn recaps(entries: &[LogEntry]) -> u64 {
    let recaps = entries
        .iter()
        .filter(|entry| matches!(entry, LogEntry::Recap(_)));
    u64::try_from(recaps.count()).unwrap_or(u64::MAX)
}

fn shown_tokens(parts: &[TurnPart]) -> u64 {
    let shown = parts
        .iter()
        .filter(|part| part.kind != TurnPartKind::ReplacedRecap);
    shown.map(|part| part.tokens).sum()
}

fn block(part: ExplainedPart) -> PromptBlockView {
    PromptBlockView {
        decision: part.decision,
        text: part.text,
    }
}

/// Lists the cuts of the first request inside the texts that later requests repeat as a whole.
fn cuts_before<'a>(
    cuts: &'a [BlockCut],
    parts: &[ExplainedPart],
) -> impl Iterator<Item = PromptBlockView> + use<'a> {
    let known: Vec<_> = parts.iter().map(|part| part.decision.source).collect();
    let unknown = cuts.iter().filter(move |cut| !known.contains(&cut.source));
    unknown.map(|cut| {
        let reason = cut.reason;
        let outcome = if cut.to == 0 {
            BlockOutcome::Cut { reason }
        } else {
            BlockOutcome::Shortened { reason }
        };
        PromptBlockView {
            decision: BlockDecision {
                source: cut.source,
                stability: cut.source.stability(),
                // Instruction files are pins even where nothing of them could be shown.
                pinned: cut.to > 0 || cut.source == BlockSource::Instructions,
                log_seq: cut.through,
                from_tokens: cut.from,
                to_tokens: cut.to,
                outcome,
            },
            text: None,
        }
    })
}
