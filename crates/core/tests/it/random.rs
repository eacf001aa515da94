//! Property tests with random histories of an agent: after every step the rows agree with each other and with the
//! core's invariants.

use crate::commands;
use crate::laws::{assert_dropped, assert_outcomes, assert_rows_agree};
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::{Outcome, World, stamp_of};
use holon_core::{Input, Reply, Stamp};
use holon_domain::TaskId;
use holon_domain::agent::Lifecycle;
use holon_domain::effect::Effect;
use holon_domain::message::Priority;
use holon_domain::model::{ModelFailureKind, StopReason};
use holon_domain::task::{TaskRecord, TaskReport};
use proptest::prelude::*;

/// One random event in the life of an agent.
#[derive(Debug, Clone)]
enum Op {
    Prompt(Priority, Option<u32>),
    Outside(Priority, &'static str),
    Answer(Shape, usize),
    Fail(ModelFailureKind),
    ToolEnds,
    /// The command of the call becomes a task, if it can.
    Promote,
    /// The effect of an active task reports its end.
    TaskEnds(usize, TaskReport),
    /// A stale effect reports the end of a task, active or ended.
    StaleReport(usize, TaskReport),
    /// A patch of a cancelled turn is finished.
    PatchEnds,
    HomeEnds(Result<(), &'static str>),
    DueComes,
    Advance(u64),
    Configure,
    Renew,
    Start,
    Stop,
    Delete,
    Crash {
        clean: bool,
    },
    Doubt,
    GiveUp,
    Continue,
    StaleDue,
}

/// The content of an answer.
#[derive(Debug, Clone)]
enum Shape {
    Words(&'static str),
    Refusal,
    Calls(Vec<Call>),
    CutOff(Vec<Call>),
}

#[derive(Debug, Clone, Copy)]
enum Call {
    Exec,
    Batch,
    Patch,
    TaskList,
    TaskStatus(usize),
    TaskStop(usize),
    TaskInput(usize),
    TaskOutput(usize),
    Get,
    Bad,
    Enqueue(Priority),
    Sleep(Option<u64>),
}

fn priority() -> impl Strategy<Value = Priority> {
    prop::sample::select(Priority::ALL.to_vec())
}

fn call() -> impl Strategy<Value = Call> {
    prop_oneof![
        4 => Just(Call::Exec),
        1 => Just(Call::Batch),
        1 => Just(Call::Patch),
        1 => Just(Call::TaskList),
        1 => any::<usize>().prop_map(Call::TaskStatus),
        2 => any::<usize>().prop_map(Call::TaskStop),
        1 => any::<usize>().prop_map(Call::TaskInput),
        1 => any::<usize>().prop_map(Call::TaskOutput),
        2 => Just(Call::Get),
        1 => Just(Call::Bad),
        3 => priority().prop_map(Call::Enqueue),
        2 => prop::option::of(1..5_000_u64).prop_map(Call::Sleep),
    ]
}

fn report() -> impl Strategy<Value = TaskReport> {
    let all = commands::reports().map(|(_, report)| report);
    prop::sample::select(all.to_vec())
}

fn shape() -> impl Strategy<Value = Shape> {
    prop_oneof![
        4 => prop::sample::select(vec!["done", ""]).prop_map(Shape::Words),
        1 => Just(Shape::Refusal),
        6 => prop::collection::vec(call(), 1..4).prop_map(Shape::Calls),
        2 => prop::collection::vec(call(), 0..2).prop_map(Shape::CutOff),
    ]
}

fn op() -> impl Strategy<Value = Op> {
    let bound = prop::option::weighted(0.3, 1..4_u32);
    let words = prop::sample::select(vec!["news", ""]);
    let kinds = prop::sample::select(ModelFailureKind::ALL.to_vec());
    let home = prop::sample::select(vec![Ok(()), Ok(()), Ok(()), Err("disk full")]);
    prop_oneof![
        6 => (priority(), bound).prop_map(|(priority, bound)| Op::Prompt(priority, bound)),
        3 => (priority(), words).prop_map(|(priority, words)| Op::Outside(priority, words)),
        20 => (shape(), 0..3_usize).prop_map(|(shape, held)| Op::Answer(shape, held)),
        3 => kinds.prop_map(Op::Fail),
        10 => Just(Op::ToolEnds),
        8 => Just(Op::Promote),
        6 => (any::<usize>(), report()).prop_map(|(which, report)| Op::TaskEnds(which, report)),
        1 => (any::<usize>(), report()).prop_map(|(which, report)| Op::StaleReport(which, report)),
        2 => Just(Op::PatchEnds),
        4 => home.prop_map(Op::HomeEnds),
        8 => Just(Op::DueComes),
        3 => (0..200_000_u64).prop_map(Op::Advance),
        1 => Just(Op::Configure),
        1 => Just(Op::Renew),
        2 => Just(Op::Start),
        1 => Just(Op::Stop),
        1 => prop::bool::weighted(0.2).prop_map(|yes| if yes { Op::Delete } else { Op::Continue }),
        2 => any::<bool>().prop_map(|clean| Op::Crash { clean }),
        1 => Just(Op::Doubt),
        1 => Just(Op::GiveUp),
        1 => Just(Op::StaleDue),
    ]
}

/// Picks a task, active or ended; an unknown id if there is none.
fn pick(world: &World, which: usize) -> TaskId {
    let known = which.checked_rem(world.tasks.len());
    known.map_or_else(commands::unknown_task, |at| world.tasks[at].id.clone())
}

fn said(world: &World, shape: Shape) -> ModelAnswer {
    let calls = |calls: Vec<Call>| {
        let made = calls.into_iter().map(|call| match call {
            Call::Exec => make::exec(),
            Call::Batch => commands::batch(&["make", "make test"]),
            Call::Patch => commands::patch(),
            Call::TaskList => commands::task_list(),
            Call::TaskStatus(which) => commands::task_status(&pick(world, which)),
            Call::TaskStop(which) => commands::task_stop(&pick(world, which)),
            Call::TaskInput(which) => commands::task_input(&pick(world, which)),
            Call::TaskOutput(which) => commands::task_output(&pick(world, which)),
            Call::Get => make::agent_get(),
            Call::Bad => make::misunderstood(),
            Call::Enqueue(priority) => make::enqueue(priority),
            Call::Sleep(duration) => make::sleep(duration),
        });
        made.collect()
    };
    match shape {
        Shape::Words(words) => ModelAnswer::words(words),
        Shape::Refusal => ModelAnswer {
            stop: StopReason::Refusal,
            ..ModelAnswer::words("I would rather not")
        },
        Shape::Calls(made) => ModelAnswer::calls(calls(made)),
        Shape::CutOff(made) => ModelAnswer::calls(calls(made)).cut_off(),
    }
}

/// Returns the stamp of the open effect if it has one of these names, and a stale stamp otherwise.
fn stamp_for(world: &World, names: &[&str]) -> (Stamp, bool) {
    let open = world
        .effects
        .values()
        .find(|open| names.contains(&open.effect.name()));
    let stamp = open.map(stamp_of);
    let stale = Stamp {
        effect: world.agent.counters.effects,
        generation: world.agent.generation.saturating_sub(1),
    };
    (stamp.unwrap_or(stale), stamp.is_some())
}

fn answer(world: &mut World, shape: Shape, held: usize) -> (Outcome, bool) {
    let (stamp, awaited) = stamp_for(world, &["call_model"]);
    let interjected = world.interjections().into_iter().take(held).collect();
    let input = said(world, shape)
        .after(interjected)
        .stamped(stamp, world.now);
    (world.send(input), awaited)
}

fn tool_ends(world: &mut World) -> (Outcome, bool) {
    let (stamp, awaited) = stamp_for(world, &["run_tool"]);
    (world.send(make::tool_ok(stamp)), awaited)
}

fn patch_ends(world: &mut World) -> (Outcome, bool) {
    let (stamp, awaited) = stamp_for(world, &["finish_patch", "stop_batch"]);
    let is_batch = world.batches().iter().any(|open| open.id == stamp.effect);
    let input = match is_batch {
        true => commands::batch_stopped(stamp),
        false => Input::PatchFinished { stamp },
    };
    (world.send(input), awaited)
}

fn home_ends(world: &mut World, result: Result<(), &str>) -> (Outcome, bool) {
    let (stamp, awaited) = stamp_for(world, &["prepare_home", "remove_home"]);
    let removes = world
        .effects
        .values()
        .any(|open| open.effect == Effect::RemoveHome);
    let input = if removes {
        make::home_removed(stamp, result)
    } else {
        make::home_prepared(stamp, result)
    };
    (world.send(input), awaited)
}

/// Ends an active task; if there is none, reports the end of one that has ended.
fn task_ends(world: &mut World, which: usize, report: TaskReport) -> (Outcome, bool) {
    let active: Vec<TaskRecord> = world.active_tasks().cloned().collect();
    let Some(at) = which.checked_rem(active.len()) else {
        let (stamp, _) = stamp_for(world, &[]);
        let input = commands::task_ended(stamp, pick(world, which), report);
        return (world.send(input), true);
    };
    let input = commands::reported(world, &active[at], report);
    (world.send(input), false)
}

/// Performs an event. Returns true with it if it was a stale outcome.
fn perform(world: &mut World, op: Op) -> (Outcome, bool) {
    let plain = |sent: Outcome| (sent, false);
    let outcome = |(sent, awaited): (Outcome, bool)| (sent, !awaited);
    match op {
        Op::Prompt(priority, max_rounds) => {
            let mut ingress = make::prompt(priority);
            ingress.max_rounds = max_rounds;
            plain(world.send(make::admit(ingress)))
        }
        Op::Outside(priority, words) => {
            plain(world.send(make::admit(make::channel_event(words, priority))))
        }
        Op::Answer(shape, held) => outcome(answer(world, shape, held)),
        Op::Fail(kind) => {
            let (stamp, awaited) = stamp_for(world, &["call_model"]);
            outcome((world.send(make::failed(kind, stamp, world.now)), awaited))
        }
        Op::ToolEnds => outcome(tool_ends(world)),
        Op::Promote => match commands::running_spec(world) {
            Some(spec) => {
                let stamp = world.stamp().expect("a command runs");
                plain(world.send(commands::goes_on(stamp, spec)))
            }
            None => {
                let (stamp, _) = stamp_for(world, &[]);
                outcome((
                    world.send(commands::goes_on(stamp, commands::strange_spec())),
                    false,
                ))
            }
        },
        Op::TaskEnds(which, report) => task_ends(world, which, report),
        Op::StaleReport(which, report) => {
            let (stamp, _) = stamp_for(world, &[]);
            let input = commands::task_ended(stamp, pick(world, which), report);
            outcome((world.send(input), false))
        }
        Op::PatchEnds => outcome(patch_ends(world)),
        Op::HomeEnds(result) => outcome(home_ends(world, result)),
        Op::DueComes if world.due.is_empty() => plain(world.send(Input::Continue)),
        Op::DueComes => plain(world.let_due_come()),
        Op::Advance(millis) => {
            world.advance(millis);
            plain(world.send(Input::Continue))
        }
        Op::Configure => plain(world.send(Input::Configure {
            workspace: Some(make::workspace("other")),
            model: None,
        })),
        Op::Renew => plain(world.send(Input::CredentialRenewed {
            provider: "scripted".to_owned(),
        })),
        Op::Start => plain(world.send(Input::Start)),
        Op::Stop => plain(world.send(Input::Stop)),
        Op::Delete => plain(world.send(Input::Delete)),
        Op::Crash { clean } => plain(world.recover(clean)),
        Op::Doubt => plain(world.take_up()),
        Op::GiveUp => plain(world.send(Input::GiveUp {
            message: "a rule was broken".to_owned(),
        })),
        Op::Continue => plain(world.send(Input::Continue)),
        Op::StaleDue => {
            let before = world.agent.clone();
            let sent = world.send(Input::DueCame {
                id: 1_000_000,
                planned_at: world.now,
                due: holon_domain::timer::DueAction::PaceOver,
            });
            assert_eq!((sent.facts.len(), &world.agent), (0, &before));
            plain(sent)
        }
    }
}

/// Initial states, including those that random steps seldom reach.
fn beginning() -> impl Strategy<Value = fn() -> World> {
    let all: Vec<fn() -> World> = vec![
        states::booting,
        states::idle,
        states::calling_model_with_interjection,
        states::running_tool,
        states::running_patch,
        states::running_batch,
        states::paced,
        states::chatty,
        states::stopped,
        states::with_tasks_in_all_states,
        states::calling_model_with_result,
        states::stopped_with_task,
        states::stopped_with_patch,
    ];
    prop::sample::select(all)
}

fn live(mut world: World, ops: Vec<Op>) -> World {
    for op in ops {
        let before = world.agent.clone();
        let (sent, stale) = perform(&mut world, op);
        if stale {
            assert_dropped(before, &world, &sent);
        }
        assert_rows_agree(&world);
        if sent.reply == Ok(Reply::RowsMayGo) {
            break;
        }
    }
    world
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_rows_of_a_named_agent_agree_after_every_step(
        begin in beginning(),
        ops in prop::collection::vec(op(), 1..120),
    ) {
        live(begin(), ops);
    }

    #[test]
    fn the_rows_of_a_temporary_agent_agree_after_every_step(ops in prop::collection::vec(op(), 1..60)) {
        live(World::with(make::temporary_agent()), ops);
    }

    #[test]
    fn whatever_happened_an_agent_that_may_run_answers_everything_in_the_end(
        begin in beginning(),
        ops in prop::collection::vec(op(), 1..60),
    ) {
        let mut world = live(begin(), ops);
        prop_assume!(world.agent.lifecycle != Lifecycle::Deleting);
        world.send(Input::Start);
        if world.agent.lifecycle == Lifecycle::Booting {
            world = states::ready(world);
        }
        for _ in 0..2_000 {
            let at_rest = world.agent.open_turn.is_none() && world.due.is_empty();
            if at_rest && world.active_tasks().next().is_none() {
                break;
            }
            drain(&mut world);
            assert_rows_agree(&world);
        }
        prop_assert_eq!(world.queue().pending, 0);
        assert_outcomes(&world);
        let open = world.agent.open_turn.is_some();
        prop_assert!(!open, "nothing is worked on any more");
    }
}

/// Performs the next outstanding effect or due entry successfully.
fn drain(world: &mut World) {
    if world.agent.open_turn.is_none() && world.due.is_empty() {
        task_ends(world, 0, commands::exited(0));
        return;
    }
    if world.stamp().is_none() {
        world.let_due_come();
        return;
    }
    match stamp_for(world, &["run_tool"]) {
        (stamp, true) => drop(world.send(make::tool_ok(stamp))),
        (_, false) => drop(answer(world, Shape::Words("done"), 16)),
    }
}
