//! Tests every state with every input: the reply, the facts and the state after it.
//!
//! Each row of these tables is part of the contract. The core's invariants are checked after each of them.

use crate::make::{self, ModelAnswer};
use crate::world::{World, stamp_of};
use crate::{commands, render, states};
use holon_core::{Input, Stamp};
use holon_domain::message::Priority;
use holon_domain::model::ModelFailureKind;
use holon_domain::timer::DueAction;
use holon_domain::{TaskId, Timestamp};

/// Returns every input by name, as it would reach this world.
fn inputs(world: &World) -> Vec<(&'static str, Input)> {
    let mut all = ingress();
    all.extend(outcomes(world));
    all.extend(reports(world));
    all.extend(patches(world));
    all.extend(times(world));
    all.extend(commands());
    all
}

fn ingress() -> Vec<(&'static str, Input)> {
    let prompt = |priority| make::admit(make::prompt(priority));
    let outside = |words| make::admit(make::channel_event(words, Priority::Normal));
    vec![
        ("admit: operator prompt", prompt(Priority::Normal)),
        (
            "admit: operator prompt, interject",
            prompt(Priority::Interject),
        ),
        (
            "admit: channel event with words",
            outside("it is raining on the square"),
        ),
        ("admit: channel event without words", outside("")),
    ]
}

/// Returns the stamp of the open effect of any kind.
fn current(world: &World) -> Stamp {
    world.stamp().unwrap_or(Stamp {
        effect: 99,
        generation: world.agent.generation,
    })
}

fn outcomes(world: &World) -> Vec<(&'static str, Input)> {
    let (now, stamp) = (world.now, current(world));
    let failed = |kind| make::failed(kind, stamp, now);
    let mut all = vec![
        ("home prepared", make::home_prepared(stamp, Ok(()))),
        (
            "home not prepared",
            make::home_prepared(stamp, Err("disk full")),
        ),
        ("home removed", make::home_removed(stamp, Ok(()))),
        (
            "home not removed",
            make::home_removed(stamp, Err("disk gone")),
        ),
    ];
    let answers = answers(world).into_iter();
    all.extend(answers.map(|(name, said)| (name, said.stamped(stamp, now))));
    all.extend([
        (
            "model failed: server error",
            failed(ModelFailureKind::ServerError),
        ),
        ("model failed: auth", failed(ModelFailureKind::Auth)),
        (
            "model failed: context length",
            failed(ModelFailureKind::ContextLengthExceeded),
        ),
        ("tool finished", make::tool_ok(stamp)),
    ]);
    let goes_on = commands::running_spec(world)
        .or_else(|| {
            commands::running(world)
                .is_none()
                .then(commands::strange_spec)
        })
        .map(|spec| commands::goes_on(stamp, spec));
    all.extend(goes_on.map(|input| ("tool finished, its command goes on", input)));
    all.extend(stale_outcomes(stamp, now));
    all
}

/// Builds reports about the first patch of a cancelled turn, by its own effect and by others.
fn patches(world: &World) -> Vec<(&'static str, Input)> {
    let open = world.patches();
    let stamp = open
        .first()
        .map_or_else(|| current(world), |open| stamp_of(open));
    let [older, other] = stale(stamp);
    let finished = |stamp| Input::PatchFinished { stamp };
    vec![
        ("patch finished", finished(stamp)),
        ("patch finished, stale generation", finished(older)),
        ("patch finished, another effect", finished(other)),
    ]
}

/// Returns the first task, or an unknown id.
fn first_task(world: &World) -> TaskId {
    let first = world.tasks.first();
    first.map_or_else(commands::unknown_task, |task| task.id.clone())
}

/// Builds reports about the first task, by its own effect and by others.
fn reports(world: &World) -> Vec<(&'static str, Input)> {
    let following = world.tasks.first().and_then(|task| world.following(task));
    let stamp = following.map_or_else(|| current(world), stamp_of);
    let [older, other] = stale(stamp);
    let ended = |stamp, report| commands::task_ended(stamp, first_task(world), report);
    vec![
        ("task ended: exit 0", ended(stamp, commands::exited(0))),
        ("task ended: exit 3", ended(stamp, commands::exited(3))),
        ("task ended: stopped", ended(stamp, commands::stopped())),
        ("task lost", ended(stamp, commands::lost())),
        (
            "task ended, stale generation",
            ended(older, commands::exited(0)),
        ),
        (
            "task ended, another effect",
            ended(other, commands::exited(0)),
        ),
        (
            "task ended: an unknown one",
            commands::task_ended(stamp, commands::unknown_task(), commands::exited(0)),
        ),
    ]
}

