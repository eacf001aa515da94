//! The typed client against the server, over both transports.

use crate::world::World;
use holon_api::{
    ControlAction, CreateAgentRequest, EnqueueRequest, PageOrder, PromptRequest, RunRequest,
    SetModelRequest,
};
use holon_client::{Client, Error, EventsQuery};
use holon_testkit::engine::{ENDLESS, agent};

#[tokio::test]
async fn every_call_works_over_the_socket_and_over_tcp() {
    let world = World::start().await;
    for client in [world.local(), world.remote()] {
        assert_eq!(client.health().await.unwrap().status, "live");
        assert_eq!(client.root().await.unwrap().default_agent, agent("main"));
        assert!(client.handshake().await.unwrap().runtime.is_some());
        assert_eq!(client.agents().await.unwrap().len(), 2);
        assert!(client.briefs(None, Some(2)).await.unwrap().len() <= 2);
        let transcript = client.transcript(Some(&agent("main")), None).await;
        assert!(transcript.unwrap().len() <= 50);
        let query = EventsQuery {
            after_seq: Some(1),
            limit: Some(2),
            order: Some(PageOrder::Asc),
            ..EventsQuery::default()
        };
        world.engine.record_events("main", 2).await;
        let page = client.events(&agent("main"), query).await.unwrap();
        assert_eq!(
            page.events
                .iter()
                .map(|event| event.event_seq)
                .collect::<Vec<_>>(),
            [2, 3]
        );
        let made = client
            .create_agent(&agent("dev"), &CreateAgentRequest::default())
            .await
            .unwrap();
        assert_eq!(made.agent_id, "dev");
        let prompt = PromptRequest {
            images: Vec::new(),
            text: "go".into(),
            priority: None,
            max_turns: Some(2),
            trust: None,
        };
        assert_eq!(
            client
                .prompt(&agent("dev"), &prompt)
                .await
                .unwrap()
                .agent_id,
            agent("dev")
        );
        let event = EnqueueRequest {
            text: Some("x".into()),
            ..EnqueueRequest::default()
        };
        assert!(client.enqueue(None, &event).await.unwrap().ok);
        assert_eq!(
            client
                .control(&agent("dev"), ControlAction::Stop)
                .await
                .unwrap()
                .notice,
            None
        );
        client
            .control(&agent("dev"), ControlAction::Start)
            .await
            .unwrap();
        let request = SetModelRequest {
            model: "b/2".into(),
            ..SetModelRequest::default()
        };
        let set = client.set_model(&agent("dev"), &request).await.unwrap();
        assert_eq!(set.model.source, "agent_override");
        assert_eq!(set.model.effective_model.as_deref(), Some("b/2"));
        let cleared = client.clear_model(&agent("dev")).await.unwrap();
        assert_eq!(cleared.model.source, "runtime_default");
        assert_eq!(client.models().await.unwrap().model_availability, []);
        assert_eq!(client.reload().await.unwrap().changed, ["model.default"]);
        let run = client
            .run(&RunRequest {
                text: "go".into(),
                ..RunRequest::default()
            })
            .await
            .unwrap();
        assert_eq!(
            (run.final_status.as_str(), run.final_text.as_str()),
            ("completed", "done")
        );
    }
}

#[tokio::test]
async fn a_refusal_comes_as_an_error_with_its_code_and_hint() {
    let world = World::start().await;
    let error = world
        .local()
        .status(Some(&agent("nobody")))
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("agent_not_found"));
    assert!(error.hint().unwrap().contains("holon agent create nobody"));
    let wrong = Client::tcp(world.address.to_string(), "not-the-token").unwrap();
    assert!(matches!(
        wrong.agents().await,
        Err(Error::Api { status: 401, .. })
    ));
    let stranger = Client::tcp_without_token(world.address.to_string());
    assert!(stranger.handshake().await.unwrap().runtime.is_none());
}

#[tokio::test]
async fn a_request_that_is_too_large_is_refused_in_words_and_not_by_a_broken_pipe() {
    let world = World::start().await;
    let prompt = PromptRequest {
        images: Vec::new(),
        text: "x".repeat(8 << 20),
        priority: None,
        max_turns: None,
        trust: None,
    };
    let error = world
        .remote()
        .prompt(&agent("main"), &prompt)
        .await
        .unwrap_err();
    assert_eq!(error.code(), Some("too_large"));
}

#[tokio::test]
async fn a_host_that_is_asked_to_go_down_answers_first_and_then_goes() {
    let world = World::start().await;
    let answer = world.local().shutdown().await.unwrap();
    assert_eq!(
        (
            answer.pid,
            answer.home_dir.as_str(),
            answer.shutdown_requested
        ),
        (4711, "/srv/holon", true)
    );
    assert!(world.serving.await.unwrap().is_ok());
}

#[tokio::test]
async fn a_run_that_is_waited_for_does_not_hold_up_the_end_of_the_host() {
    let world = World::start().await;
    let client = world.local();
    let before = world.engine.commits().await;
    let request = RunRequest {
        text: ENDLESS.into(),
        ..RunRequest::default()
    };
    let waiting = tokio::spawn(async move { client.run(&request).await });
    while world.engine.commits().await == before {}
    world.shutdown.cancel();
    assert_eq!(
        waiting.await.unwrap().unwrap_err().code(),
        Some("shutting_down")
    );
    assert!(world.serving.await.unwrap().is_ok());
}
