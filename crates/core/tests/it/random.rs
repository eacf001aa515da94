//! Random lives of an agent: after every step the rows agree with each other and with the core's own check.

use crate::make::{self, Said};
use crate::states;
use crate::world::{Sent, World};
use holon_core::assess::is_self_caused;
use holon_core::{Input, Reply, Stamp};
use holon_domain::agent::{AgentRecord, Lifecycle};
use holon_domain::block::calls_of;
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::event::Event;
use holon_domain::limits;
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::model::{ModelFailureKind, StopReason};
use holon_domain::queue::QueueStatus;
use holon_domain::turn::Phase;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// One thing that happens.
#[derive(Debug, Clone)]
enum Op {
    Prompt(Priority, Option<u32>),
    Outside(Priority, &'static str),
    Answer(Shape, usize),
    Fail(ModelFailureKind),
    ToolEnds,
    HomeEnds(Result<(), &'static str>),
    DueComes,
    Advance(u64),
    Configure,
    Start,
    Stop,
    Delete,
    Crash { clean: bool },
    GiveUp,
    Continue,
    StaleDue,
}

/// What an answer holds.
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
        2 => Just(Call::Get),
        1 => Just(Call::Bad),
        3 => priority().prop_map(Call::Enqueue),
        2 => prop::option::of(1..5_000_u64).prop_map(Call::Sleep),
    ]
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
        4 => home.prop_map(Op::HomeEnds),
        8 => Just(Op::DueComes),
        3 => (0..200_000_u64).prop_map(Op::Advance),
        1 => Just(Op::Configure),
        2 => Just(Op::Start),
        1 => Just(Op::Stop),
        1 => prop::bool::weighted(0.2).prop_map(|yes| if yes { Op::Delete } else { Op::Continue }),
        2 => any::<bool>().prop_map(|clean| Op::Crash { clean }),
        1 => Just(Op::GiveUp),
        1 => Just(Op::StaleDue),
    ]
}

fn said(shape: Shape) -> Said {
    let calls = |calls: Vec<Call>| {
        let made = calls.into_iter().map(|call| match call {
            Call::Exec => make::exec(),
            Call::Get => make::agent_get(),
            Call::Bad => make::misunderstood(),
            Call::Enqueue(priority) => make::enqueue(priority),
            Call::Sleep(duration) => make::sleep(duration),
        });
        made.collect()
    };
    match shape {
        Shape::Words(words) => Said::words(words),
        Shape::Refusal => Said {
            stop: StopReason::Refusal,
            ..Said::words("I would rather not")
        },
        Shape::Calls(made) => Said::calls(calls(made)),
        Shape::CutOff(made) => Said::calls(calls(made)).cut_off(),
    }
}

/// The stamp of the open effect if it is of this name; of nothing in particular otherwise.
fn stamp_of(world: &World, names: &[&str]) -> (Stamp, bool) {
    let open = world
        .effects
        .values()
        .find(|open| names.contains(&open.effect.name()));
    let stamp = open.map(|open| Stamp {
        effect: open.id,
        generation: open.generation,
    });
    let stale = Stamp {
        effect: world.agent.counters.effects,
        generation: world.agent.generation.saturating_sub(1),
    };
    (stamp.unwrap_or(stale), stamp.is_some())
}

fn answer(world: &mut World, shape: Shape, held: usize) -> (Sent, bool) {
    let (stamp, awaited) = stamp_of(world, &["call_model"]);
    let interjected = world.interjections().into_iter().take(held).collect();
    let input = said(shape).after(interjected).stamped(stamp, world.now);
    (world.send(input), awaited)
}

fn home_ends(world: &mut World, result: Result<(), &str>) -> (Sent, bool) {
    let (stamp, awaited) = stamp_of(world, &["prepare_home", "remove_home"]);
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

/// Does it, and says whether it was an outcome that nobody waited for.
fn perform(world: &mut World, op: Op) -> (Sent, bool) {
    let plain = |sent: Sent| (sent, false);
    let outcome = |(sent, awaited): (Sent, bool)| (sent, !awaited);
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
            let (stamp, awaited) = stamp_of(world, &["call_model"]);
            outcome((world.send(make::failed(kind, stamp, world.now)), awaited))
        }
        Op::ToolEnds => {
            let (stamp, awaited) = stamp_of(world, &["run_tool"]);
            outcome((world.send(make::tool_ok(stamp)), awaited))
        }
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
        Op::Start => plain(world.send(Input::Start)),
        Op::Stop => plain(world.send(Input::Stop)),
        Op::Delete => plain(world.send(Input::Delete)),
        Op::Crash { clean } => plain(world.recover(clean)),
        Op::GiveUp => plain(world.send(Input::GiveUp {
            message: "a rule was broken".to_owned(),
        })),
        Op::Continue => plain(world.send(Input::Continue)),
        Op::StaleDue => {
            let before = world.agent.clone();
            let sent = world.send(Input::DueCame {
                id: 1_000_000,
                planned_at: world.now,
                due: holon_domain::timer::Due::PaceOver,
            });
            assert_eq!((sent.facts.len(), &world.agent), (0, &before));
            plain(sent)
        }
    }
}