fn answers(world: &World) -> Vec<(&'static str, ModelAnswer)> {
    let words = || ModelAnswer::words("here you are");
    let settled_by_the_kernel = vec![
        make::agent_get(),
        make::enqueue(Priority::Next),
        make::misunderstood(),
    ];
    vec![
        ("answer: words", words()),
        (
            "answer: words, its request held the interjections",
            words().after(world.interjections()),
        ),
        ("answer: nothing", ModelAnswer::words("")),
        (
            "answer: two commands",
            ModelAnswer::calls(vec![make::exec(), make::exec()]),
        ),
        (
            "answer: a patch",
            ModelAnswer::calls(vec![commands::patch()]),
        ),
        (
            "answer: a batch",
            ModelAnswer::calls(vec![commands::batch(&["make", "make test"])]),
        ),
        (
            "answer: a look at the tasks",
            ModelAnswer::calls(vec![
                commands::task_list(),
                commands::task_status(&first_task(world)),
                commands::task_output(&first_task(world)),
            ]),
        ),
        (
            "answer: stop the first task",
            ModelAnswer::calls(vec![commands::task_stop(&first_task(world))]),
        ),
        (
            "answer: stop the first task twice",
            ModelAnswer::calls(vec![commands::task_stop(&first_task(world)); 2]),
        ),
        (
            "answer: calls the kernel settles itself",
            ModelAnswer::calls(settled_by_the_kernel),
        ),
        (
            "answer: sleep alone for a minute",
            ModelAnswer::calls(vec![make::sleep(Some(60_000))]),
        ),
        (
            "answer: sleep alone without an end",
            ModelAnswer::calls(vec![make::sleep(None)]),
        ),
        (
            "answer: sleep beside a command",
            ModelAnswer::calls(vec![make::sleep(None), make::exec()]),
        ),
        ("answer: words, cut off", words().cut_off()),
        (
            "answer: a command, cut off",
            ModelAnswer::calls(vec![make::exec()]).cut_off(),
        ),
    ]
}

/// Returns stale stamps: the same effect of an older generation, and another effect.
const fn stale(stamp: Stamp) -> [Stamp; 2] {
    let older = Stamp {
        generation: stamp.generation - 1,
        ..stamp
    };
    let other = Stamp {
        effect: stamp.effect + 50,
        ..stamp
    };
    [older, other]
}

fn stale_outcomes(stamp: Stamp, now: Timestamp) -> Vec<(&'static str, Input)> {
    let [older, other] = stale(stamp);
    let words = || ModelAnswer::words("here you are");
    vec![
        ("answer, stale generation", words().stamped(older, now)),
        ("answer, another effect", words().stamped(other, now)),
        (
            "model failed, stale generation",
            make::failed(ModelFailureKind::Auth, older, now),
        ),
        ("tool finished, stale generation", make::tool_ok(older)),
        ("tool finished, another effect", make::tool_ok(other)),
    ]
}

fn times(world: &World) -> Vec<(&'static str, Input)> {
    let stale = |due| Input::DueCame {
        id: 77,
        planned_at: world.now,
        due,
    };
    let awaited = world
        .first_due()
        .map(|input| ("due came: the one waited for", input));
    let unawaited = vec![
        (
            "due came: a rest no state waits for",
            stale(DueAction::RestOver { reason: None }),
        ),
        (
            "due came: a back-off no state waits for",
            stale(DueAction::ProviderPauseOver { turn_index: 1 }),
        ),
        (
            "due came: a pace no state waits for",
            stale(DueAction::PaceOver),
        ),
    ];
    awaited.into_iter().chain(unawaited).collect()
}

