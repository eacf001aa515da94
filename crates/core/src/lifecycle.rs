//! Lifecycle commands: create, configure, start, stop, archive and delete an agent.
//!
//! An abort ends the open turn; without one it is refused. The agent then goes on, or is stopped if the operator says so.
//!
//! | state | start | stop | archive | delete | message |
//! |---|---|---|---|---|---|
//! | booting | unchanged | stopped | archived | deleting | admitted, waits |
//! | runnable | a suspended turn asks again, else unchanged | stopped, its run aborted, its tasks asked to end, its queue kept | archived, after all of a stop | deleting | admitted |
//! | stopped | booting, and runnable once its home is there or can be made | unchanged | archived | deleting | refused |
//! | archived | refused | refused | unchanged | deleting | refused |
//! | deleting | refused | refused | refused | unchanged, or tried again at once if it failed | refused |
//!
//! An archived agent is a stopped one that nothing starts. The commit that archives it cancels its timers and ends its
//! waits. An operator may still remove it and take back what it has: a trigger, a binding, a timer or a wait of an
//! earlier build. Every other command is refused. Its history stays readable.
//!
//! A removal first kills the agent's tasks and waits for a patch that is being applied; then the home is removed. A
//! failed removal of the home is retried with a growing backoff and without a last attempt.

use crate::draft::{Draft, check_settings_size};
use crate::home;
use crate::input::{
    AfterAbort, AgentView, HostConditions, Input, NewAgent, OperatorCommand, Reply, TriggerCommand,
    WorkCommand,
};
use crate::rejection::Rejection;
use crate::{
    delegation, detached, occupancy, outbox, rest, task, tick, timer, trigger, turn, wait, work,
    workspace,
};
use holon_domain::agent::{AgentRecord, AgentSettings, Counters, HomeState, Lifecycle, WorkState};
use holon_domain::decision::Decision;
use holon_domain::event::{
    AgentCreated, AgentModelOverrideCleared, AgentModelOverrideSet, Event, SuspensionEnd,
};
use holon_domain::model::{ModelChoice, ModelOptions, ModelRef};
use holon_domain::needs::{LoadedRows, Part};
use holon_domain::queue::QueueView;
use holon_domain::task::StopOrder;
use holon_domain::thread::ThreadState;
use holon_domain::turn::TerminalReason;
use holon_domain::workspace::{AttachedWorkspace, WorkspaceEntry, WorkspaceSet};
use holon_domain::{Entropy, RunId, TaskId, Timestamp};
use std::collections::BTreeMap;

/// The numbers that the host has given out before an agent is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct GivenNumbers {
    /// Newest generation that was given to any agent.
    pub generation: u64,
    /// Number after which the agent numbers its events. 0, unless an agent of the same name was removed.
    pub events: u64,
}

/// Creates an agent: its row, its first event, and the effect that checks the path of its home.
#[must_use]
pub fn create(
    new: NewAgent,
    host: &HostConditions,
    given: GivenNumbers,
    now: Timestamp,
    entropy: &mut dyn Entropy,
) -> Decision {
    let view = new_view(new, given, now);
    let mut draft = Draft::new(view, host, now, entropy);
    begin_life(&mut draft);
    occupancy::settle(&mut draft);
    draft.decide_alone()
}

/// Writes what every new agent begins with.
pub(crate) fn begin_life(draft: &mut Draft<'_>) {
    let identity = &draft.agent.identity;
    let created = AgentCreated {
        kind: identity.kind,
        profile_preset: identity.profile_preset,
        workspace_id: draft.agent.workspace.workspace_id.clone(),
        imported_from: None,
    };
    draft.take_generation();
    draft.event(Event::AgentCreated(created));
    let given = AttachedWorkspace::of(&draft.agent.workspace);
    workspace::register(draft, &given);
    trigger::provision(draft);
    home::prepare(draft);
}

