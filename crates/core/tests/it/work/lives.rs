//! Property tests with random histories of an agent with work: after every step the counts in its row match a recount,
//! no runnable work is overlooked, and only the agent moves its focus.

use super::*;
use crate::laws::assert_rows_agree;
use holon_domain::agent::Lifecycle;
use holon_domain::model::ModelFailureKind;
use holon_domain::work_item::WorkItemState;
use proptest::prelude::*;
use std::collections::BTreeSet;

/// One random event. Numbers choose among the existing rows.
#[derive(Debug, Clone)]
enum Op {
    OperatorMakes,
    OperatorChanges(usize),
    OperatorCompletes(usize),
    OperatorResumes(usize),
    OperatorCancelsWait(usize),
    OperatorSetsTimer(u64, bool, MissedSlotPolicy),
    OperatorCancelsTimer(usize),
    Prompt,
    News,
    Hint(u8, bool),
    /// The model answers with these calls, or with text alone.
    Answer(Vec<Call>),
    /// The running call ends: a plan is written or a command ends.
    CallEnds,
    Promote,
    TaskEnds,
    Fails(ModelFailureKind),
    DueComes,
    Advances(u64),
    Stop,
    Start,
    Restart(bool),
}

#[derive(Debug, Clone)]
enum Call {
    Create,
    Pick(usize),
    Reword(usize, u8),
    Block(usize, u64),
    Unblock(usize),
    NeedInput(usize),
    Ready(usize),
    Complete(usize),
    CancelWait(usize),
    SetTimer(u64),
    Exec,
    Sleep(Option<u64>),
    Wait(Option<usize>, WakeChoice),
}

#[derive(Debug, Clone, Copy)]
enum WakeChoice {
    Operator,
    Outside,
    Source,
    Task,
    After(u64),
}

fn missed() -> impl Strategy<Value = MissedSlotPolicy> {
    prop::sample::select(vec![
        MissedSlotPolicy::Skip,
        MissedSlotPolicy::Once,
        MissedSlotPolicy::All,
    ])
}

fn wanted() -> impl Strategy<Value = WakeChoice> {
    prop_oneof![
        1 => Just(WakeChoice::Operator),
        1 => Just(WakeChoice::Outside),
        1 => Just(WakeChoice::Source),
        2 => Just(WakeChoice::Task),
        2 => (1..90_000_u64).prop_map(WakeChoice::After),
    ]
}