/// A stale outcome leaves one event and nothing else.
fn assert_dropped(before: AgentRecord, after: &World, sent: &Sent) {
    assert_eq!(sent.reply, Ok(Reply::Unchanged));
    let [Fact::EventRecorded { event, .. }] = sent.facts.as_slice() else {
        panic!("a stale outcome led to {:?}", sent.facts);
    };
    assert!(matches!(event, Event::EffectOutcomeDropped(_)));
    let mut expected = before;
    expected.counters.events += 1;
    assert_eq!(after.agent, expected);
}

/// Every operator message has no outcome while it waits or is worked on, and exactly one from then on.
fn assert_outcomes(world: &World) {
    let owed: Vec<u64> = world
        .agent
        .open_turn
        .iter()
        .flat_map(|turn| turn.owes.iter().map(|owed| owed.seq))
        .collect();
    for kept in world.messages.values() {
        let (seq, status) = (kept.entry.seq, kept.entry.status);
        let open = owed.contains(&seq) || status == QueueStatus::Queued;
        let expects = kept.entry.envelope.owes_outcome() && !open;
        assert_eq!(kept.outcome.is_some(), expects, "message {seq}, {status:?}");
    }
    let named: usize = world.briefs.iter().map(|brief| brief.settles.len()).sum();
    let settled = world
        .messages
        .values()
        .filter(|kept| kept.outcome.is_some());
    assert_eq!(named, settled.count(), "a brief names what it settles");
}

/// Every call has exactly one result, in its own turn, unless it is still to run.
fn assert_results(world: &World) {
    let mut results: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (turn, entry) in &world.log {
        if let LogEntry::ToolResult { call_id, .. } = entry {
            results.entry(call_id.as_str()).or_default().push(*turn);
        }
    }
    let in_hand = world.agent.open_turn.as_ref().map(|turn| &turn.phase);
    for (at, (turn, entry)) in world.log.iter().enumerate() {
        let LogEntry::AssistantRound { blocks, .. } = entry else {
            continue;
        };
        for (index, call) in calls_of(blocks).enumerate() {
            let waits = matches!(in_hand, Some(Phase::RunningTool { round_entry, call_index, .. })
                if *round_entry == at as u64 + 1 && index >= *call_index);
            let expected: &[u64] = if waits { &[] } else { &[*turn] };
            let found = results.remove(call.id.as_str()).unwrap_or_default();
            assert_eq!(
                found,
                expected,
                "results of call {index} of entry {}",
                at + 1
            );
        }
    }
    assert!(
        results.is_empty(),
        "results of calls nobody made: {results:?}"
    );
}

fn assert_rows_agree(world: &World) {
    assert_eq!(world.violations(), []);
    assert_outcomes(world);
    assert_results(world);
    if let Some(turn) = &world.agent.open_turn {
        let in_bounds = turn.rounds < turn.max_rounds;
        assert!(in_bounds, "an open turn has rounds left");
    }
    let own = world.in_status(QueueStatus::Queued).into_iter();
    let own = own.filter(|entry| is_self_caused(&entry.envelope)).count();
    assert_eq!(world.agent.self_caused_queued, own as u64);
    if world.agent.pace.is_some() && world.agent.lifecycle == Lifecycle::Runnable {
        let head = world.queue().head.expect("what is paced is queued");
        assert_eq!(head.envelope.priority, Priority::Background);
    }
    assert!(world.agent.open_turn.as_ref().is_none_or(|turn| {
        turn.followups <= limits::FOLLOWUPS_PER_TURN
            && turn.output_limit_hits <= limits::OUTPUT_LIMIT_RECOVERIES
    }));
}

/// Where a life begins: states that random steps alone seldom reach among them.
fn beginning() -> impl Strategy<Value = fn() -> World> {
    let all: Vec<fn() -> World> = vec![
        states::booting,
        states::idle,
        states::calling_model_with_interjection,
        states::running_tool,
        states::paced,
        states::chatty,
        states::stopped,
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
            if world.agent.open_turn.is_none() && world.due.is_empty() {
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

/// The next thing the world owes the agent, in the friendliest form.
fn drain(world: &mut World) {
    if world.agent.open_turn.is_none() || world.effects.is_empty() {
        world.let_due_come();
        return;
    }
    match stamp_of(world, &["run_tool"]) {
        (stamp, true) => drop(world.send(make::tool_ok(stamp))),
        (_, false) => drop(answer(world, Shape::Words("done"), 16)),
    }
}