pub(crate) fn new_settings(new: NewAgent, now: Timestamp) -> AgentSettings {
    let NewAgent {
        identity,
        agent_home,
        workspace,
        model,
        run,
    } = new;
    AgentSettings {
        identity,
        created_at: now,
        agent_home,
        attached: WorkspaceSet::default(),
        worktree_session: None,
        workspace,
        run,
        model_override: model,
        reasoning_effort: None,
        thinking_tokens: None,
        fallback_models: None,
        thread_tokens: None,
        operator_bindings: Vec::new(),
        unsigned_webhooks: false,
        withdrawn_modes: Vec::new(),
        supervision: None,
    }
}

/// Refuses a new agent whose settings would be larger than they may be.
///
/// # Errors
/// `TooLarge` with the size of the settings.
pub fn check_new(new: &NewAgent, now: Timestamp) -> Result<(), Rejection> {
    check_settings_size(&new_settings(new.clone(), now))
}

/// Returns the view of an agent that has no row yet.
pub(crate) fn new_view(new: NewAgent, given: GivenNumbers, now: Timestamp) -> AgentView {
    let agent = AgentRecord {
        settings: new_settings(new, now),
        lifecycle: Lifecycle::Booting,
        generation: 0,
        counters: Counters {
            events: given.events,
            ..Counters::default()
        },
        home: HomeState::Unmade,
        deliveries: Vec::new(),
        patches: Vec::new(),
        cleanups: Vec::new(),
        worktree_end: None,
        outbox: Default::default(),
        open_turn: None,
        rest: None,
        totals: Default::default(),
        self_caused_turns: 0,
        self_caused_queued: 0,
        active_tasks: 0,
        held: Vec::new(),
        acknowledged: Vec::new(),
        left_by_caller: Vec::new(),
        pace: None,
        work: WorkState::default(),
        last_turn: None,
        last_failure: None,
        last_continuation: None,
        unsignalled: None,
        last_wake_reason: None,
        last_brief_at: None,
        tool_times: BTreeMap::new(),
        operator_seq: None,
        order: None,
        thread: ThreadState::default(),
        active_skills: Vec::new(),
        occupancy: None,
        archived_at: None,
    };
    let loaded = LoadedRows {
        queue: QueueView::of_length(0, 0),
        generation: Part::Loaded(given.generation),
        ..LoadedRows::default()
    };
    AgentView { agent, loaded }
}

/// Sets the workspace and the model of the agent from its next turn on. An open turn keeps its own, except that a
/// suspended one asks the new model at once.
pub(crate) fn configure(
    draft: &mut Draft<'_>,
    workspace: Option<WorkspaceEntry>,
    model: Option<ModelChoice>,
) -> Result<Reply, Rejection> {
    match draft.agent.lifecycle {
        Lifecycle::Deleting => return Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {}
    }
    if let Some(workspace) = workspace.filter(|workspace| *workspace != draft.agent.workspace) {
        workspace::enter_configured(draft, workspace)?;
    }
    if let Some(choice) = model {
        let before = draft.agent.model_override.clone();
        choose_model(draft, choice)?;
        if draft.agent.model_override != before {
            work::wake(draft);
        }
        turn::handle_model_choice(draft);
    }
    Ok(Reply::Done)
}

fn choose_model(draft: &mut Draft<'_>, choice: ModelChoice) -> Result<(), Rejection> {
    match choice {
        ModelChoice::Use { model, options } => {
            let same = draft.agent.model_override.as_ref() == Some(&model)
                && draft.agent.settings.model_options() == options;
            if !same {
                draft.event(Event::AgentModelOverrideSet(AgentModelOverrideSet {
                    override_model: model.to_string(),
                    reasoning_effort: options.reasoning_effort,
                    thinking_tokens: options.thinking_tokens,
                    fallback_models: options.fallback_models.as_deref().map(ModelRef::spell_all),
                }));
            }
            draft.change_settings_within(|settings| settings.set_model(Some(model), options))?;
        }
        ModelChoice::Inherit => {
            let before = draft.agent.model_override.clone();
            draft.change_settings(|settings| settings.set_model(None, ModelOptions::default()));
            if let Some(model) = before {
                draft.event(Event::AgentModelOverrideCleared(
                    AgentModelOverrideCleared {
                        override_model: model.to_string(),
                    },
                ));
            }
        }
    }
    Ok(())
}

