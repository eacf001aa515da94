//! Shows an agent's last prompt again, or that of an earlier turn, from the rows that a later request of its turn would use.

use super::ReadHandle;
use crate::error::Error;
use crate::model_request::{kept_frame, prompt_budget, tasks_running_at, to_history_item};
use holon_core::Rejection;
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::guidance::Guidance;
use holon_domain::model::ModelRef;
use holon_domain::prompt_plan::{BlockCut, BlockDecision, BlockOutcome};
use holon_domain::prompt_view::{
    PromptBlockView, PromptView, RoundCacheUse, ShownPrompt, TurnPart, TurnPartKind,
};
use holon_domain::provider::{ModelPolicy, PolicySource};
use holon_domain::summary::ExecutionPolicy;
use holon_prompt::{ExplainedPart, FrameInput, HistoryItem, Work};
use holon_store::{PromptRows, RoundUsage, StoredPrompt};
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
            let Some(StoredPrompt { rounds, rows }) = reader.prompt(no, turn_index)? else {
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
        let guidance = self.guidance.read(roots).await;
        Ok(PromptView {
            agent_id: agent_id.clone(),
            agent_home: agent.agent_home.clone(),
            workspace_id: agent.workspace.workspace_id.clone(),
            workspace_anchor: agent.workspace.workspace_anchor.clone(),
            execution_root: agent.workspace.execution_root.clone(),
            cwd: agent.workspace.cwd.clone(),
            execution_policy: ExecutionPolicy::host_local(),
            loaded_agents_md: guidance.instructions.sources(),
            prompt: asked.map(|asked| show(&agent, &asked)),
            rounds: rounds.iter().map(cache_use).collect(),
        })
    }
}

/// Returns the model of a round; `None` if another build spelled it in a way that this one does not read.
fn last_model(round: &RoundUsage) -> Option<ModelRef> {
    ModelRef::parse(&round.model_ref).ok()
}

fn cache_use(round: &RoundUsage) -> RoundCacheUse {
    RoundCacheUse::new(round.turn_index, round.round, &round.usage)
}

fn show(agent: &AgentRecord, asked: &AskedPrompt) -> ShownPrompt {
    let AskedPrompt {
        rows,
        model,
        policy,
    } = asked;
    let history: Vec<HistoryItem> = rows.history.iter().map(to_history_item).collect();
    let tasks = tasks_running_at(&rows.tasks, rows.started_at);
    let tools = holon_tools::offered(agent.identity.profile_preset, policy.freeform_tools);
    let input = FrameInput {
        agent,
        guidance: &Guidance::default(),
        model,
        turn_index: rows.turn_index,
        current: &rows.current,
        history: &history,
        operator: rows.operator.as_ref(),
        work: Work::Kept(rows.texts.work.as_deref()),
        tasks: &tasks,
        repairs: rows.texts.repairs,
        now: rows.started_at,
        tools: &tools,
        budget_tokens: prompt_budget(*policy),
        budget_is_assumed: policy.source == PolicySource::UnknownFallback,
    };
    let parts = holon_prompt::explain(&input, Some(kept_frame(&rows.texts)));
    let earlier = cuts_before(&rows.frame.cuts, &parts);
    let blocks: Vec<PromptBlockView> = parts.into_iter().map(block).chain(earlier).collect();
    let shown = blocks.iter().filter(|block| block.text.is_some());
    let turn_parts =
        holon_prompt::conversation::explain(&rows.entries, &rows.joined, holon_tools::receipt);
    ShownPrompt {
        turn_index: rows.turn_index,
        model_ref: model.to_string(),
        policy: *policy,
        budget_tokens: input.budget_tokens,
        tools_tokens: u64::try_from(tools.estimated_tokens()).unwrap_or(u64::MAX),
        prompt_tokens: shown.map(|block| u64::from(block.decision.to_tokens)).sum(),
        prompt_cache_key: rows.frame.prompt_cache_key.clone(),
        context_fingerprint: rows.frame.context_fingerprint.clone(),
        compression_epoch: agent.totals.compactions,
        turn_tokens: shown_tokens(&turn_parts),
        turn_parts,
        blocks,
    }
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
                pinned: cut.to > 0,
                log_seq: cut.through,
                from_tokens: cut.from,
                to_tokens: cut.to,
                outcome,
            },
            text: None,
        }
    })
}
