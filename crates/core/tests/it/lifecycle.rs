//! Tests of creating, starting, stopping and removing an agent.

use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::assess::{AssessmentInput, assess};
use holon_core::input::{AfterAbort, NewAgent};
use holon_core::lifecycle::check_new;
use holon_core::{Input, Rejection, Reply, summary};
use holon_domain::agent::{AgentKind, AgentStatus, Lifecycle};
use holon_domain::brief::BriefKind;
use holon_domain::effect::Effect;
use holon_domain::event::Event;
use holon_domain::limits;
use holon_domain::message::Priority;
use holon_domain::model::{ModelChoice, ModelOptions, ModelRef};
use holon_domain::queue::QueueStatus;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, TaskId};

#[test]
fn a_new_agent_has_one_event_and_waits_for_its_home() {
    let world = states::booting();
    assert_eq!(world.event_kinds(0), ["agent_created"]);
    assert_eq!(world.agent.lifecycle, Lifecycle::Booting);
    let open: Vec<&Effect> = world.effects.values().map(|open| &open.effect).collect();
    assert_eq!(open, [&Effect::PrepareHome]);
    assert_eq!(world.violations(), []);
}

#[test]
fn messages_that_came_while_it_was_booting_are_taken_up_once_its_home_is_there() {
    let mut world = states::booting();
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(make::admit(make::prompt(Priority::Normal)));
    let world = states::ready(world);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 1);
    assert_eq!(world.in_status(QueueStatus::Queued)[0].seq, 2);
}

#[test]
fn an_agent_whose_home_fails_is_stopped_keeps_its_queue_and_can_be_started_again() {
    let mut world = states::booting();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let stamp = world.stamp().expect("its home is being made");
    world.send(make::home_prepared(stamp, Err("disk full")));
    assert_eq!(world.agent.lifecycle, Lifecycle::Stopped);
    let failure = world.agent.last_failure.clone().expect("it says why");
    assert_eq!(failure.failure_artifact.summary, "disk full");

    world.send(Input::Start);
    let world = states::ready(world);
    assert_eq!(world.in_status(QueueStatus::Dequeued).len(), 1);
    assert_eq!(world.agent.last_failure, None, "the cause is mended");
}

#[test]
fn a_stop_settles_the_message_in_hand_and_keeps_the_rest_for_after_the_start() {
    let mut world = states::stopped();
    assert_eq!(world.in_status(QueueStatus::Aborted)[0].seq, 1);
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.briefs[0].kind, BriefKind::Failure);
    assert_eq!(world.messages[&2].outcome, None);

    world.send(Input::Start);
    let world = states::ready(world);
    assert_eq!(world.in_status(QueueStatus::Dequeued)[0].seq, 2);
    assert_eq!(world.violations(), []);
}

#[test]
fn outcomes_of_before_a_stop_are_stale_after_it() {
    for state in [
        states::calling_model,
        states::running_tool,
        states::running_patch,
        states::booting,
    ] {
        let mut world = state();
        let stamp = world.stamp().expect("something is open");
        world.send(Input::Stop);
        world.send(Input::Start);
        let before = world.clone();
        for late in [
            ModelAnswer::words("late").stamped(stamp, world.now),
            make::tool_ok(stamp),
            make::home_prepared(stamp, Ok(())),
        ] {
            assert_eq!(world.send(late).reply, Ok(Reply::Unchanged));
        }
        assert_eq!(world.messages.len(), before.messages.len());
        assert_eq!(world.effects, before.effects);
        assert_eq!(
            world.event_kinds(before.events.len()),
            ["effect_outcome_dropped"; 3]
        );
    }
}

#[test]
fn a_stop_ends_a_rest_for_good() {
    let mut world = states::resting(Some(60_000));
    world.send(Input::Stop);
    assert!(world.due.is_empty());
    world.send(Input::Start);
    let world = states::ready(world);
    assert_eq!((&world.agent.rest, &world.agent.open_turn), (&None, &None));
}

#[test]
fn a_removal_goes_on_until_the_home_is_gone_and_another_delete_tries_again() {
    let mut world = states::running_patch();
    world.send(Input::Delete);
    assert_eq!(world.messages[&1].outcome, Some(1));
    assert_eq!(world.send(Input::Delete).reply, Ok(Reply::Unchanged));
    commands::finish_patches(&mut world);

    let stamp = world.stamp().expect("its home is being removed");
    world.send(make::home_removed(stamp, Err("busy")));
    assert_eq!(world.agent.lifecycle, Lifecycle::Deleting);
    assert!(world.effects.is_empty());
    assert_eq!(world.due.len(), 1, "another attempt is planned");

    assert_eq!(world.send(Input::Delete).reply, Ok(Reply::Done));
    assert!(world.due.is_empty(), "it is made now instead");
    let stamp = world.stamp().expect("its home is being removed");
    let sent = world.send(make::home_removed(stamp, Ok(())));
    assert_eq!(sent.reply, Ok(Reply::RowsMayGo));
}

