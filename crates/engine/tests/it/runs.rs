//! One-shot runs, by temporary and by named agents.

use crate::house::{House, agent, briefs, prompt};
use holon_domain::closure::WaitingReason;
use holon_domain::command::CommandFailure;
use holon_domain::limits;
use holon_domain::message::AdmissionContext;
use holon_domain::model::ModelFailureKind;
use holon_domain::run::{RunOnceResponse, RunStatus};
use holon_engine::request::{HomeChoice, RunRequest};
use holon_engine::{Conduct, Error, Host, Scope};
use holon_testkit::ports::{calls, failure, says, says_and_calls};
use serde_json::json;
use std::sync::atomic::Ordering;

pub(crate) fn request(text: &str) -> RunRequest {
    RunRequest {
        images: Vec::new(),
        text: text.to_owned(),
        agent_id: None,
        create_agent: false,
        home: Default::default(),
        model: None,
        max_rounds: None,
        wait_for_tasks: true,
        workspace: Default::default(),
        admission_context: AdmissionContext::LocalProcess,
        at_most: None,
    }
}

pub(crate) async fn run(
    host: &Host,
    request: RunRequest,
    world: impl Future<Output = ()>,
) -> Result<RunOnceResponse, Error> {
    let control = host.control();
    let (outcome, ()) = tokio::join!(control.run_once(request), world);
    outcome
}

