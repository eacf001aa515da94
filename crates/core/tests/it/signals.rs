//! Tests of events: state signals, requested commands, the ids that every turn event carries, and its last text.

use crate::commands;
use crate::make::{self, ModelAnswer};
use crate::states;
use crate::world::World;
use holon_core::Input;
use holon_domain::agent::AgentStatus;
use holon_domain::event::{Event, OperatorInterjectionAdmitted, ProcessExecutionRequested};
use holon_domain::limits;
use holon_domain::message::{Origin, Priority};
use holon_domain::model::ModelFailureKind;
use holon_domain::summary::Posture;
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use serde_json::{Value, json};

/// Returns the signals since position `from` in short form.
fn signals(world: &World, from: usize) -> Vec<String> {
    let told = |event: &Event| match event {
        Event::AgentStateChanged(changed) => {
            Some(format!("{:?} {:?}", changed.status, changed.posture))
        }
        Event::SessionStateChanged(changed) => Some(match changed.current_run_id {
            Some(_) => "run".to_owned(),
            None => "no run".to_owned(),
        }),
        _ => None,
    };
    world.events.iter().skip(from).filter_map(told).collect()
}

#[test]
fn a_state_that_changes_is_signalled_once_in_the_commit_that_changes_it() {
    let mut world = states::idle();
    let from = world.events.len();
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert_eq!(signals(&world, from), ["AwakeRunning ActiveTurn", "run"]);
    let from = world.events.len();
    world.send(ModelAnswer::calls(vec![make::agent_get()]).to(&world));
    world.send(make::admit(make::prompt(Priority::Normal)));
    assert_eq!(
        signals(&world, from),
        [""; 0],
        "it still runs the same turn"
    );
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(
        signals(&world, from),
        ["run"],
        "the next turn opens in the same commit, so the agent never rested"
    );
    assert_eq!(world.agent.unsignalled, None);
    let from = world.events.len();
    world.send(ModelAnswer::words("done").to(&world));
    assert_eq!(signals(&world, from), ["Asleep Idle", "no run"]);
}

#[test]
fn a_stop_a_suspension_and_a_removal_are_signalled_too() {
    let mut world = states::idle();
    let from = world.events.len();
    world.send(Input::Stop);
    world.send(Input::Stop);
    assert_eq!(signals(&world, from), ["Stopped Idle"]);
    let from = world.events.len();
    world.send(Input::Delete);
    assert_eq!(signals(&world, from), ["Stopped Archived"]);
    let suspended = states::suspended_for_operator();
    let last = signals(&suspended, 0).pop();
    assert_eq!(last.as_deref(), Some("Asleep WaitingForOperator"));
}

#[test]
fn a_stopped_agent_is_not_archived() {
    let mut world = states::idle();
    world.send(Input::Stop);
    let queue = world.queue();
    let shown = holon_core::summary::summarise(&world.agent, &queue, Vec::new(), &world.host);
    assert_eq!(shown.agent.status, AgentStatus::Stopped);
    assert_eq!(shown.scheduling_posture.posture, Posture::Idle);
}

fn requested(world: &World) -> Vec<&ProcessExecutionRequested> {
    let command = |event: &'_ Event| matches!(event, Event::ProcessExecutionRequested(_));
    let found = world.events.iter().filter(|event| command(event));
    found
        .filter_map(|event| match event {
            Event::ProcessExecutionRequested(requested) => Some(requested),
            _ => None,
        })
        .collect()
}

#[test]
fn a_command_is_told_of_before_it_starts_and_not_again_after_a_restart() {
    let mut world = states::calling_model();
    let refused = make::misunderstood();
    world.send(ModelAnswer::calls(vec![refused, commands::exec("make all")]).to(&world));
    let turn = world.agent.open_turn.clone().expect("a turn is open");
    let told = requested(&world);
    assert_eq!(told.len(), 1, "a call that is refused starts nothing");
    assert_eq!(told[0].cmd_preview, "make all");
    assert_eq!(
        (told[0].surface.as_str(), told[0].batch_item),
        ("ExecCommand", None)
    );
    assert_eq!(told[0].run_id, turn.run_id);
    assert_eq!(told[0].message_seq, Some(turn.message_seq));
    assert_eq!(told[0].authority_class, turn.authority);
    world.recover(false);
    assert_eq!(
        requested(&world).len(),
        1,
        "the command is found, not started"
    );
}

#[test]
fn each_command_of_a_batch_is_told_of() {
    let world = states::running_batch();
    let told: Vec<_> = requested(&world)
        .iter()
        .map(|told| (told.batch_item, told.cmd_preview.as_str()))
        .collect();
    assert_eq!(told, [(Some(1), "make"), (Some(2), "make test")]);
}