#[test]
fn a_home_that_cannot_be_removed_is_tried_again_after_growing_pauses_without_an_end() {
    let mut world = states::deleting();
    let mut pauses = Vec::new();
    for _ in 0..12 {
        let stamp = world.stamp().expect("its home is being removed");
        world.send(make::home_removed(stamp, Err("busy")));
        assert_eq!(world.violations(), []);
        let shown = assess(AssessmentInput::new(&world.agent, &world.queue())).posture;
        assert!(shown.reason.contains("tried again: busy"), "{shown:?}");
        let (&id, (time, due)) = world.due.first_key_value().expect("a pause");
        let (at, due) = (time.at(), due.clone());
        assert_eq!(shown.wakes_at, Some(at));
        pauses.push(at.millis_since(world.now));
        world.now = at;
        let planned_at = at;
        world.send(Input::DueCame {
            id,
            planned_at,
            due,
        });
    }
    assert_eq!(pauses[..3], [1_000, 2_000, 4_000]);
    assert_eq!(pauses.last(), Some(&limits::REMOVAL_PAUSE_MAX_MS));
    // A boot retries at once, and clears the pause that it finds.
    let stamp = world.stamp().expect("its home is being removed");
    world.send(make::home_removed(stamp, Err("busy")));
    world.recover(true);
    assert!(world.due.is_empty());
    let stamp = world.stamp().expect("its home is being removed");
    let gone = world.send(make::home_removed(stamp, Ok(())));
    assert_eq!(gone.reply, Ok(Reply::RowsMayGo));
}

#[test]
fn an_agent_without_a_home_refuses_with_a_reason_of_its_own() {
    let mut world = states::booting();
    let stamp = world.stamp().expect("its home is being made");
    world.send(make::home_prepared(stamp, Err("disk full")));
    let refused = world.send(make::admit(make::prompt(Priority::Normal)));
    let Err(rejection @ Rejection::NoHome { .. }) = refused.reply else {
        panic!("{refused:?}");
    };
    assert!(rejection.to_string().ends_with("disk full"), "{rejection}");
    let stopped = states::stopped().send(make::admit(make::prompt(Priority::Normal)));
    let agent_id = make::agent_id();
    assert_eq!(stopped.reply, Err(Rejection::Stopped { agent_id }));
}

#[test]
fn a_generation_is_never_one_that_another_agent_of_the_host_has_had() {
    let mut world = states::calling_model();
    world.newest_generation = 40;
    world.send(Input::Stop);
    assert_eq!(world.agent.generation, 41);
    // An agent of a build that counted per agent may be ahead.
    world.agent.generation = 90;
    world.send(Input::Delete);
    assert_eq!((world.agent.generation, world.newest_generation), (91, 91));
}

#[test]
fn an_agent_that_is_being_removed_takes_nothing_but_its_removal() {
    for input in [
        make::admit(make::prompt(Priority::Normal)),
        Input::Start,
        Input::Stop,
        Input::Configure {
            workspace: None,
            model: None,
        },
    ] {
        let mut world = states::deleting();
        let agent_id = world.agent.identity.agent_id.clone();
        let refused = Err(Rejection::Deleting { agent_id });
        assert_eq!(world.send(input).reply, refused);
    }
}

fn configured(world: &mut World) {
    world.send(Input::Configure {
        workspace: Some(make::workspace("other")),
        model: Some(make::choice("scripted/other")),
    });
}

#[test]
fn a_new_workspace_and_model_hold_from_the_next_turn_on() {
    let mut world = states::calling_model();
    let home = world.agent.workspace.clone();
    configured(&mut world);
    world.send(ModelAnswer::calls(vec![make::exec()]).to(&world));
    let (_, _, workspace) = commands::running(&world).expect("a tool runs");
    assert_eq!(workspace, home, "the turn in hand stays where it is");
    let turn = world.agent.open_turn.clone().expect("a turn");
    assert_eq!(turn.model, Some(make::model("scripted/default")));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(world.briefs[0].workspace_id, home.workspace_id);

    world.send(make::admit(make::prompt(Priority::Normal)));
    let turn = world.agent.open_turn.clone().expect("a turn");
    assert_eq!(turn.model, Some(make::model("scripted/other")));
    assert_eq!(turn.workspace, make::workspace("other"));
}

#[test]
fn the_same_workspace_again_is_no_news() {
    let mut world = states::idle();
    configured(&mut world);
    configured(&mut world);
    let used = world
        .events
        .iter()
        .filter(|event| matches!(event, Event::WorkspaceUsed(_)));
    assert_eq!(used.count(), 1);
}