pub(crate) fn start(draft: &mut Draft<'_>) -> Result<Reply, Rejection> {
    match draft.agent.lifecycle {
        Lifecycle::Booting => Ok(Reply::Unchanged),
        // A start of a running agent makes a suspended turn ask again.
        Lifecycle::Runnable if !turn::has_provider_pause(draft, SuspensionEnd::Start) => {
            Ok(Reply::Unchanged)
        }
        Lifecycle::Runnable => {
            draft.admit_control("start");
            turn::end_provider_pause(draft, SuspensionEnd::Start);
            draft.apply_control("start", Lifecycle::Runnable, None, Vec::new());
            Ok(Reply::Done)
        }
        Lifecycle::Deleting => Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Stopped => {
            draft.admit_control("start");
            // A path that could not be used is checked again.
            draft.apply_control("start", Lifecycle::Booting, None, Vec::new());
            home::prepare(draft);
            Ok(Reply::Done)
        }
    }
}

/// Records where a shutdown of the host leaves the agent. What it does is taken up at the next start.
pub(crate) fn handle_host_stop(draft: &mut Draft<'_>) -> Reply {
    if draft.agent.archived_at.is_some() || draft.agent.lifecycle == Lifecycle::Deleting {
        return Reply::Unchanged;
    }
    draft.record_shutdown();
    Reply::Done
}

/// Handles changed budgets of the host: a turn that one of them suspended asks again.
pub(crate) fn handle_budget_changed(draft: &mut Draft<'_>) -> Reply {
    let may_run = draft.agent.lifecycle == Lifecycle::Runnable;
    if may_run && turn::is_suspended_by_budget(draft) {
        turn::end_provider_pause(draft, SuspensionEnd::BudgetChanged);
        Reply::Done
    } else {
        Reply::Unchanged
    }
}

/// Handles changed models or credentials of the host: a suspended turn asks the current models, and a turn that pauses
/// between two tries asks its own models again.
pub(crate) fn handle_models_changed(draft: &mut Draft<'_>) -> Reply {
    work::wake(draft);
    let may_run = draft.agent.lifecycle == Lifecycle::Runnable;
    if may_run && turn::end_provider_pause(draft, SuspensionEnd::ModelChange) {
        Reply::Done
    } else {
        Reply::Unchanged
    }
}

/// Handles another credential of a provider that had refused the last one: a turn that is suspended because of this
/// provider asks again.
pub(crate) fn handle_credential_renewed(draft: &mut Draft<'_>, provider: &str) -> Reply {
    if draft.agent.lifecycle == Lifecycle::Runnable
        && turn::is_suspended_by_credential(draft, provider)
        && turn::end_provider_pause(draft, SuspensionEnd::CredentialRenewed)
    {
        Reply::Done
    } else {
        Reply::Unchanged
    }
}

pub(crate) fn stop(draft: &mut Draft<'_>) -> Result<Reply, Rejection> {
    match draft.agent.lifecycle {
        Lifecycle::Stopped => Ok(Reply::Unchanged),
        Lifecycle::Deleting => Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Booting | Lifecycle::Runnable => {
            stop_running(draft, "stop");
            Ok(Reply::Done)
        }
    }
}

/// Stops an agent that may run, for an action of an operator.
fn stop_running(draft: &mut Draft<'_>, action: &str) {
    draft.admit_control(action);
    let aborted = release_all(
        draft,
        "stopped by an operator before the answer was complete",
    );
    let tasks = active_task_ids(draft);
    draft.apply_control(action, Lifecycle::Stopped, aborted, tasks);
    task::stop_all(draft, StopOrder::with_agent(), "stopped with its agent");
}