/// Returns the payload of the last event of a kind.
fn payload(world: &World, kind: &str) -> Value {
    let found = world.events.iter().rfind(|event| event.kind() == kind);
    let found = found.unwrap_or_else(|| panic!("no {kind}"));
    serde_json::from_str(&found.encode().expect("encodes")).expect("JSON")
}

#[test]
fn every_event_of_a_turn_names_its_run_its_turn_and_its_message() {
    let mut world = states::calling_model();
    let run_id = world
        .agent
        .open_turn
        .as_ref()
        .map(|turn| turn.run_id.clone());
    world.send(ModelAnswer::calls(vec![make::exec(), make::misunderstood()]).to(&world));
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.send(ModelAnswer::words("half").cut_off().to(&world));
    world.send(ModelAnswer::words("all of it").to(&world));
    for kind in [
        "message_processing_started",
        "turn_started",
        "turn_context_built",
        "provider_round_completed",
        "assistant_round_recorded",
        "process_execution_requested",
        "tool_executed",
        "tool_execution_failed",
        "max_output_tokens_recovery",
        "turn_terminal",
        "closure_decided",
    ] {
        let payload = payload(&world, kind);
        assert_eq!(payload["run_id"], json!(run_id), "{kind}");
        assert_eq!(payload["turn_index"], 1, "{kind}");
        assert_eq!(payload["message_seq"], 1, "{kind}");
    }
    assert_eq!(payload(&world, "brief_created")["message_seq"], 1);
    assert_eq!(
        payload(&world, "turn_terminal")["last_assistant_message"],
        "all of it"
    );
}

#[test]
fn the_decisions_before_a_turn_name_its_message() {
    let mut world = states::calling_model();
    for kind in ["scheduler_decision", "continuation_resolved"] {
        assert_eq!(payload(&world, kind)["message_seq"], 1, "{kind}");
    }
    let labelled = ["scheduler_decision", "continuation_resolved"];
    let found = world
        .events
        .iter()
        .filter(|event| labelled.contains(&event.kind()));
    let positions: Vec<_> = found.map(Event::message_seq).collect();
    assert_eq!(positions, [Some(1), Some(1)]);
    world.send(ModelAnswer::words("done").to(&world));
    let closed = world
        .events
        .iter()
        .rfind(|event| event.kind() == "closure_decided");
    assert_eq!(closed.and_then(Event::message_seq), Some(1));
}

#[test]
fn an_abort_names_its_run_its_turn_and_its_message() {
    let mut world = states::calling_model();
    let turn = world.agent.open_turn.clone().expect("a turn is open");
    world.send(Input::Stop);
    for kind in [
        "current_run_aborted",
        "message_processing_aborted",
        "closure_decided",
    ] {
        let payload = payload(&world, kind);
        assert_eq!(payload["run_id"], json!(turn.run_id), "{kind}");
        assert_eq!(payload["turn_index"], turn.turn_index, "{kind}");
        assert_eq!(payload["message_seq"], turn.message_seq, "{kind}");
    }
    let aborted = world
        .events
        .iter()
        .find(|event| event.kind() == "current_run_aborted");
    assert_eq!(aborted.and_then(Event::message_seq), Some(turn.message_seq));
}

/// Returns an agent whose model has written text, and whose command runs.
fn speaking() -> World {
    let mut world = states::calling_model();
    let answer = ModelAnswer {
        words: "I will build it",
        ..ModelAnswer::calls(vec![make::exec()])
    };
    world.send(answer.to(&world));
    world
}

/// Returns the reason and the last text of the last turn.
fn told_end(world: &World) -> (Value, Value) {
    let told = payload(world, "turn_terminal");
    (
        told["reason"].clone(),
        told["last_assistant_message"].clone(),
    )
}

#[test]
fn a_turn_that_is_stopped_tells_its_last_text() {
    let mut world = speaking();
    world.send(Input::Stop);
    assert_eq!(
        told_end(&world),
        (json!("agent_stopped"), json!("I will build it"))
    );
    let mut silent = states::calling_model();
    silent.send(Input::Stop);
    assert_eq!(told_end(&silent), (json!("agent_stopped"), Value::Null));
}

#[test]
fn a_turn_that_fails_after_a_restart_tells_its_last_text() {
    let mut world = speaking();
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    world.recover(false);
    let stamp = world.stamp().expect("a model is asked");
    world.send(make::failed(
        ModelFailureKind::InvalidRequest,
        stamp,
        world.now,
    ));
    assert_eq!(
        told_end(&world),
        (json!("provider_failed"), json!("I will build it"))
    );
}