fn commands() -> Vec<(&'static str, Input)> {
    vec![
        (
            "configure",
            Input::Configure {
                workspace: Some(make::workspace("other")),
                model: Some(make::choice("scripted/other")),
            },
        ),
        ("start", Input::Start),
        (
            "credential renewed",
            Input::CredentialRenewed {
                provider: "scripted".to_owned(),
            },
        ),
        ("stop", Input::Stop),
        ("delete", Input::Delete),
        (
            "give up",
            Input::GiveUp {
                message: "a rule was broken".to_owned(),
            },
        ),
        ("continue", Input::Continue),
    ]
}

fn table(state: fn() -> World) -> String {
    let start = state();
    let mut text = format!("FROM {}\n", render::standing(&start));
    let mut add = |name: &str, send: &dyn Fn(&mut World) -> crate::world::Outcome| {
        let mut world = state();
        world.advance(1_000);
        let sent = send(&mut world);
        assert_eq!(world.violations(), [], "after {name}");
        text += "\n";
        text += &render::row(name, &sent, &world);
    };
    for (name, input) in inputs(&start) {
        add(name, &|world| {
            if let Input::DueCame { planned_at, .. } = &input {
                world.now = world.now.max(*planned_at);
            }
            world.send(input.clone())
        });
    }
    add("recover after a clean exit", &|world| world.recover(true));
    add("recover after an unclean exit", &|world| {
        world.recover(false)
    });
    text
}

#[test]
fn a_booting_agent() {
    insta::assert_snapshot!(table(states::booting));
}

#[test]
fn an_idle_agent() {
    insta::assert_snapshot!(table(states::idle));
}

#[test]
fn an_agent_with_a_queue() {
    insta::assert_snapshot!(table(states::with_queue));
}

#[test]
fn an_agent_that_calls_its_model() {
    insta::assert_snapshot!(table(states::calling_model));
}

#[test]
fn an_agent_that_calls_its_model_while_an_interjection_waits() {
    insta::assert_snapshot!(table(states::calling_model_with_interjection));
}

#[test]
fn an_agent_that_backs_off() {
    insta::assert_snapshot!(table(states::backing_off));
}

#[test]
fn an_agent_whose_turn_is_suspended() {
    insta::assert_snapshot!(table(states::suspended));
}

#[test]
fn an_agent_whose_turn_is_suspended_until_an_operator_acts() {
    insta::assert_snapshot!(table(states::suspended_for_operator));
}

#[test]
fn an_agent_that_runs_a_tool() {
    insta::assert_snapshot!(table(states::running_tool));
}

#[test]
fn an_agent_that_rests_until_a_time() {
    insta::assert_snapshot!(table(|| states::resting(Some(60_000))));
}

#[test]
fn an_agent_that_rests_until_something_arrives() {
    insta::assert_snapshot!(table(|| states::resting(None)));
}

#[test]
fn an_agent_that_is_paced() {
    insta::assert_snapshot!(table(states::paced));
}

#[test]
fn a_stopped_agent() {
    insta::assert_snapshot!(table(states::stopped));
}

#[test]
fn an_agent_that_is_being_removed() {
    insta::assert_snapshot!(table(states::deleting));
}

#[test]
fn an_agent_that_applies_a_patch() {
    insta::assert_snapshot!(table(states::running_patch));
}

#[test]
fn a_stopped_agent_whose_patch_goes_on() {
    insta::assert_snapshot!(table(states::stopped_with_patch));
}

#[test]
fn an_agent_with_a_patch_that_is_being_removed() {
    insta::assert_snapshot!(table(states::deleting_with_patch));
}

#[test]
fn an_agent_with_a_task() {
    insta::assert_snapshot!(table(states::with_task));
}

#[test]
fn an_agent_with_a_task_that_is_being_stopped() {
    insta::assert_snapshot!(table(states::with_task_stopping));
}

#[test]
fn an_agent_that_calls_its_model_beside_a_task() {
    insta::assert_snapshot!(table(|| states::beside_tasks(1)));
}

#[test]
fn an_agent_that_calls_its_model_while_a_result_waits() {
    insta::assert_snapshot!(table(states::calling_model_with_result));
}

#[test]
fn a_stopped_agent_with_a_task() {
    insta::assert_snapshot!(table(states::stopped_with_task));
}

#[test]
fn an_agent_with_a_task_that_is_being_removed() {
    insta::assert_snapshot!(table(states::deleting_with_task));
}