/// Archives an agent: it is stopped for good and no longer listed, and nothing that it set will wake it. An agent that an
/// earlier build archived loses the timers and waits that it kept.
pub(crate) fn archive(draft: &mut Draft<'_>) -> Result<Reply, Rejection> {
    match draft.agent.lifecycle {
        Lifecycle::Deleting => return Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Stopped if draft.agent.archived_at.is_some() => {
            let work = &draft.agent.work;
            if work.active_timers == 0 && work.active_waits == 0 {
                return Ok(Reply::Unchanged);
            }
            end_wakes(draft);
            return Ok(Reply::Done);
        }
        Lifecycle::Stopped => {
            draft.admit_control("archive");
            draft.apply_control("archive", Lifecycle::Stopped, None, Vec::new());
        }
        Lifecycle::Booting | Lifecycle::Runnable => stop_running(draft, "archive"),
    }
    draft.agent.archived_at = Some(draft.now);
    end_wakes(draft);
    delegation::leave_tree(draft);
    Ok(Reply::Done)
}

/// Archives a private child that has ended or was stopped.
pub(crate) fn retire_child(draft: &mut Draft<'_>) {
    match draft.agent.lifecycle {
        Lifecycle::Booting | Lifecycle::Runnable => {
            let aborted = release_all(draft, "stopped by its supervisor before it was done");
            let tasks = active_task_ids(draft);
            draft.apply_control("archive", Lifecycle::Stopped, aborted, tasks);
            // No later turn of the child would read a result, so none is held.
            task::stop_all(
                draft,
                StopOrder::default(),
                "stopped for good with its agent",
            );
        }
        Lifecycle::Stopped | Lifecycle::Deleting => {
            draft.apply_control("archive", draft.agent.lifecycle, None, Vec::new());
        }
    }
    draft.agent.archived_at = Some(draft.now);
    end_wakes(draft);
    delegation::leave_tree(draft);
    delegation::clean_worktree_when_free(draft);
}

/// Cancels the timers and ends the waits of an agent that is archived.
fn end_wakes(draft: &mut Draft<'_>) {
    timer::cancel_all(draft);
    wait::cancel_all(draft, "archived with its agent");
    draft.agent.work.deferred = 0;
}

/// Refuses every command for an archived agent that would give it something to do or change how it would work. One that
/// takes something back is allowed.
pub(crate) fn judge_archived(agent: &AgentRecord, input: &Input) -> Result<(), Rejection> {
    if agent.archived_at.is_none() || agent.lifecycle == Lifecycle::Deleting {
        return Ok(());
    }
    match input {
        Input::Operator(command) if matches!(**command, OperatorCommand::Revoke { .. }) => Ok(()),
        Input::Trigger(TriggerCommand::Revoke { .. }) => Ok(()),
        Input::Work(command)
            if matches!(
                **command,
                WorkCommand::CancelTimer { .. } | WorkCommand::CancelWait { .. }
            ) =>
        {
            Ok(())
        }
        Input::Admit(_)
        | Input::OperatorMessage { .. }
        | Input::Operator(_)
        | Input::Trigger(_)
        | Input::Callback(_)
        | Input::FromCommand { .. }
        | Input::Configure { .. }
        | Input::Start
        | Input::Stop
        | Input::Abort { .. }
        | Input::WakeHint(_)
        | Input::Workspace(_)
        | Input::Skill(_)
        | Input::Context(_)
        | Input::Task(_)
        | Input::Work(_) => Err(Rejection::stopped(agent)),
        Input::HomePrepared { .. }
        | Input::HomeRemoved { .. }
        | Input::RoundAnswered { .. }
        | Input::AttemptFailed { .. }
        | Input::ToolFinished { .. }
        | Input::Received(_)
        | Input::Deliver { .. }
        | Input::Defer { .. }
        | Input::TaskStarted { .. }
        | Input::TaskEnded { .. }
        | Input::PatchFinished { .. }
        | Input::BatchStopped { .. }
        | Input::WorktreeCleaned { .. }
        | Input::HostStops
        | Input::HistoryRemoval { .. }
        | Input::DeliverySubmitted { .. }
        | Input::Lane { .. }
        | Input::DueCame { .. }
        | Input::ClockSetBack { .. }
        | Input::Archive
        | Input::Delete
        | Input::Recover { .. }
        | Input::TakeUp
        | Input::GiveUp { .. }
        | Input::CallerLeft { .. }
        | Input::ModelsChanged
        | Input::BudgetChanged
        | Input::CallMeasured { .. }
        | Input::CredentialRenewed { .. }
        | Input::Continue => Ok(()),
    }
}

