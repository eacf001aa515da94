//! Tests of the outbox: what is delivered where, in which order, how often it is tried, and when it is given up.

use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::{World, stamp_of};
use holon_core::input::{LaneCommand, RunningPause};
use holon_core::{Input, Reply, Stamp};
use holon_domain::agent::{Lifecycle, Visibility as AgentVisibility};
use holon_domain::consequence::Consequence;
use holon_domain::delivery::{
    DeliveryContent, DeliveryRoute, DeliveryStatus, DeliveryTarget, LaneState, OutboxLane,
    SubmitResult, TargetAuth, TargetKind,
};
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::event::{Event, OperatorBoundary};
use holon_domain::intent::Intent;
use holon_domain::log::LogEntry;
use holon_domain::message::Priority;
use holon_domain::send::AgentSend;
use holon_domain::timer::{DueAction, DueTime};
use holon_domain::tool::ToolError;
use holon_domain::{AgentId, limits};

fn target(name: &str, turn_results: bool) -> DeliveryTarget {
    DeliveryTarget {
        name: name.to_owned(),
        kind: TargetKind::Http {
            url: "https://example.org/".to_owned(),
            auth: TargetAuth::None,
        },
        turn_results,
        agents: Vec::new(),
        created_at: make::T0,
        id: None,
    }
}

fn route(name: &str) -> DeliveryRoute {
    DeliveryRoute::Target {
        name: name.to_owned(),
        target_id: None,
    }
}

/// An idle agent of a host with these targets.
fn idle(targets: Vec<DeliveryTarget>) -> World {
    let mut world = states::idle();
    world.host.delivery_targets = targets.into();
    world
}

/// Lets the agent answer one prompt.
fn answer_prompt(world: &mut World) {
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(ModelAnswer::words("done").to(world));
}

fn notify(message: &str) -> (&'static str, Result<Intent, ToolError>) {
    let message = message.to_owned();
    (
        "NotifyOperator",
        Ok(Intent::NotifyOperator {
            message,
            attachments: Vec::new(),
        }),
    )
}

fn sending(world: &World) -> Vec<&EffectRecord> {
    let is_one = |open: &&EffectRecord| matches!(open.effect, Effect::SubmitDelivery { .. });
    world.effects.values().filter(is_one).collect()
}

fn stamp(world: &World) -> Stamp {
    stamp_of(sending(world).first().expect("a delivery is submitted"))
}

fn submitted(world: &World, stamp: Stamp, result: SubmitResult) -> Input {
    let open = world.effects.get(&stamp.effect).map(|open| &open.effect);
    let Some(Effect::SubmitDelivery { route, seq }) = open else {
        panic!("a delivery is submitted")
    };
    let (record, _) = &world.deliveries[&(route.key(), *seq)];
    Input::DeliverySubmitted {
        stamp,
        route: route.clone(),
        created_at: record.created_at,
        result,
    }
}

fn accept(world: &mut World) {
    let result = SubmitResult::Accepted {
        transport_delivery_id: Some("t-1".to_owned()),
    };
    let input = submitted(world, stamp(world), result);
    assert_eq!(world.send(input).reply, Ok(Reply::Done));
}

fn fail(world: &mut World) {
    let result = SubmitResult::Retry {
        error: "it answered 500".to_owned(),
        retry_after_ms: None,
    };
    let input = submitted(world, stamp(world), result);
    assert_eq!(world.send(input).reply, Ok(Reply::Done));
}

fn lane<'a>(world: &'a World, name: &str) -> &'a OutboxLane {
    world.agent.outbox.lane(&route(name)).expect("a lane")
}

/// The newest tool result in the log, as JSON text.
fn last_result(world: &World) -> String {
    let mut newest_first = world.log.iter().rev();
    let found = newest_first.find_map(|(_, entry)| match entry {
        LogEntry::ToolResult { envelope, .. } => serde_json::to_string(envelope).ok(),
        _ => None,
    });
    found.expect("a result")
}