#[tokio::test]
async fn a_temporary_agent_answers_and_leaves_nothing_behind() {
    let house = House::new();
    let host = house.start().await;
    let outcome = run(&host, request("what is two and two"), async {
        let round = calls(&[("ExecCommand", json!({ "cmd": "bc" }))]);
        house.model.next().await.answer(round);
        house.commands.next().await.ends("4");
        house.model.next().await.answer(says("four"));
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.final_status, RunStatus::Completed);
    assert_eq!(response.final_text, "four");
    assert_eq!(
        (
            response.model_rounds,
            response.tool_calls,
            response.shell_commands
        ),
        (2, 1, 1)
    );
    // The agent is removed after the answer; a drain waits for that.
    host.shut_down().await.expect("goes down");
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
    let status = host.reads().status(&response.agent_id).await;
    assert!(matches!(status, Err(Error::AgentNotFound { .. })));
    assert!(host.reads().agents().await.expect("a list").is_empty());
}

#[tokio::test]
async fn only_commands_that_ran_are_counted() {
    let house = House::new();
    let host = house.start().await;
    let outcome = run(&host, request("build it"), async {
        let round = calls(&[
            ("ExecCommand", json!({ "cmd": "make" })),
            ("ExecCommand", json!({ "command": "misspelt" })),
            ("ExecCommand", json!({ "cmd": "make", "shell": "nosh" })),
        ]);
        house.model.next().await.answer(round);
        house.commands.next().await.ends("built");
        let reason = "no such shell".to_owned();
        let failure = CommandFailure::Spawn { reason };
        house.commands.next().await.cannot_start(failure);
        house.model.next().await.answer(says("built"));
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.tool_calls, 3);
    assert_eq!(
        (response.shell_commands, response.exec_command_items),
        (1, 1)
    );
    assert_eq!(response.provider_cache_usage, None);
}

#[tokio::test]
async fn a_named_agent_is_made_when_asked_for_and_stays() {
    let house = House::new();
    let host = house.start().await;
    let named = |create_agent| RunRequest {
        agent_id: Some(agent("helper")),
        create_agent,
        ..request("hello")
    };
    let refused = run(&host, named(false), async {}).await;
    assert!(matches!(refused, Err(Error::AgentNotFound { .. })));
    let answer = async { house.model.next().await.answer(says("hi")) };
    let response = run(&host, named(true), answer).await.expect("a response");
    assert_eq!(response.agent_id, agent("helper"));
    assert_eq!(briefs(&host, "helper", 1).await[0].text, "hi");
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_run_that_may_create_its_agent_uses_an_existing_one_and_notes_the_template() {
    let house = House::new();
    let host = house.start().await;
    let template = HomeChoice {
        template: Some("holon-developer".to_owned()),
        seed: None,
    };
    let named = |create_agent, home| RunRequest {
        agent_id: Some(agent("helper")),
        create_agent,
        home,
        ..request("hello")
    };
    for (home, notes) in [(HomeChoice::default(), 0), (template.clone(), 1)] {
        let answer = async { house.model.next().await.answer(says("hi")) };
        let ran = run(&host, named(true, home), answer).await;
        let response = ran.expect("a response");
        assert_eq!(response.notes.len(), notes, "{:?}", response.notes);
    }
    let refused = run(&host, named(false, template), async {}).await;
    assert!(matches!(refused, Err(Error::AgentConflict { .. })));
}

#[tokio::test]
async fn a_run_ends_at_its_round_bound_and_says_so() {
    let house = House::new();
    let host = house.start().await;
    let bounded = RunRequest {
        max_rounds: Some(1),
        ..request("go on for ever")
    };
    let outcome = run(&host, bounded, async {
        let round = calls(&[("ExecCommand", json!({ "cmd": "yes" }))]);
        house.model.next().await.answer(round);
    });
    let response = outcome.await.expect("a response");
    assert_eq!(response.final_status, RunStatus::MaxTurnsExceeded);
    assert!(house.commands.is_quiet(), "the last round runs nothing");
}

#[tokio::test]
async fn a_run_that_fails_or_waits_is_an_answer_and_not_an_error() {
    let house = House::new();
    let host = house.start().await;
    let refusal = async {
        let refused = Err(failure(ModelFailureKind::Auth));
        house.model.next().await.answer(refused);
    };
    let failed = run(&host, request("hello"), refusal)
        .await
        .expect("an answer");
    assert_eq!(failed.final_status, RunStatus::Failed);
    let kind = failed.failure_artifact.map(|artifact| artifact.kind);
    assert_eq!(kind.as_deref(), Some("auth"));
    let named = RunRequest {
        agent_id: Some(agent("helper")),
        create_agent: true,
        ..request("wait a minute")
    };
    let rest = async {
        let rest = says_and_calls("later", &[("Sleep", json!({ "duration_ms": 60_000 }))]);
        house.model.next().await.answer(rest);
    };
    let waiting = run(&host, named, rest).await.expect("an answer");
    assert_eq!(waiting.final_status, RunStatus::Waiting);
    assert_eq!(waiting.waiting_reason, Some(WaitingReason::AwaitingTimer));
}

#[tokio::test]
async fn a_run_whose_caller_went_away_is_run_and_cleaned_up() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    {
        let waiting = control.run_once(request("hello"));
        tokio::pin!(waiting);
        let asked = tokio::select! {
            _ = &mut waiting => panic!("nobody answered yet"),
            asked = house.model.next() => asked,
        };
        asked.answer(says("to nobody"));
    }
    while house.homes.removed.load(Ordering::Relaxed) == 0 {
        assert!(host.reads().agents().await.expect("a list").is_empty());
    }
    host.shut_down().await.expect("down");
}

#[tokio::test]
async fn a_run_that_is_refused_leaves_no_agent_and_no_change() {
    let house = House::new();
    let host = house.start().await;
    let asked = |text: &str| RunRequest {
        agent_id: Some(agent("helper")),
        create_agent: true,
        ..request(text)
    };
    for text in [" ".to_owned(), "x".repeat(limits::MESSAGE_BODY_BYTES + 1)] {
        let refused = run(&host, asked(&text), async {}).await;
        assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
        assert!(host.reads().agents().await.expect("a list").is_empty());
    }
}

#[tokio::test]
async fn an_answer_does_not_wait_for_a_home_that_cannot_be_removed() {
    let house = House::new();
    house.homes.stuck.store(true, Ordering::Relaxed);
    let host = house.start().await;
    let answer = async { house.model.next().await.answer(says("four")) };
    let response = run(&host, request("two and two"), answer)
        .await
        .expect("a response");
    assert_eq!(response.final_text, "four");
    host.shut_down().await.expect("goes down all the same");
    house.homes.stuck.store(false, Ordering::Relaxed);
    let host = house.start().await;
    host.shut_down().await.expect("goes down");
    assert_eq!(
        house.homes.removed.load(Ordering::Relaxed),
        1,
        "the next start removes it"
    );
}

#[tokio::test]
async fn a_host_for_one_run_leaves_everybody_else_as_they_are() {
    let house = House::new();
    let host = house.with_main().await;
    prompt(&host, "main", "a long task").await;
    drop(house.model.next().await);
    host.shut_down().await.expect("goes down");
    let host = house
        .start_as(Conduct {
            scope: Scope::Run(None),
            ..Conduct::default()
        })
        .await;
    let before = host.reads().status(&agent("main")).await.expect("a status");
    let answer = async {
        let asked = house.model.next().await;
        assert!(
            asked.request.frame.cache.agent_id.starts_with("tmp_"),
            "only the run asks"
        );
        asked.answer(says("four"));
    };
    run(&host, request("two and two"), answer)
        .await
        .expect("a response");
    let after = host.reads().status(&agent("main")).await.expect("a status");
    assert_eq!(after, before, "its turn is open, and nobody touched it");
    host.shut_down().await.expect("goes down");
}

#[tokio::test]
async fn a_temporary_run_nobody_waits_for_any_more_is_broken_off_and_removed() {
    let house = House::new();
    let host = house.start().await;
    let control = host.control();
    let waiting = tokio::spawn(async move { control.run_once(request("a long task")).await });
    let round = calls(&[("ExecCommand", json!({ "cmd": "make" }))]);
    house.model.next().await.answer(round);
    let command = house.commands.next().await;
    waiting.abort();
    command.let_go().await;
    host.shut_down().await.expect("goes down");
    assert!(command.is_over(), "and what it ran with it");
    assert_eq!(house.homes.removed.load(Ordering::Relaxed), 1);
}
