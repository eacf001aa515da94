//! Assembles the frame in its fixed order: system blocks, context blocks and the cache identity.
//!
//! Owns order and identity; `plan` chooses what is shown and the texts are in their own modules. Invariants: stable
//! before agent-scoped before turn-scoped; the current input is last; the cache key depends on nothing turn-scoped.

mod blocks;
pub(crate) mod kept;
mod lasting;

pub(crate) use blocks::context_texts;

use crate::candidate::Candidate;
use crate::context::{Tasks, TurnStart};
use crate::memory::{self, Memory};
use crate::plan::{Budget, PromptPlan, plan};
use crate::thread::told::{self, ToldWork};
use crate::work::{self, Work};
use crate::{context, delegation, instructions, notes, now, policy, repair, scope, skills, stable};
use holon_domain::WorkItemId;
use holon_domain::agent::AgentRecord;
use holon_domain::delegation::ActiveChild;
use holon_domain::guidance::Guidance;
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ModelRef, PromptFrame};
use holon_domain::place::Place;
use holon_domain::prompt_plan::{BlockCut, BlockDecision, BlockSource, PartLength};
use holon_domain::thread::{ThreadBase, ToldPart, ToldTexts};
use holon_domain::time::Timestamp;
use holon_domain::timer::LateTick;
use holon_domain::tool_set::ToolSet;
use holon_domain::turn::TerminalReason;
use holon_domain::wait::WaitNote;

/// Everything a frame is made of.
#[derive(Debug, Clone, Copy)]
pub struct FrameInput<'a> {
    pub agent: &'a AgentRecord,
    /// Guidance on disk when the turn started. Later requests of the turn show what the first one showed.
    pub guidance: &'a Guidance,
    /// Where the agent worked when the turn started. Later requests of the turn show what the first one showed.
    pub place: &'a Place,
    /// The model that gets the request.
    pub model: &'a ModelRef,
    /// Most tokens that an answer of the model has.
    pub answer_tokens: u32,
    /// Number of the turn, counted from 1.
    pub turn_index: u64,
    /// The message this turn answers.
    pub current: &'a MessageEnvelope,
    /// What that message did to waits.
    pub waits: &'a [WaitNote],
    /// Newest message of the operator before the turn, if the thread does not show it.
    pub operator: Option<&'a MessageEnvelope>,
    /// Frozen beginning of the thread. Absent if this frame begins one.
    pub base: Option<&'a ThreadBase>,
    pub work: Work<'a>,
    pub memory: Memory<'a>,
    pub tasks: Tasks<'a>,
    /// Children that work for the agent, oldest first. Later requests of the turn show what the first one showed.
    pub children: &'a [ActiveChild],
    /// Reason for which the turn before failed, if this one repairs that.
    pub repairs: Option<TerminalReason>,
    /// Time at which the turn started.
    pub now: Timestamp,
    /// Lateness of the tick that began the turn.
    pub late: Option<LateTick>,
    /// The tools on offer; part of the cache identity.
    pub tools: &'a ToolSet,
    /// Estimated tokens that the prompt and the tools may take.
    pub budget_tokens: u32,
    /// True if the budget is a guess, because nobody knows the model's window.
    pub budget_is_assumed: bool,
    /// True if a provider refused a request of this turn for its length. The prompt then does not exceed its budget
    /// while a part has a shorter form.
    pub is_refused: bool,
}

/// The texts and cuts of a turn's first frame, from which later requests rebuild it.
#[derive(Debug, Clone, Copy)]
pub struct KeptFrame<'a> {
    pub stable: &'a str,
    pub agent_scoped: &'a str,
    /// Parts of `agent_scoped`; empty in frames of earlier builds.
    pub agent_parts: &'a [PartLength],
    /// Parts of the text about the agent's work; empty in frames of earlier builds.
    pub work_parts: &'a [PartLength],
    /// Absent in frames of earlier builds, whose `agent_scoped` holds it.
    pub surroundings: Option<&'a str>,
    pub cuts: &'a [BlockCut],
    /// Tokens by which the first frame exceeded its budget.
    pub over_tokens: u32,
    /// Budget of the first frame. 0 in frames of earlier builds.
    pub budget_tokens: u32,
    /// What changed in the base, as the first frame told it.
    pub changes: Option<&'a str>,
    /// The moment of the turn, as the first frame told it. Absent in frames of earlier builds.
    pub now: Option<&'a str>,
    pub told: &'a ToldTexts,
}