fn statuses(world: &World) -> Vec<(u64, DeliveryStatus)> {
    let rows = world.deliveries.iter();
    rows.map(|((_, seq), (_, outcome))| {
        let status = outcome.as_ref().map(|outcome| outcome.status);
        (*seq, status.unwrap_or(DeliveryStatus::Pending))
    })
    .collect()
}

#[test]
fn a_result_of_a_turn_goes_only_to_targets_that_ask_for_it_in_the_commit_of_its_brief() {
    let mut world = idle(vec![target("all", true), target("urgent", false)]);
    world.send(make::admit(make::prompt(Priority::Normal)));
    let outcome = world.send(ModelAnswer::words("done").to(&world));
    let brief = outcome
        .facts
        .iter()
        .any(|fact| matches!(fact, holon_domain::decision::Fact::BriefWritten { .. }));
    assert!(brief, "the brief is in the same commit");
    let (record, _) = &world.deliveries[&("target:all".to_owned(), 1)];
    assert_eq!(record.content, DeliveryContent::Brief(1));
    assert_eq!(world.deliveries.len(), 1);
    assert_eq!(sending(&world).len(), 1);
    assert_eq!(world.violations(), []);
    accept(&mut world);
    assert_eq!(statuses(&world), [(1, DeliveryStatus::AcceptedByTransport)]);
    assert_eq!(sending(&world).len(), 0);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_target_of_some_agents_gets_nothing_of_the_others() {
    let other = AgentId::parse("other").expect("an id");
    let only = |agents| DeliveryTarget {
        agents,
        ..target("all", true)
    };
    for (agents, count) in [(vec![other.clone()], 0), (vec![other, make::agent_id()], 1)] {
        let mut world = idle(vec![only(agents)]);
        answer_prompt(&mut world);
        assert_eq!(world.deliveries.len(), count);
    }
}

#[test]
fn deliveries_on_a_route_are_submitted_one_after_the_other_in_their_order() {
    let mut world = idle(vec![target("all", true)]);
    for _ in 0..3 {
        answer_prompt(&mut world);
    }
    assert_eq!(lane(&world, "all").pending(), 3);
    for seq in 1..=3 {
        let open = sending(&world);
        let [open] = open.as_slice() else {
            panic!("one at a time: {open:?}")
        };
        let expected = Effect::SubmitDelivery {
            route: route("all"),
            seq,
        };
        assert_eq!(open.effect, expected);
        accept(&mut world);
        assert_eq!(world.violations(), []);
    }
    assert_eq!(lane(&world, "all").state, LaneState::Idle);
}

#[test]
fn a_failed_attempt_is_repeated_under_the_same_id_after_growing_pauses_and_the_turn_stays_as_it_ended()
 {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    let ended = world.ended_as();
    let mut pauses = Vec::new();
    for _ in 0..10 {
        fail(&mut world);
        let LaneState::Paused { until, .. } = lane(&world, "all").state else {
            panic!("it pauses")
        };
        pauses.push(until.millis_since(world.now));
        assert_eq!(sending(&world).len(), 0);
        assert_eq!(world.violations(), []);
        world.let_due_come();
    }
    assert_eq!(pauses[..4], [5_000, 10_000, 20_000, 40_000]);
    assert_eq!(pauses.last(), Some(&limits::DELIVERY_PAUSE_MAX_MS));
    let failures = world
        .events
        .iter()
        .filter(|event| matches!(event, Event::OperatorNotificationMirrorFailed(_)));
    assert_eq!(failures.count(), 1, "one event for the outage");
    assert_eq!(world.ended_as(), ended);
    accept(&mut world);
    assert_eq!(statuses(&world), [(1, DeliveryStatus::AcceptedByTransport)]);
    assert_eq!(lane(&world, "all").failing_since, None);
    let outcome = world
        .deliveries
        .values()
        .next()
        .and_then(|row| row.1.as_ref());
    assert_eq!(outcome.map(|outcome| outcome.attempts), Some(11));
}

#[test]
fn a_receiver_may_ask_for_a_longer_pause_up_to_a_bound() {
    let asked = |ms| {
        let mut world = idle(vec![target("all", true)]);
        answer_prompt(&mut world);
        let result = SubmitResult::Retry {
            error: "later".to_owned(),
            retry_after_ms: Some(ms),
        };
        let input = submitted(&world, stamp(&world), result);
        world.send(input);
        match lane(&world, "all").state {
            LaneState::Paused { until, .. } => until.millis_since(world.now),
            LaneState::Idle | LaneState::Sending { .. } => 0,
        }
    };
    assert_eq!(asked(60_000), 60_000);
    assert_eq!(asked(1), limits::DELIVERY_PAUSE_MS);
    assert_eq!(asked(u64::MAX), limits::DELIVERY_RETRY_AFTER_MAX_MS);
}

#[test]
fn a_day_of_failures_loses_nothing_and_three_days_give_up_with_a_reason() {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    let began = world.now;
    while world.now.millis_since(began) < 24 * 3_600_000 {
        fail(&mut world);
        world.let_due_come();
    }
    assert_eq!(statuses(&world), [(1, DeliveryStatus::Pending)]);
    while sending(&world).len() == 1 {
        fail(&mut world);
        if matches!(lane(&world, "all").state, LaneState::Paused { .. }) {
            world.let_due_come();
        }
    }
    assert!(world.now.millis_since(began) >= limits::DELIVERY_PATIENCE_MS);
    assert_eq!(statuses(&world), [(1, DeliveryStatus::FailedToSubmit)]);
    assert_eq!(lane(&world, "all").failing_since, None);
    let error = lane(&world, "all").last_error.clone().expect("a reason");
    assert!(
        error.starts_with("given up after 3 days: it answered 500"),
        "{error}"
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn a_refused_delivery_ends_at_once_and_the_next_one_follows() {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    answer_prompt(&mut world);
    let result = SubmitResult::Refused {
        error: "it answered 400".to_owned(),
    };
    let input = submitted(&world, stamp(&world), result);
    world.send(input);
    let expected = [
        (1, DeliveryStatus::FailedToSubmit),
        (2, DeliveryStatus::Pending),
    ];
    assert_eq!(statuses(&world), expected);
    assert_eq!(sending(&world).len(), 1);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_lane_without_a_pending_delivery_does_not_fail_any_more() {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    fail(&mut world);
    world.let_due_come();
    let error = "it answered 400".to_owned();
    let result = SubmitResult::Refused { error };
    world.send(submitted(&world, stamp(&world), result));
    let lane = lane(&world, "all");
    assert_eq!((lane.pending(), lane.failing_since), (0, None));
    assert_eq!(lane.last_error.as_deref(), Some("it answered 400"));
}

#[test]
fn a_full_lane_gives_up_its_oldest_delivery_and_keeps_its_pause() {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    fail(&mut world);
    let paused = lane(&world, "all").state;
    for _ in 0..limits::DELIVERIES_PENDING + 10 {
        answer_prompt(&mut world);
        assert!(lane(&world, "all").pending() <= limits::DELIVERIES_PENDING);
    }
    assert_eq!(
        lane(&world, "all").state,
        paused,
        "the retry is not put off"
    );
    assert_eq!(lane(&world, "all").given_up, 11);
    assert_eq!(lane(&world, "all").pending(), limits::DELIVERIES_PENDING);
    let rows = world.deliveries.len() as u64;
    assert!(
        rows <= limits::DELIVERIES_PENDING + limits::DELIVERIES_KEPT,
        "{rows}"
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn ended_deliveries_are_kept_up_to_a_bound() {
    let mut world = idle(vec![target("all", true)]);
    for _ in 0..limits::DELIVERIES_KEPT + 20 {
        answer_prompt(&mut world);
        accept(&mut world);
    }
    assert_eq!(world.deliveries.len() as u64, limits::DELIVERIES_KEPT);
}

#[test]
fn every_new_generation_submits_again_and_drops_what_the_one_before_reports() {
    for input in [
        Input::Stop,
        Input::Recover {
            exit: holon_domain::previous_exit::PreviousExit::Unclean,
            proven: None,
            found: Vec::new(),
        },
        Input::TakeUp,
        Input::GiveUp {
            message: "a rule was broken".to_owned(),
        },
    ] {
        let mut world = idle(vec![target("all", true)]);
        answer_prompt(&mut world);
        // Giving up needs a turn.
        world.send(make::admit(make::prompt(Priority::Normal)));
        let late = submitted(
            &world,
            stamp(&world),
            SubmitResult::Accepted {
                transport_delivery_id: None,
            },
        );
        world.send(input.clone());
        assert_eq!(
            world.send(late).reply,
            Ok(Reply::Unchanged),
            "after {input:?}"
        );
        assert_eq!(sending(&world).len(), 1, "after {input:?}");
        assert_eq!(world.violations(), [], "after {input:?}");
        accept(&mut world);
        let first = statuses(&world).first().copied();
        assert_eq!(first, Some((1, DeliveryStatus::AcceptedByTransport)));
        assert_eq!(world.violations(), [], "after {input:?}");
    }
}

#[test]
fn a_removed_agent_drops_its_outbox_and_its_home_goes() {
    for paused in [false, true] {
        let mut world = idle(vec![target("all", true)]);
        answer_prompt(&mut world);
        if paused {
            fail(&mut world);
        }
        world.send(Input::Delete);
        assert_eq!(world.agent.lifecycle, Lifecycle::Deleting);
        assert_eq!(sending(&world).len(), 0);
        assert!(
            world
                .effects
                .values()
                .any(|open| open.effect == Effect::RemoveHome)
        );
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn a_clock_that_is_set_back_does_not_stretch_the_pause() {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    fail(&mut world);
    let pauses: Vec<RunningPause> = world
        .due
        .iter()
        .filter_map(|(id, (time, due))| match time {
            DueTime::Pause(pause) => Some(RunningPause {
                id: *id,
                pause: *pause,
                due: due.clone(),
            }),
            DueTime::Slot(_) => None,
        })
        .collect();
    world.now = world.now.minus_millis(3_600_000);
    let by_ms = 3_600_000;
    world.send(Input::ClockSetBack {
        by_ms,
        since: world.now,
        pauses,
        slots: Vec::new(),
    });
    let LaneState::Paused { until, .. } = lane(&world, "all").state else {
        panic!("it pauses")
    };
    assert_eq!(until.millis_since(world.now), limits::DELIVERY_PAUSE_MS);
    assert_eq!(world.violations(), []);
}

#[test]
fn a_retry_of_a_delivery_is_no_wake_of_the_agent() {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    fail(&mut world);
    let due: Vec<&DueAction> = world.due.values().map(|(_, due)| due).collect();
    assert!(
        matches!(due.as_slice(), [DueAction::DeliveryRetry { .. }]),
        "{due:?}"
    );
    let turns = world.agent.counters.turns;
    world.let_due_come();
    assert_eq!(world.agent.counters.turns, turns);
}

#[test]
fn a_notification_is_recorded_without_a_target_and_creates_no_wait() {
    let mut world = states::calling_model();
    let answer = ModelAnswer::calls(vec![notify("the disk fills")]);
    world.send(answer.to(&world));
    let recorded = world.events.iter().find_map(|event| match event {
        Event::OperatorNotificationRequested(e) => Some(e.clone()),
        _ => None,
    });
    let recorded = recorded.expect("it is recorded");
    assert_eq!(recorded.message, "the disk fills");
    assert_eq!(
        recorded.target_operator_boundary,
        OperatorBoundary::PrimaryOperator
    );
    assert!(world.deliveries.is_empty());
    assert_eq!(world.agent.work.active_waits, 0);
    assert!(world.agent.open_turn.is_some(), "the turn goes on");
    let result = last_result(&world);
    assert!(
        result.contains("no delivery target is configured"),
        "{result}"
    );
    assert_eq!(world.violations(), []);
}

#[test]
fn a_notification_goes_to_every_target_and_is_bounded_for_a_turn_and_an_hour() {
    let mut world = idle(vec![target("all", true), target("urgent", false)]);
    let calls = |count: u32| (0..count).map(|_| notify("look")).collect();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let answer = ModelAnswer::calls(calls(limits::NOTIFICATIONS_PER_TURN + 1));
    world.send(answer.to(&world));
    let per_turn = limits::NOTIFICATIONS_PER_TURN as usize;
    assert_eq!(world.deliveries.len(), 2 * per_turn);
    let result = last_result(&world);
    assert!(result.contains("one turn may notify at most"), "{result}");
    world.send(ModelAnswer::words("done").to(&world));
    let sent = |world: &World| {
        let requested = |event: &&Event| matches!(event, Event::OperatorNotificationRequested(_));
        world.events.iter().filter(requested).count()
    };
    for _ in 0..10 {
        world.send(make::admit(make::prompt(Priority::Normal)));
        world.send(ModelAnswer::calls(calls(4)).to(&world));
        world.send(ModelAnswer::words("done").to(&world));
    }
    assert_eq!(sent(&world), limits::NOTIFICATIONS_PER_HOUR as usize);
    world.advance(3_600_000);
    world.send(make::admit(make::prompt(Priority::Normal)));
    world.send(ModelAnswer::calls(calls(1)).to(&world));
    assert_eq!(sent(&world), limits::NOTIFICATIONS_PER_HOUR as usize + 1);
}

#[test]
fn a_notification_of_a_private_child_goes_to_its_supervisor_alone() {
    let mut new = make::new_agent();
    let parent = AgentId::parse("parent").expect("an id");
    new.identity.visibility = AgentVisibility::Private;
    new.identity.lineage_parent_agent_id = Some(parent.clone());
    let mut world = states::ready(World::with(new));
    world.host.delivery_targets = vec![target("all", true)].into();
    world.send(make::admit(make::prompt(Priority::Normal)));
    let answer = ModelAnswer::calls(vec![notify("I am stuck")]);
    world.send(answer.to(&world));
    let [(to, AgentSend::Notification { from, text, .. })] = world.sends.as_slice() else {
        panic!("{:?}", world.sends)
    };
    assert_eq!(
        (to, from, text.as_str()),
        (&parent, &make::agent_id(), "I am stuck")
    );
    assert!(world.deliveries.is_empty());
    // Neither the supervisor nor an operator can load files of its home.
    world.send(ModelAnswer::calls(vec![attaching(&["work/report.md"])]).to(&world));
    assert_eq!(
        world.results().last().expect("a result"),
        "invalid_tool_input"
    );
    assert!(world.agent.outbox.attached.is_empty());
}

#[test]
fn a_supervisor_is_woken_by_the_notification_of_its_child() {
    let mut world = states::idle();
    let told = Input::Received(AgentSend::Notification {
        from: AgentId::parse("child").expect("an id"),
        text: "I am stuck".to_owned(),
        authority: holon_domain::authority::AuthorityClass::OperatorInstruction,
    });
    world.send(told);
    let turn = world.agent.open_turn.as_ref().expect("a turn");
    assert_eq!(
        turn.authority,
        holon_domain::authority::AuthorityClass::RuntimeInstruction
    );
}

#[test]
fn a_temporary_agent_delivers_nothing() {
    let mut world = states::ready(World::with(make::temporary_agent()));
    world.host.delivery_targets = vec![target("all", true)].into();
    answer_prompt(&mut world);
    assert!(world.deliveries.is_empty());
}

#[test]
fn a_removed_route_gives_up_all_that_waits_there_and_breaks_off_its_attempt() {
    for is_paused in [false, true] {
        let mut world = idle(vec![target("all", true)]);
        for _ in 0..3 {
            answer_prompt(&mut world);
        }
        if is_paused {
            fail(&mut world);
        }
        let end = || Input::Lane {
            route: route("all"),
            command: LaneCommand::End {
                reason: "the target all was removed".to_owned(),
            },
        };
        assert_eq!(world.send(end()).reply, Ok(Reply::Done));
        let failed = DeliveryStatus::FailedToSubmit;
        assert_eq!(statuses(&world), [(1, failed), (2, failed), (3, failed)]);
        let (_, outcome) = &world.deliveries[&("target:all".to_owned(), 2)];
        let error = outcome
            .as_ref()
            .and_then(|outcome| outcome.error.as_deref());
        assert_eq!(error, Some("the target all was removed"));
        let lane = lane(&world, "all");
        assert_eq!((lane.state, lane.failing_since), (LaneState::Idle, None));
        assert_eq!(sending(&world).len(), 0);
        assert_eq!(world.violations(), []);
        assert_eq!(world.send(end()).reply, Ok(Reply::Unchanged));
    }
}

#[test]
fn a_pause_ends_when_the_operator_asks_and_an_attempt_that_runs_is_left_alone() {
    let mut world = idle(vec![target("all", true)]);
    answer_prompt(&mut world);
    let now = || Input::Lane {
        route: route("all"),
        command: LaneCommand::RetryNow,
    };
    assert_eq!(world.send(now()).reply, Ok(Reply::Unchanged));
    fail(&mut world);
    assert_eq!(world.send(now()).reply, Ok(Reply::Done));
    assert_eq!(sending(&world).len(), 1);
    assert_eq!(world.violations(), []);
    accept(&mut world);
    assert_eq!(statuses(&world), [(1, DeliveryStatus::AcceptedByTransport)]);
    assert_eq!(world.send(now()).reply, Ok(Reply::Unchanged));
}

/// Notifies the operator and attaches files.
fn attaching(paths: &[&str]) -> (&'static str, Result<Intent, ToolError>) {
    let intent = Intent::NotifyOperator {
        message: "look at this".to_owned(),
        attachments: paths.iter().map(|&path| path.to_owned()).collect(),
    };
    ("NotifyOperator", Ok(intent))
}

/// Ends the look at attached files.
fn see_files(world: &mut World, fault: Option<&str>) {
    let stamp = world.stamp().expect("files are looked at");
    world.send(Input::ToolFinished {
        stamp,
        consequence: Consequence::FilesSeen {
            fault: fault.map(str::to_owned),
        },
        duration_ms: 1,
    });
}

#[test]
fn a_notification_may_name_files_of_the_home_and_the_brief_of_its_turn_names_them_too() {
    let mut world = states::calling_model();
    world.send(ModelAnswer::calls(vec![attaching(&["../other/key"])]).to(&world));
    assert_eq!(world.results(), ["invalid_tool_input"]);
    assert_eq!(
        world.agent.outbox.attached, [""; 0],
        "nothing leads out of the home"
    );
    world
        .send(ModelAnswer::calls(vec![attaching(&["work/report.md", "work/plot.png"])]).to(&world));
    assert_eq!(
        world.agent.outbox.attached, [""; 0],
        "the files are looked at first"
    );
    see_files(
        &mut world,
        Some("there is no file \"work/report.md\" in your home"),
    );
    assert_eq!(
        world.results().last().expect("a result"),
        "invalid_tool_input"
    );
    assert_eq!(world.agent.outbox.attached, [""; 0]);
    world
        .send(ModelAnswer::calls(vec![attaching(&["work/report.md", "work/plot.png"])]).to(&world));
    see_files(&mut world, None);
    assert_eq!(
        world.agent.outbox.attached,
        ["work/report.md", "work/plot.png"]
    );
    let told = world.events.iter().find_map(|event| match event {
        Event::OperatorNotificationRequested(e) => Some(e.attachments.len()),
        _ => None,
    });
    assert_eq!(told, Some(2));
    world.send(ModelAnswer::words("done").to(&world));
    let brief = world.briefs.last().expect("a brief");
    let names: Vec<&str> = brief
        .attachments
        .iter()
        .map(|one| one.name.as_str())
        .collect();
    assert_eq!(names, ["work/report.md", "work/plot.png"]);
    assert_eq!(world.violations(), []);
}