/// Aborts the current run, if it is the one that the operator means. The message of the run is settled; the result of a
/// task that no model has answered is held for the next turn.
pub(crate) fn abort(
    draft: &mut Draft<'_>,
    asked: Option<&RunId>,
    then: AfterAbort,
) -> Result<Reply, Rejection> {
    if draft.agent.lifecycle == Lifecycle::Deleting {
        return Err(Rejection::deleting(&draft.agent));
    }
    let agent_id = draft.agent.identity.agent_id.clone();
    let Some(turn) = &draft.agent.open_turn else {
        return Err(Rejection::NoCurrentRun { agent_id });
    };
    let current = turn.run_id.clone();
    if let Some(requested) = asked.filter(|requested| **requested != current) {
        return Err(Rejection::StaleRun {
            agent_id,
            requested: requested.clone(),
            current,
        });
    }
    match then {
        AfterAbort::Stop => {
            stop(draft)?;
        }
        AfterAbort::GoOn => {
            draft.admit_control("abort");
            let summary = "aborted by an operator before the answer was complete";
            let aborted = turn::abort(draft, TerminalReason::OperatorAborted, summary);
            let lifecycle = draft.agent.lifecycle;
            draft.apply_control("abort", lifecycle, aborted, Vec::new());
        }
    }
    Ok(Reply::Aborted { run_id: current })
}

pub(crate) fn delete(draft: &mut Draft<'_>) -> Reply {
    if draft.agent.lifecycle == Lifecycle::Deleting {
        // Unless the last attempt failed, the removal is already under way.
        return match draft.agent.home {
            HomeState::NotRemoved { .. } => {
                home::remove(draft);
                Reply::Done
            }
            HomeState::Unmade
            | HomeState::Preparing { .. }
            | HomeState::Ready
            | HomeState::Removing { .. }
            | HomeState::Removed => Reply::Unchanged,
        };
    }
    draft.admit_control("delete");
    let aborted = release_all(draft, "removed before the answer was complete");
    outbox::close(draft);
    let tasks = active_task_ids(draft);
    draft.apply_control("delete", Lifecycle::Deleting, aborted, tasks);
    delegation::release_all(draft);
    let order = StopOrder {
        force: true,
        with_agent: false,
        by_agent: false,
        by_operator: false,
    };
    task::stop_all(draft, order, "removed with its agent");
    home::remove_when_free(draft);
    Reply::Done
}

fn active_task_ids(draft: &Draft<'_>) -> Vec<TaskId> {
    let active = draft.active_tasks();
    active.into_iter().map(|task| task.id).collect()
}

/// Releases everything the agent waits for: its run, its rest and its home effect. Later outcomes are stale.
fn release_all(draft: &mut Draft<'_>, summary: &str) -> Option<RunId> {
    if let Some(effect) = draft.agent.home.effect() {
        draft.close_effect(effect);
        draft.agent.home = draft.agent.home.without_effect();
    }
    rest::end_rest(draft);
    work::end_tick_pause(draft);
    tick::end_hint_pause(draft);
    detached::next_generation(draft);
    turn::abort(draft, TerminalReason::AgentStopped, summary)
}