/// A frame and the texts it was made from. The caller stores the texts by their hash to rebuild the frame later.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltFrame {
    pub frame: PromptFrame,
    /// Text that is the same for all agents of a build.
    pub stable: String,
    /// Hash of `stable`, under which it is stored.
    pub stable_hash: String,
    /// Text that changes only with the agent's guidance, its skills and the use of tools.
    pub agent_scoped: String,
    /// Parts of `agent_scoped`, in order.
    pub agent_parts: Vec<PartLength>,
    /// Hash of `agent_scoped`, under which it is stored.
    pub agent_scoped_hash: String,
    /// Text that changes only with the agent, its workspace or its model. Absent if `agent_scoped` of an earlier build
    /// holds it.
    pub surroundings: Option<String>,
    /// Hash of `surroundings`, under which it is stored.
    pub surroundings_hash: Option<String>,
    /// What changed in the base of the thread; `None` if nothing did.
    pub changes: Option<String>,
    /// The moment of the turn as shown. Absent in frames of earlier builds.
    pub now: Option<String>,
    /// Running tasks as shown; `None` if there are none.
    pub tasks: Option<String>,
    /// Texts that the agent knows after this frame, apart from the base.
    pub told: ToldTexts,
    /// Text about the agent's work; `None` if the frame shows none.
    pub work: Option<String>,
    /// Parts of `work`, in order; empty if the frame shows none.
    pub work_parts: Vec<PartLength>,
    /// The work items that the first request of a turn shows; empty for later requests.
    pub shown_items: Vec<WorkItemId>,
    /// True if the newest message of the operator is shown apart from the thread.
    pub shows_operator_words: bool,
    /// Parts that are not shown whole.
    pub cuts: Vec<BlockCut>,
    /// Tokens by which the shortest possible frame exceeds its budget; 0 if the frame fits.
    pub over_tokens: usize,
    /// Budget of the turn's first frame.
    pub budget_tokens: u32,
    /// Number of blocks in the frame.
    pub sections: usize,
    /// Estimated tokens of the blocks.
    pub tokens: usize,
}

/// A part of a prompt and the decision about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedPart {
    pub decision: BlockDecision,
    /// Absent if the part is left out.
    pub text: Option<String>,
}

/// Builds the frame of a turn's first request.
#[must_use]
pub fn build(input: &FrameInput<'_>) -> BuiltFrame {
    let first = FirstPlan::new(input);
    let told = first.told();
    let mut built = blocks::assemble(input, first.plan, &first.work, input.budget_tokens);
    (built.told, built.now) = (told, Some(first.now));
    built
}

/// Builds the frame of a later request of the same turn from the stored texts. They are not rendered again, so a new
/// build or a change of workspace or model during the turn does not alter what the model was told.
#[must_use]
pub fn rebuild(input: &FrameInput<'_>, kept: KeptFrame<'_>) -> BuiltFrame {
    let planned = planned_again(input, kept);
    let mut built = blocks::assemble(input, planned, &ToldWork::default(), kept.budget_tokens);
    (built.told, built.now) = (kept.told.clone(), kept.now.map(str::to_owned));
    built
}

/// Lists the parts of the prompt with the decision about each. Without `kept` they are those of a first request; with it,
/// the text about the agent is shown by the parts that it was made of.
#[must_use]
pub fn explain(input: &FrameInput<'_>, kept: Option<KeptFrame<'_>>) -> Vec<ExplainedPart> {
    let plan = match kept {
        Some(kept) => planned_again(input, kept),
        None => FirstPlan::new(input).plan,
    };
    let mut parts = plan.parts.into_iter();
    let explained = plan.decisions.into_iter().map(|decision| {
        let is_shown = decision.to_tokens > 0;
        let text = is_shown.then(|| parts.next().map(|part| part.text.into_owned()));
        ExplainedPart {
            decision,
            text: text.flatten(),
        }
    });
    let with_parts = |part: ExplainedPart| match &kept {
        Some(kept) if part.decision.source == BlockSource::AgentScoped => {
            lasting::explain_parts(part, kept)
        }
        Some(_) | None => vec![part],
    };
    explained.flat_map(with_parts).collect()
}

fn budget(input: &FrameInput<'_>) -> Budget {
    let budget = Budget::new(
        input.budget_tokens,
        input.tools.estimated_tokens(),
        input.budget_is_assumed,
    );
    if input.is_refused {
        budget.strict()
    } else {
        budget
    }
}

fn planned_again<'a>(input: &FrameInput<'a>, kept: KeptFrame<'a>) -> PromptPlan<'a> {
    let budget = budget(input).repeated(kept.over_tokens);
    let mut candidates = kept::system(kept);
    let changes = kept.changes.map(told::candidate);
    let work = match input.work {
        Work::Kept(Some(text)) => kept::work(text, kept.work_parts),
        Work::Kept(None) | Work::Rows(..) => Vec::new(),
    };
    let start = input.start(kept.now.map(str::to_owned));
    candidates.extend(turn_parts(&input.turn(), start, changes, work, budget));
    plan(candidates, budget, kept.cuts)
}

/// The plan of a turn's first request.
struct FirstPlan<'a> {
    plan: PromptPlan<'a>,
    /// Parts that differ from the base.
    base: Vec<ToldPart>,
    work: ToldWork,
    /// The moment of the turn, as the current input tells it.
    now: String,
}

