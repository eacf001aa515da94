//! Tests of patches whose turn is cancelled: a detached effect finishes them in every state of the agent.

use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::{World, stamp_of};
use holon_core::{Input, Reply, Stamp, needs};
use holon_domain::CallId;
use holon_domain::agent::Lifecycle;
use holon_domain::effect::Effect;
use holon_domain::event::Event;
use holon_domain::message::Priority;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::send::AgentSend;

fn give_up() -> Input {
    Input::GiveUp {
        message: "a rule was broken".to_owned(),
    }
}

const fn recover(clean_exit: bool) -> Input {
    Input::Recover {
        exit: PreviousExit::of(clean_exit),
        proven: None,
        found: Vec::new(),
    }
}

/// Returns the id of the running call.
fn running(world: &World) -> CallId {
    let (call, ..) = commands::running(world).expect("a call runs");
    call.id
}

/// Returns the calls whose patches are being finished.
fn finishing(world: &World) -> Vec<CallId> {
    let open = world.patches().into_iter();
    let calls = open.filter_map(|open| match &open.effect {
        Effect::FinishPatch { call_id } => Some(call_id.clone()),
        _ => None,
    });
    calls.collect()
}

fn stamp(world: &World) -> Stamp {
    let open = world.patches();
    stamp_of(open.first().expect("a patch is being finished"))
}

#[test]
fn letting_go_of_a_patch_leaves_an_effect_that_is_open_until_it_is_through() {
    for input in [
        Input::Stop,
        Input::Received(AgentSend::Stop),
        Input::Delete,
        give_up(),
        recover(false),
        recover(true),
        Input::TakeUp,
    ] {
        let mut world = states::running_patch();
        let call = running(&world);
        world.send(input.clone());
        assert_eq!(finishing(&world), [call], "after {input:?}");
        assert_eq!(world.violations(), [], "after {input:?}");

        let stamp = stamp(&world);
        let finished = Input::PatchFinished { stamp };
        assert_eq!(world.send(finished.clone()).reply, Ok(Reply::Done));
        assert_eq!(finishing(&world), []);
        assert_eq!(world.violations(), [], "after {input:?}");
        assert_eq!(world.send(finished).reply, Ok(Reply::Unchanged));
    }
}

#[test]
fn a_patch_that_ended_before_its_turn_was_called_off_leaves_nothing_to_finish() {
    let mut world = states::calling_model();
    world.send(ModelAnswer::calls(vec![commands::patch(), make::exec()]).to(&world));
    world.send(make::tool_ok(world.stamp().expect("the patch is applied")));
    world.send(Input::Stop);
    assert_eq!(finishing(&world), []);
}

#[test]
fn every_new_generation_asks_for_it_again_and_drops_what_the_one_before_reports() {
    for input in [
        Input::Delete,
        recover(false),
        recover(true),
        Input::TakeUp,
        Input::Received(AgentSend::Stop),
    ] {
        let mut world = states::stopped_with_patch();
        world.send(Input::Start);
        let calls = finishing(&world);
        let old = stamp(&world);
        world.send(input.clone());
        assert_eq!(finishing(&world), calls, "after {input:?}");
        assert_eq!(world.violations(), [], "after {input:?}");

        let late = world.send(Input::PatchFinished { stamp: old });
        assert_eq!(late.reply, Ok(Reply::Unchanged), "after {input:?}");
        let last = world.events.last().map(Event::kind);
        assert_eq!(last, Some("effect_outcome_dropped"));
        assert_eq!(finishing(&world), calls, "after {input:?}");
        commands::finish_patches(&mut world);
        assert_eq!(world.violations(), [], "after {input:?}");
    }
}

#[test]
fn a_home_stays_until_the_patch_whose_journal_it_holds_is_through() {
    let removes = |world: &World| {
        let mut open = world.effects.values();
        open.any(|open| open.effect == Effect::RemoveHome)
    };
    let mut world = states::deleting_with_patch();
    assert!(!removes(&world));
    world.recover(false);
    assert!(!removes(&world), "nor after a crash");
    commands::finish_patches(&mut world);
    assert!(removes(&world));
    assert_eq!(world.violations(), []);
}

#[test]
fn a_temporary_agent_that_goes_with_its_process_has_its_patch_finished_first() {
    let mut world = states::ready(World::with(make::temporary_agent()));
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(ModelAnswer::calls(vec![commands::patch()]).to(&world));
    let call = running(&world);
    world.recover(false);
    assert_eq!(world.agent.lifecycle, Lifecycle::Deleting);
    assert_eq!(finishing(&world), [call]);
    assert_eq!(world.stamp(), None, "its home stays");
    commands::finish_patches(&mut world);
    let stamp = world.stamp().expect("its home is being removed");
    let removed = world.send(make::home_removed(stamp, Ok(())));
    assert_eq!(removed.reply, Ok(Reply::RowsMayGo));
}

#[test]
fn an_agent_that_is_started_again_works_beside_its_old_patch() {
    let mut world = states::stopped_with_patch();
    let old = finishing(&world);
    world.send(Input::Start);
    let mut world = states::ready(world);
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(ModelAnswer::calls(vec![commands::patch()]).to(&world));
    let new = running(&world);
    assert_eq!(finishing(&world), old);
    world.send(Input::Stop);
    assert_eq!(finishing(&world), [old, vec![new]].concat());
    commands::finish_patches(&mut world);
    assert_eq!(world.violations(), []);
}

#[test]
fn an_outcome_of_another_kind_does_not_finish_a_patch() {
    let mut world = states::stopped_with_patch();
    let stamp = stamp(&world);
    let delivered = Input::Deliver {
        stamp,
        sends: Vec::new(),
    };
    assert_eq!(world.send(delivered).reply, Ok(Reply::Unchanged));
    assert_eq!(finishing(&world).len(), 1);
}

#[test]
fn whatever_begins_a_new_generation_forecasts_the_content_of_the_effect() {
    let world = states::stopped_with_patch();
    let id = stamp(&world).effect;
    for input in [
        Input::Stop,
        Input::Received(AgentSend::Stop),
        Input::Delete,
        give_up(),
        recover(true),
        Input::TakeUp,
    ] {
        let asked = needs(&input, &world.agent);
        assert!(asked.effects.contains(&id), "{input:?}");
    }
}
