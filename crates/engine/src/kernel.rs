//! The kernel: one input about one agent, handled inside the writer's transaction.
//!
//! Synchronous and deterministic: it loads a bounded view, lets `core` decide, applies the facts, and goes on until
//! the agent rests or something outside is needed. It has no side effect beside the transaction and may be run again;
//! the simulation drives this very code.

use crate::facts::SharedFacts;
use holon_core::input::NewAgent;
use holon_core::{AgentView, HostFacts, Input, Rejection, Reply, RoundInHand, lifecycle, step};
use holon_domain::agent::AgentRecord;
use holon_domain::attempt::AttemptRecord;
use holon_domain::block::{ToolCall, calls_of, text_of};
use holon_domain::decision::{Decision, Fact};
use holon_domain::effect::{Effect, EffectId, EffectRecord};
use holon_domain::intent::{HostAction, Intent};
use holon_domain::log::LogEntry;
use holon_domain::tool::ToolError;
use holon_domain::turn::Phase;
use holon_domain::{AgentId, Entropy, TaskId, Timestamp, limits, text};
use holon_store::{AgentNo, Tx};

/// Handles inputs. Holds only what the host knows that no row does.
#[derive(Debug, Clone)]
pub struct Kernel {
    facts: SharedFacts,
}

/// What the shell has to do once the commit holds.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Work {
    /// Effects to perform.
    pub effects: Vec<EffectRecord>,
    /// Effects that are over: their outcome is in, or nobody waits for it any more.
    pub closed: Vec<(AgentId, EffectId)>,
    /// The earliest of the times that were newly set.
    pub due: Option<Timestamp>,
    /// An agent whose queue may hold more than one commit could decide on.
    pub unfinished: Option<AgentId>,
}

/// What came of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Handled {
    /// The answer to its sender.
    pub reply: Reply,
    /// What follows outside.
    pub work: Work,
}

/// Why an input came to nothing. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// There is no such agent.
    NotFound,
    /// The agent has no model to ask and the host has no default.
    NoModel,
    /// A rule of the agent forbids it.
    Rejected(Rejection),
}

/// The result of handling an input: storage may fail, and the kernel may refuse.
pub type HandleResult = Result<Result<Handled, Refusal>, holon_store::Error>;

impl Kernel {
    /// A kernel for a host.
    #[must_use]
    pub const fn new(facts: SharedFacts) -> Self {
        Self { facts }
    }

    /// What the host knows.
    #[must_use]
    pub const fn facts(&self) -> &SharedFacts {
        &self.facts
    }