fn call() -> impl Strategy<Value = Call> {
    let which = any::<usize>;
    prop_oneof![
        4 => Just(Call::Create),
        4 => which().prop_map(Call::Pick),
        2 => (which(), 0..3_u8).prop_map(|(which, words)| Call::Reword(which, words)),
        2 => (which(), 1..90_000_u64).prop_map(|(which, after)| Call::Block(which, after)),
        1 => which().prop_map(Call::Unblock),
        1 => which().prop_map(Call::NeedInput),
        1 => which().prop_map(Call::Ready),
        2 => which().prop_map(Call::Complete),
        1 => which().prop_map(Call::CancelWait),
        1 => (1..90_000_u64).prop_map(Call::SetTimer),
        2 => Just(Call::Exec),
        2 => prop::option::of(1..90_000_u64).prop_map(Call::Sleep),
        4 => (prop::option::of(which()), wanted()).prop_map(|(which, on)| Call::Wait(which, on)),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let which = any::<usize>;
    let kinds = prop::sample::select(ModelFailureKind::ALL.to_vec());
    prop_oneof![
        3 => Just(Op::OperatorMakes),
        1 => which().prop_map(Op::OperatorChanges),
        1 => which().prop_map(Op::OperatorCompletes),
        1 => which().prop_map(Op::OperatorResumes),
        1 => which().prop_map(Op::OperatorCancelsWait),
        1 => (1..200_000_u64, any::<bool>(), missed())
            .prop_map(|(ms, repeats, missed)| Op::OperatorSetsTimer(ms, repeats, missed)),
        1 => which().prop_map(Op::OperatorCancelsTimer),
        3 => Just(Op::Prompt),
        2 => Just(Op::News),
        3 => (0..20_u8, any::<bool>()).prop_map(|(source, body)| Op::Hint(source, body)),
        24 => prop::collection::vec(call(), 0..3).prop_map(Op::Answer),
        10 => Just(Op::CallEnds),
        2 => Just(Op::Promote),
        3 => Just(Op::TaskEnds),
        1 => kinds.prop_map(Op::Fails),
        14 => Just(Op::DueComes),
        2 => (0..400_000_u64).prop_map(Op::Advances),
        1 => Just(Op::Stop),
        3 => Just(Op::Start),
        1 => any::<bool>().prop_map(Op::Restart),
    ]
}

/// Picks an item, open or completed; an unknown id if there is none.
fn chosen(world: &World, which: usize) -> WorkItemId {
    let at = which.checked_rem(world.items.len());
    let item = at.and_then(|at| world.items.keys().nth(at));
    item.cloned()
        .unwrap_or_else(|| WorkItemId::from_stored("work_nobody"))
}

fn wait_id(world: &World, which: usize) -> WaitId {
    let at = which.checked_rem(world.waits.len());
    at.map_or_else(
        || WaitId::from_stored("wait_nobody"),
        |at| world.waits[at].id.clone(),
    )
}

fn planned(world: &World, call: &Call) -> PlannedCall {
    let id = |which: &usize| chosen(world, *which);
    match call {
        Call::Create => create(),
        Call::Pick(which) => pick(&id(which)),
        Call::Reword(which, words) => update(&id(which), objective(&format!("words {words}"))),
        Call::Block(which, after) => update(&id(which), blocked("no key", *after)),
        Call::Unblock(which) => update(&id(which), unblocked()),
        Call::NeedInput(which) => update(&id(which), plan_status(PlanStatus::NeedsInput)),
        Call::Ready(which) => update(&id(which), plan_status(PlanStatus::Ready)),
        Call::Complete(which) => complete(&id(which)),
        Call::CancelWait(which) => cancel_wait(&wait_id(world, *which)),
        Call::SetTimer(after) => {
            let at = world.now.plus_millis(*after);
            let new = new_timer(TimerSchedule::Once { at });
            (
                "CreateTimer",
                Ok(Intent::Work(WorkIntent::CreateTimer(new))),
            )
        }
        Call::Exec => make::exec(),
        Call::Sleep(duration) => make::sleep(*duration),
        Call::Wait(which, on) => {
            let task = world.active_tasks().next();
            let task_id = task.map_or_else(commands::unknown_task, |task| task.id.clone());
            let on = match on {
                WakeChoice::Operator => WakeCondition::Operator,
                WakeChoice::Outside => WakeCondition::External { source: None },
                WakeChoice::Source => WakeCondition::External {
                    source: Some("source 3".to_owned()),
                },
                WakeChoice::Task => WakeCondition::Task { task_id },
                WakeChoice::After(delay_ms) => WakeCondition::After {
                    delay_ms: *delay_ms,
                },
            };
            let wait = NewWait {
                work_item_id: which.as_ref().map(id),
                ..new_wait(vec![on])
            };
            ("WaitFor", Ok(Intent::WaitFor(wait)))
        }
    }
}

fn is_asked(world: &World, name: &str) -> bool {
    world
        .effect()
        .is_some_and(|open| open.effect.name() == name)
}

/// Answers a request that showed the newest items, as many as a first round may show.
fn answer(world: &mut World, calls: &[Call]) {
    if !is_asked(world, "call_model") {
        return;
    }
    let calls: Vec<PlannedCall> = calls.iter().map(|call| planned(world, call)).collect();
    let said = if calls.is_empty() {
        ModelAnswer::words("done for now")
    } else {
        ModelAnswer::calls(calls)
    };
    let said = ModelAnswer {
        shown: world.items.keys().take(5).cloned().collect(),
        ..said
    };
    world.send(said.to(world));
}

fn call_ends(world: &mut World) {
    if !is_asked(world, "run_tool") {
        return;
    }
    let stamp = world.stamp().expect("a call runs");
    let writes_plan = matches!(
        commands::running(world),
        Some((_, holon_domain::intent::HostAction::WritePlan, _))
    );
    if writes_plan {
        let consequence = Consequence::PlanWritten(plan("look first"));
        world.send(Input::ToolFinished {
            stamp,
            consequence,
            duration_ms: 1,
        });
    } else {
        world.send(make::tool_ok(stamp));
    }
}

fn perform(world: &mut World, op: &Op) {
    let command = |world: &mut World, command| drop(world.send(operator(command)));
    match op {
        Op::OperatorMakes => command(world, WorkCommand::Create(new_item("answer the mail"))),
        Op::OperatorChanges(which) => {
            let work_item_id = chosen(world, *which);
            let change = plan_status(PlanStatus::Ready);
            command(
                world,
                WorkCommand::Update {
                    work_item_id,
                    change,
                },
            );
        }
        Op::OperatorCompletes(which) => {
            let work_item_id = chosen(world, *which);
            command(world, WorkCommand::Complete { work_item_id });
        }
        Op::OperatorResumes(which) => {
            let work_item_id = chosen(world, *which);
            command(world, WorkCommand::Resume { work_item_id });
        }
        Op::OperatorCancelsWait(which) => {
            let wait_id = wait_id(world, *which);
            command(world, WorkCommand::CancelWait { wait_id });
        }
        Op::OperatorSetsTimer(ms, repeats, missed) => {
            let first_at = world.now.plus_millis(*ms);
            let schedule = if *repeats {
                TimerSchedule::Every {
                    first_at,
                    interval_ms: *ms,
                }
            } else {
                TimerSchedule::Once { at: first_at }
            };
            let new = NewTimer {
                missed: *missed,
                ..new_timer(schedule)
            };
            command(world, WorkCommand::CreateTimer(new));
        }
        Op::OperatorCancelsTimer(which) => {
            let at = which.checked_rem(world.timers.len());
            if let Some(at) = at {
                let timer_id = world.timers[at].id.clone();
                command(world, WorkCommand::CancelTimer { timer_id });
            }
        }
        Op::Prompt => drop(world.send(prompt())),
        Op::News => drop(world.send(news())),
        Op::Hint(source, body) => {
            let body = body.then(|| "red".to_owned());
            let hint = hint(&format!("source {source}"));
            world.send(woken(WakeHint { body, ..hint }));
        }
        Op::Answer(calls) => answer(world, calls),
        Op::CallEnds => call_ends(world),
        Op::Promote => {
            if let (true, Some(spec)) = (is_asked(world, "run_tool"), commands::running_spec(world))
            {
                let stamp = world.stamp().expect("a command runs");
                world.send(commands::goes_on(stamp, spec));
            }
        }
        Op::TaskEnds => {
            let task = world.active_tasks().next().cloned();
            if let Some(task) = task {
                let input = commands::reported(world, &task, commands::exited(0));
                world.send(input);
            }
        }
        Op::Fails(kind) => {
            if is_asked(world, "call_model") {
                let stamp = world.stamp().expect("a model is asked");
                world.send(make::failed(*kind, stamp, world.now));
            }
        }
        Op::DueComes => {
            if !world.due.is_empty() {
                world.let_due_come();
            }
        }
        Op::Advances(ms) => world.advance(*ms),
        Op::Stop => drop(world.send(Input::Stop)),
        Op::Start => {
            world.send(Input::Start);
            if is_asked(world, "prepare_home") {
                let stamp = world.stamp().expect("its home is made");
                world.send(make::home_prepared(stamp, Ok(())));
            }
        }
        Op::Restart(clean) => drop(world.recover(*clean)),
    }
}

/// Returns true if an event may move the focus: the agent's own answer, the end of a call, or the completion of the
/// current item.
fn may_move_focus(op: &Op) -> bool {
    matches!(
        op,
        Op::Answer(_) | Op::CallEnds | Op::Promote | Op::OperatorCompletes(_)
    )
}

/// Asserts that no tick has more authority than its item.
fn assert_no_authority_gained(world: &World) {
    for kept in world.messages.values() {
        let message = &kept.entry.envelope;
        let Some(id) = message
            .work_item_id
            .as_ref()
            .filter(|_| message.kind == MessageKind::SystemTick)
        else {
            continue;
        };
        let worth = world.items[id].provenance.authority;
        let weaker = message
            .authority_class
            .weaker(AuthorityClass::RuntimeInstruction);
        assert_eq!(
            message.authority_class, weaker,
            "a tick is never the operator"
        );
        // A weaker turn may have reworded the item since, never a stronger one.
        assert!(worth.weaker(message.authority_class) == worth || worth != message.authority_class);
    }
}

fn assert_each_slot_once(world: &World) {
    let mut told = BTreeSet::new();
    for event in &world.events {
        if let Event::TimerFired(fired) = event
            && fired.message_id.is_some()
        {
            let slot = (fired.timer_id.to_string(), fired.planned_at);
            assert!(told.insert(slot), "a slot is told once: {fired:?}");
        }
    }
}

fn live(ops: &[Op]) -> World {
    let mut world = states::idle();
    for op in ops {
        let focus = current(&world).cloned();
        perform(&mut world, op);
        assert_rows_agree(&world);
        if !may_move_focus(op) {
            assert_eq!(current(&world), focus.as_ref(), "{op:?} moved the focus");
        }
        let done = current(&world).map(|id| item(&world, id).state);
        assert_ne!(
            done,
            Some(WorkItemState::Completed),
            "a completed item has no focus"
        );
    }
    assert_no_authority_gained(&world);
    assert_each_slot_once(&world);
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rows_of_an_agent_with_work_agree_after_every_step(
        ops in prop::collection::vec(op(), 1..120),
    ) {
        live(&ops);
    }

    #[test]
    fn an_agent_that_nothing_happens_to_any_more_comes_to_rest_within_a_budget_of_ticks(
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut world = live(&ops);
        perform(&mut world, &Op::Start);
        for timer in world.active_timers().map(|timer| timer.id.clone()).collect::<Vec<_>>() {
            world.send(operator(WorkCommand::CancelTimer { timer_id: timer }));
        }
        let before = ticks(&world);
        let owed = world.active_tasks().count() + world.active_waits().count() + world.queue().pending as usize + 2;
        for _ in 0..2_000 {
            let at_rest = world.agent.open_turn.is_none() && world.due.is_empty();
            if at_rest && world.active_tasks().next().is_none() {
                break;
            }
            settle(&mut world);
            assert_rows_agree(&world);
        }
        prop_assert_eq!(world.agent.open_turn.clone(), None);
        prop_assert_eq!(world.agent.lifecycle, Lifecycle::Runnable);
        prop_assert_eq!(world.agent.work.items.runnable, 0, "what could go on was tried and stalled");
        // Each end of a task or a wait allows three more ticks for every open item.
        let open = world.items.values().filter(|item| item.state == WorkItemState::Open).count();
        let budget = 3 * open * (owed + 1);
        let sent = ticks(&world) - before;
        prop_assert!(sent <= budget, "{sent} ticks for {open} items and {owed} causes");
    }
}

fn ticks(world: &World) -> usize {
    let is_tick = |event: &&Event| matches!(event, Event::SystemTickEmitted(tick) if tick.subsystem == "work_queue");
    world.events.iter().filter(is_tick).count()
}

/// Performs the next outstanding effect or due entry successfully.
fn settle(world: &mut World) {
    if world.stamp().is_some() {
        call_ends(world);
        let shown: Vec<WorkItemId> = world.items.keys().cloned().collect();
        if is_asked(world, "call_model") {
            let said = ModelAnswer {
                shown,
                ..ModelAnswer::words("done for now")
            };
            world.send(said.after(world.interjections()).to(world));
        }
    } else if world.due.is_empty() {
        perform(world, &Op::TaskEnds);
    } else {
        world.let_due_come();
    }
}