#[test]
fn a_configured_workspace_is_attached_with_its_event_and_within_the_limit() {
    let mut world = states::idle();
    let configure = |name: &str| Input::Configure {
        workspace: Some(make::workspace(name)),
        model: None,
    };
    let from = world.events.len();
    assert_eq!(world.send(configure("other")).reply, Ok(Reply::Done));
    let attached = |event: &&Event| matches!(event, Event::WorkspaceAttached(_));
    assert_eq!(world.events.iter().skip(from).filter(attached).count(), 1);

    let mut number = 0;
    while world.agent.attached_workspaces().has_room() {
        number += 1;
        let sent = world.send(configure(&format!("more-{number}")));
        assert_eq!(sent.reply, Ok(Reply::Done), "{number}");
    }
    let before = world.agent.workspace.clone();
    let refused = world.send(configure("too-many"));
    assert_eq!(refused.reply, Err(Rejection::TooManyWorkspaces));
    assert_eq!(world.agent.workspace, before);
    let known = world.send(configure("other"));
    assert_eq!(known.reply, Ok(Reply::Done), "it is attached already");
}

#[test]
fn the_default_agent_is_the_one_that_the_settings_name_now() {
    let mut world = states::idle();
    let own = world.agent.identity.agent_id.clone();
    let is_default = |world: &World| {
        let entry = summary::list_entry(&world.agent, &world.queue(), &world.host);
        entry.identity.is_default_agent
    };
    assert!(!is_default(&world), "it was made as a named agent");
    world.host.default_agent = Some(own.clone());
    assert!(is_default(&world));
    let kind = world.host.kind_of(&own, AgentKind::Named);
    assert_eq!(kind, AgentKind::Default);
    let former = AgentId::parse("former").expect("an id");
    let kind = world.host.kind_of(&former, AgentKind::Default);
    assert_eq!(kind, AgentKind::Named);
    assert_eq!(world.host.kind_of(&own, AgentKind::Child), AgentKind::Child);
}

#[test]
fn a_request_is_on_record_first_with_everything_that_it_touches() {
    let mut world = states::with_tasks(2);
    let tasks: Vec<TaskId> = world.active_tasks().map(|task| task.id.clone()).collect();
    let held = world.agent.occupancy.clone();
    let held = held.map(|held| held.execution_root_id);
    let before = world.events.len();
    world.send(Input::Stop);
    let Event::ControlRequestAdmitted(admitted) = &world.events[before] else {
        panic!("{:?}", world.events[before]);
    };
    assert_eq!(
        (admitted.action.as_str(), admitted.boundary.as_str()),
        ("stop", "control")
    );
    let applied = world.events.iter().rev().find_map(|event| match event {
        Event::ControlApplied(applied) => Some(applied.clone()),
        _ => None,
    });
    let applied = applied.expect("it is applied");
    assert_eq!(applied.task_ids, tasks);
    assert_eq!(applied.previous_status, Some(admitted.previous_status));
    assert_eq!(applied.next_status, Some(AgentStatus::Stopped));
    assert_eq!(applied.boundary.as_deref(), Some("control"));
    assert_eq!(applied.workspace_occupancy_id, held);
}

#[test]
fn a_request_that_changes_nothing_or_is_refused_is_not_on_record() {
    let mut world = states::idle();
    let before = world.events.len();
    for input in [Input::Start, abort()] {
        world.send(input);
    }
    world.send(Input::Stop);
    let stopped = world.events.len();
    world.send(Input::Stop);
    let kinds = world.event_kinds(before);
    let admitted = kinds
        .iter()
        .filter(|kind| **kind == "control_request_admitted");
    assert_eq!(admitted.count(), 1, "{kinds:?}");
    assert_eq!(world.events.len(), stopped);
}

fn abort() -> Input {
    Input::Abort {
        run_id: None,
        then: AfterAbort::GoOn,
    }
}

/// Returns boundary, previous and next status of the posture decisions since an event.
fn postures(world: &World, from: usize) -> Vec<(String, AgentStatus, AgentStatus)> {
    let decided = |event: &Event| match event {
        Event::SchedulerPostureDecision(e) => {
            assert!(!e.reason.is_empty());
            Some((e.boundary.clone(), e.previous_status, e.next_status))
        }
        // The decision to begin a turn is the one about the message that wakes the agent.
        Event::SchedulerDecision(e) => {
            Some((e.boundary.clone()?, e.previous_status?, e.next_status?))
        }
        _ => None,
    };
    world.events[from..].iter().filter_map(decided).collect()
}