impl<'a> FirstPlan<'a> {
    /// Plans a request that begins with the frozen base, if there is one, and tells what differs from it.
    fn new(input: &FrameInput<'a>) -> Self {
        let budget = budget(input);
        let fresh = system(input);
        let marks = told::marks_of_base(&fresh);
        let (mut candidates, changes, base) = match input.base {
            None => (fresh, None, Vec::new()),
            Some(base) => {
                let changes = told::base_changes(base, &fresh, input.now);
                let text = changes.text.map(told::candidate);
                (kept::base(base), text, changes.told)
            }
        };
        let in_force = input.base.map(|base| base.told.work.as_slice());
        let (parts, work) = told::work(work_parts(input), in_force);
        let now = now::text(input.now, input.place);
        let start = input.start(Some(now.clone()));
        candidates.extend(turn_parts(&input.turn(), start, changes, parts, budget));
        let plan = plan(candidates, budget, &[]);
        let base = match input.base {
            Some(_) => base,
            // A part that had to give way is known by its whole text, so that it is not told as changed.
            None => {
                let is_cut = |part: &ToldPart| plan.cuts.iter().any(|cut| cut.source == part.0);
                marks.into_iter().filter(is_cut).collect()
            }
        };
        Self {
            plan,
            base,
            work,
            now,
        }
    }

    fn told(&self) -> ToldTexts {
        let shown: Vec<BlockSource> = self.plan.parts.iter().map(|part| part.source).collect();
        ToldTexts {
            base: self.base.clone(),
            work: self.work.known_after(&shown),
        }
    }
}

/// Lists the system parts: the rules of the runtime, the mode of the agent, instruction files, skills, notes, tools, and
/// the facts about this agent.
fn system<'a>(input: &FrameInput<'a>) -> Vec<Candidate<'a>> {
    let guidance = input.guidance;
    let policy = stable::candidate(stable::text());
    let skills = skills::candidate(
        &guidance.skills,
        &input.agent.active_skills,
        input.budget_tokens,
    );
    let tools = Candidate::pin(BlockSource::ToolGuidance, policy::tools())
        .or_shorter(|_| stable::SHORT_TOOLS.to_owned());
    let surroundings =
        scope::surroundings(input.agent, input.model, input.answer_tokens, input.place);
    [policy]
        .into_iter()
        .chain(delegation::candidate(input.agent))
        .chain(instructions::candidate(&guidance.instructions))
        .chain(skills)
        .chain(notes::candidate(&guidance.notes))
        .chain([
            tools,
            Candidate::pin(BlockSource::Surroundings, surroundings),
        ])
        .collect()
}

/// What the parts of a turn are made of, apart from its work.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TurnInput<'a> {
    pub(crate) operator: Option<&'a MessageEnvelope>,
    pub(crate) current: &'a MessageEnvelope,
    pub(crate) waits: &'a [WaitNote],
    pub(crate) repairs: Option<TerminalReason>,
    pub(crate) tasks: Tasks<'a>,
}

impl<'a> FrameInput<'a> {
    const fn turn(&self) -> TurnInput<'a> {
        TurnInput {
            operator: self.operator,
            current: self.current,
            waits: self.waits,
            repairs: self.repairs,
            tasks: self.tasks,
        }
    }

    const fn start(&self, now: Option<String>) -> TurnStart {
        TurnStart {
            at: self.now,
            now,
            late: self.late,
        }
    }
}

/// Lists the parts of a turn, its input last.
pub(crate) fn turn_parts<'a>(
    input: &TurnInput<'a>,
    start: TurnStart,
    changes: Option<Candidate<'a>>,
    work: Vec<Candidate<'a>>,
    budget: Budget,
) -> Vec<Candidate<'a>> {
    let operator = input
        .operator
        .filter(|_| !input.current.is_operator_instruction());
    operator
        .map(|message| context::operator_words(message, budget.words_share()))
        .into_iter()
        .chain(changes)
        .chain(work)
        .chain(context::tasks(input.tasks))
        .chain(context::event_turn(input.current))
        .chain(input.repairs.and_then(repair::candidate))
        .chain([context::current(input.current, input.waits, start)])
        .collect()
}

/// Lists the parts about the agent's work as it is now. Where a thread begins, what the agent did before stands beside
/// them; later the thread itself shows it.
fn work_parts<'a>(input: &FrameInput<'a>) -> Vec<Candidate<'a>> {
    let Work::Rows(rows, plan) = input.work else {
        return Vec::new();
    };
    let remembered = match (input.memory, input.base) {
        (Memory::Rows(state), None) => memory::working_memory(state),
        (Memory::Rows(_), Some(_)) | (Memory::Kept { .. }, _) => Vec::new(),
    };
    let begins = input.base.is_none();
    let of_item = work::candidates(input.agent, rows, plan).into_iter();
    remembered
        .into_iter()
        .chain(of_item.filter(|part| begins || part.source != BlockSource::ItemTrace))
        .chain(delegation::children(input.children))
        .collect()
}