#[test]
fn a_turn_whose_last_rounds_had_no_text_tells_the_text_before_them() {
    let mut world = speaking();
    world.send(make::tool_ok(world.stamp().expect("a tool runs")));
    let mute = ModelAnswer {
        words: "",
        ..ModelAnswer::calls(vec![make::exec()])
    };
    world.send(mute.to(&world));
    world.send(Input::GiveUp {
        message: "a fault".to_owned(),
    });
    assert_eq!(
        told_end(&world),
        (json!("runtime_fault"), json!("I will build it"))
    );
}

#[test]
fn a_turn_that_ends_at_the_output_limit_tells_its_last_text() {
    let mut world = states::calling_model();
    for _ in 0..limits::OUTPUT_LIMIT_RECOVERIES {
        world.send(ModelAnswer::words("a part").cut_off().to(&world));
    }
    world.send(ModelAnswer::words("the last part").cut_off().to(&world));
    assert_eq!(
        told_end(&world),
        (json!("output_limit"), json!("the last part"))
    );
}

#[test]
fn an_interjection_is_told_with_its_labels() {
    let mut world = states::calling_model_with_interjection();
    let held = world.interjections();
    world.send(ModelAnswer::words("both").after(held).to(&world));
    let found = world.events.iter().find_map(|event| match event {
        Event::OperatorInterjectionAdmitted(told) => Some(told),
        _ => None,
    });
    let OperatorInterjectionAdmitted {
        message_seq,
        run_id,
        turn_index,
        origin,
        priority,
        ..
    } = found.expect("it is told").clone();
    assert_eq!((message_seq, turn_index), (Some(2), Some(1)));
    assert!(run_id.is_some());
    assert_eq!(origin, Some(Origin::Operator { actor_id: None }));
    assert_eq!(priority, Some(Priority::Interject));
}

#[test]
fn the_error_of_a_call_keeps_its_details_in_the_event() {
    let mut world = states::running_tool();
    let error = ToolError::new(ToolErrorKind::CommandSpawnFailed, "no such shell")
        .details(json!({ "shell": "zsh" }));
    world.send(Input::ToolFinished {
        stamp: world.stamp().expect("a tool runs"),
        consequence: holon_domain::consequence::Consequence::Result(ToolEnvelope::failure(
            "ExecCommand",
            error,
        )),
        duration_ms: 1,
    });
    let told = payload(&world, "tool_execution_failed");
    assert_eq!(told["tool_error"]["details"]["shell"], "zsh");
}

#[test]
fn what_a_message_meant_is_kept_with_its_evidence() {
    let mut world = states::idle();
    assert_eq!(world.agent.last_continuation, None);
    world.send(make::admit(make::channel_event("news", Priority::Normal)));
    let kept = world.agent.last_continuation.clone().expect("is kept");
    assert_eq!(kept.evidence, ["before: no turn yet"]);
    let told = payload(&world, "continuation_resolved");
    assert_eq!(told["evidence"], json!(kept.evidence));
    assert_eq!(told["model_visible"], true);
    world.send(ModelAnswer::calls(vec![make::sleep(Some(5_000))]).to(&world));
    world.let_due_come();
    let kept = world.agent.last_continuation.clone().expect("is kept");
    assert!(kept.matched_waiting_reason);
    assert_eq!(kept.evidence.len(), 2, "{:?}", kept.evidence);
    let queue = world.queue();
    let shown = holon_core::summary::summarise(&world.agent, &queue, Vec::new(), &world.host);
    assert_eq!(shown.agent.last_continuation, Some(kept));
}

#[test]
fn what_answers_the_result_of_a_task_names_the_task() {
    let mut world = states::with_task();
    let task_id = world.tasks[0].id.clone();
    let ended = commands::reported(&world, &world.tasks[0], commands::exited(0));
    world.send(ended);
    let turn = world
        .agent
        .open_turn
        .as_ref()
        .expect("its result is answered");
    assert_eq!(turn.task_id, Some(task_id.clone()));
    world.send(ModelAnswer::words("it worked").to(&world));
    let brief = world.briefs.last().expect("it said something");
    assert_eq!(brief.related_task_id, Some(task_id.clone()));
    for (kind, field) in [
        ("turn_started", "task_id"),
        ("turn_terminal", "task_id"),
        ("brief_created", "related_task_id"),
    ] {
        assert_eq!(payload(&world, kind)[field], json!(task_id), "{kind}");
    }
}