    /// Makes an agent.
    ///
    /// # Errors
    /// When the name is taken or storage fails.
    pub fn create(
        &self,
        tx: &mut Tx<'_>,
        new: NewAgent,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> Result<Work, holon_store::Error> {
        let decision = lifecycle::create(new, &self.facts.now(), now, entropy);
        let no = tx.create_agent(&decision.agent)?;
        tx.apply(no, &decision)?;
        let mut work = Work::default();
        work.add(&decision);
        Ok(work)
    }

    /// Handles one input about one agent and runs the agent to rest.
    ///
    /// # Errors
    /// When storage fails; a refusal is not an error.
    pub fn handle(
        &self,
        tx: &mut Tx<'_>,
        agent_id: &AgentId,
        input: Input,
        now: Timestamp,
        entropy: &mut dyn Entropy,
    ) -> HandleResult {
        let Some((no, agent)) = tx.agent(agent_id)? else {
            return Ok(Err(Refusal::NotFound));
        };
        let facts = self.facts.now();
        let asks = facts.models.first(agent.model_override.as_ref());
        if matches!(input, Input::Admit(_)) && asks.is_none() {
            return Ok(Err(Refusal::NoModel));
        }
        let mut view = view(tx, no, agent)?;
        add_named_tasks(tx, no, &mut view, &input)?;
        let first = match step(view, input, &facts, now, entropy) {
            Ok(first) => first,
            Err(rejection) => return Ok(Err(Refusal::Rejected(rejection))),
        };
        let mut work = Work::default();
        // What changes nothing is not written either.
        if first.reply != Reply::Unchanged || !first.decision.facts.is_empty() {
            tx.apply(no, &first.decision)?;
            work.add(&first.decision);
        }
        run_to_rest(tx, no, first.decision, &mut work, (&facts, now, entropy))?;
        Ok(Ok(Handled {
            reply: first.reply,
            work,
        }))
    }
}

/// Decides on while a decision leaves the queue's head unknown, a bounded number of times.
fn run_to_rest(
    tx: &mut Tx<'_>,
    no: AgentNo,
    mut last: Decision,
    work: &mut Work,
    (facts, now, entropy): (&HostFacts, Timestamp, &mut dyn Entropy),
) -> Result<(), holon_store::Error> {
    for _ in 0..limits::STEPS_PER_COMMIT {
        if !last.more {
            return Ok(());
        }
        let view = view(tx, no, last.agent.clone())?;
        let Ok(next) = step(view, Input::Continue, facts, now, entropy) else {
            return Ok(());
        };
        tx.apply(no, &next.decision)?;
        work.add(&next.decision);
        last = next.decision;
    }
    if last.more {
        work.unfinished = Some(last.agent.settings.identity.agent_id);
    }
    Ok(())
}

/// Adds the tasks that calls name and that are over: they are not part of the view otherwise.
fn add_named_tasks(
    tx: &mut Tx<'_>,
    no: AgentNo,
    view: &mut AgentView,
    input: &Input,
) -> Result<(), holon_store::Error> {
    let answered: &[Result<Intent, ToolError>] = match input {
        Input::RoundAnswered { answer, .. } => &answer.intents,
        _ => &[],
    };
    let in_hand = view.round.iter().flat_map(|round| &round.calls);
    let intents = in_hand.map(|(_, intent)| intent).chain(answered);
    let named: Vec<TaskId> = intents
        .filter_map(|intent| named_task(intent.as_ref().ok()?))
        .collect();
    for id in named {
        if view.tasks.iter().any(|task| task.id == id) {
            continue;
        }
        view.tasks.extend(tx.task(no, &id)?);
    }
    Ok(())
}

fn named_task(intent: &Intent) -> Option<TaskId> {
    match intent {
        Intent::TaskStatus { task_id } | Intent::TaskStop { task_id } => Some(task_id.clone()),
        Intent::Sleep { .. }
        | Intent::Enqueue { .. }
        | Intent::AgentGet
        | Intent::TaskList
        | Intent::TaskInput { .. }
        | Intent::TaskOutput(_)
        | Intent::Host(_) => None,
    }
}

/// Loads what a decision may know: the queue's head, the calls in hand while tools run, the tasks that are not over.
fn view(tx: &mut Tx<'_>, no: AgentNo, agent: AgentRecord) -> Result<AgentView, holon_store::Error> {
    let queue = tx.queue(no)?;
    let phase = agent.open_turn.as_ref().map(|turn| &turn.phase);
    let round = match phase {
        Some(Phase::RunningTool { round_entry, .. }) => {
            let entry = tx.log_entry(no, *round_entry)?;
            round_in_hand(*round_entry, entry, &agent)
        }
        Some(Phase::CallingModel { .. } | Phase::BackingOff { .. }) | None => None,
    };
    let in_hand = match phase {
        Some(Phase::RunningTool { effect, .. }) => call_of(tx.effect(no, *effect)?),
        Some(Phase::CallingModel { .. } | Phase::BackingOff { .. }) | None => None,
    };
    let tasks = match agent.active_tasks {
        0 => Vec::new(),
        _ => tx.active_tasks(no)?,
    };
    let attempts = failed_attempts(tx, no, &agent)?;
    Ok(AgentView {
        agent,
        queue,
        round,
        in_hand,
        tasks,
        attempts,
    })
}

/// The failed attempts of the round in hand, when its turn says that there are some.
fn failed_attempts(
    tx: &mut Tx<'_>,
    no: AgentNo,
    agent: &AgentRecord,
) -> Result<Vec<AttemptRecord>, holon_store::Error> {
    match &agent.open_turn {
        Some(turn) if turn.failed_attempts > 0 => tx.attempts(no),
        Some(_) | None => Ok(Vec::new()),
    }
}

fn call_of(effect: Option<Effect>) -> Option<(ToolCall, HostAction)> {
    match effect? {
        Effect::RunTool { call, action, .. } => Some((call, action)),
        Effect::PrepareHome
        | Effect::CallModel { .. }
        | Effect::WatchTask { .. }
        | Effect::StopTask { .. }
        | Effect::RemoveHome => None,
    }
}

fn round_in_hand(
    entry_seq: u64,
    entry: Option<LogEntry>,
    agent: &AgentRecord,
) -> Option<RoundInHand> {
    let Some(LogEntry::AssistantRound { blocks, .. }) = entry else {
        return None;
    };
    let preset = agent.identity.profile_preset;
    let calls = calls_of(&blocks)
        .map(|call| {
            (
                call.clone(),
                holon_tools::interpret(&call.name, &call.input, preset),
            )
        })
        .collect();
    let words = text::preview(text_of(&blocks).trim(), limits::EVENT_PREVIEW_BYTES);
    Some(RoundInHand {
        entry: entry_seq,
        words,
        calls,
    })
}

impl Work {
    /// Adds what follows from a decision.
    fn add(&mut self, decision: &Decision) {
        let agent_id = &decision.agent.identity.agent_id;
        for fact in &decision.facts {
            match fact {
                Fact::EffectOpened {
                    id,
                    generation,
                    at,
                    effect,
                } => self.effects.push(EffectRecord {
                    agent_id: agent_id.clone(),
                    id: *id,
                    generation: *generation,
                    opened_at: *at,
                    effect: effect.clone(),
                }),
                Fact::EffectClosed { id } => {
                    self.effects.retain(|open| open.id != *id);
                    self.closed.push((agent_id.clone(), *id));
                }
                Fact::DueSet { at, .. } => {
                    self.due = Some(self.due.map_or(*at, |due| due.min(*at)))
                }
                Fact::MessageAdmitted(_)
                | Fact::MessageMoved { .. }
                | Fact::MessageSettled { .. }
                | Fact::LogAppended { .. }
                | Fact::BriefWritten { .. }
                | Fact::EventRecorded { .. }
                | Fact::DueCleared { .. }
                | Fact::AttemptKept { .. }
                | Fact::AttemptsCleared
                | Fact::SettingsWritten(_)
                | Fact::TaskWritten(_)
                | Fact::LimitLearned { .. }
                | Fact::BlobKept { .. } => {}
            }
        }
    }
}