#[test]
fn every_boundary_of_a_life_records_the_posture_and_its_reason() {
    use AgentStatus::{Asleep, AwakeRunning, Booting, Stopped};
    let mut world = states::booting();
    let mut from = world.events.len();
    let mut expect = |world: &World, expected: &[(&str, AgentStatus, AgentStatus)]| {
        let expected: Vec<(String, AgentStatus, AgentStatus)> = expected
            .iter()
            .map(|(boundary, before, after)| ((*boundary).to_owned(), *before, *after))
            .collect();
        assert_eq!(postures(world, from), expected);
        from = world.events.len();
    };
    let stamp = world.stamp().expect("its home is checked");
    world.send(make::home_prepared(stamp, Ok(())));
    expect(&world, &[("bootstrap", Booting, Asleep)]);
    world.send(make::admit(make::prompt(Priority::Normal)));
    expect(&world, &[("message_admission", Asleep, AwakeRunning)]);
    world.recover(false);
    expect(&world, &[("bootstrap", AwakeRunning, AwakeRunning)]);
    world.send(Input::HostStops);
    expect(&world, &[("shutdown", AwakeRunning, AwakeRunning)]);
    // A plain turn's end says why the agent sleeps.
    world.send(ModelAnswer::words("done").to(&world));
    expect(&world, &[("lifecycle_sleep", AwakeRunning, Asleep)]);
    world.send(Input::Stop);
    expect(&world, &[("control", Asleep, Stopped)]);
    world.send(Input::Start);
    expect(&world, &[("control", Stopped, Asleep)]);
    let stamp = world.stamp().expect("its home is checked");
    world.send(make::home_prepared(stamp, Ok(())));
    expect(&world, &[("bootstrap", Booting, Asleep)]);
}

#[test]
fn a_start_names_the_status_that_the_scheduler_gives_the_agent() {
    let mut world = states::stopped();
    let pending = world.in_status(QueueStatus::Queued).len();
    let from = world.events.len();
    world.send(Input::Start);
    let applied = world.events[from..].iter().find_map(|event| match event {
        Event::ControlApplied(e) => e.next_status,
        _ => None,
    });
    let expected = match pending {
        0 => AgentStatus::Asleep,
        _ => AgentStatus::AwakeIdle,
    };
    assert_eq!(applied, Some(expected));
}

#[test]
fn a_start_that_lets_a_suspended_turn_ask_again_is_recorded_as_a_control() {
    let mut world = states::suspended();
    let from = world.events.len();
    assert_eq!(world.send(Input::Start).reply, Ok(Reply::Done));
    let kinds = world.event_kinds(from);
    let of_control: Vec<&&str> = kinds
        .iter()
        .filter(|kind| kind.starts_with("control_"))
        .collect();
    assert_eq!(
        of_control,
        [&"control_request_admitted", &"control_applied"]
    );
    let from = world.events.len();
    assert_eq!(world.send(Input::Start).reply, Ok(Reply::Unchanged));
    assert_eq!(world.event_kinds(from), [""; 0]);
}

/// Returns a model whose reference is longer than all settings may be, as an earlier build would have stored it.
fn model_beyond_the_settings() -> ModelRef {
    let text = format!("p/{}", "m".repeat(limits::AGENT_SETTINGS_BYTES));
    ModelRef::try_from(text).expect("a reference")
}

#[test]
fn a_model_or_a_workspace_that_makes_the_settings_too_large_is_refused_and_changes_nothing() {
    let large = "x".repeat(limits::AGENT_SETTINGS_BYTES);
    let workspace = WorkspaceEntry {
        cwd: large,
        ..make::workspace("other")
    };
    for (workspace, model) in [
        (None, Some(model_beyond_the_settings())),
        (Some(workspace), None),
    ] {
        let mut world = states::idle();
        let before = (world.agent.settings.clone(), world.events.len());
        let options = ModelOptions::default();
        let refused = world.send(Input::Configure {
            workspace,
            model: model.map(|model| ModelChoice::Use { model, options }),
        });
        let max = limits::AGENT_SETTINGS_BYTES;
        let is_refused =
            matches!(refused.reply, Err(Rejection::TooLarge { max: found, .. }) if found == max);
        assert!(is_refused, "{:?}", refused.reply);
        assert_eq!((world.agent.settings.clone(), world.events.len()), before);
    }
}

#[test]
fn a_new_agent_with_too_large_settings_is_refused() {
    assert_eq!(check_new(&make::new_agent(), make::T0), Ok(()));
    let large = NewAgent {
        model: Some(model_beyond_the_settings()),
        ..make::new_agent()
    };
    let refused = check_new(&large, make::T0);
    assert!(
        matches!(refused, Err(Rejection::TooLarge { .. })),
        "{refused:?}"
    );
}
