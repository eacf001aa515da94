//! Single calls to a host that is absent, silent, incomplete or of another protocol.

use crate::canned::{HANDSHAKE, Host, Script, answer, json};
use holon_api::{PromptRequest, RunRequest};
use holon_client::{Client, Error};
use holon_domain::AgentId;
use std::time::Duration;

#[tokio::test]
async fn a_host_that_is_not_there_is_unreachable() {
    let home = tempfile::tempdir().unwrap();
    let error = Client::unix(home.path().join("none"))
        .health()
        .await
        .unwrap_err();
    assert!(
        matches!(&error, Error::Unreachable { endpoint, .. } if endpoint.starts_with("unix:")),
        "{error:?}"
    );
    assert!(error.to_string().contains("holon daemon start"));
    let port = {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        listener.local_addr().unwrap()
    };
    let error = Client::tcp(port.to_string(), "token")
        .unwrap()
        .health()
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Unreachable { .. }), "{error:?}");
}

#[tokio::test]
async fn a_host_that_hangs_up_leaves_the_outcome_open() {
    let host = Host::start(vec![Script::HangUp]);
    let error = host.client().shutdown().await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    assert_eq!(host.heard(), ["POST /control/runtime/shutdown HTTP/1.1"]);
}

#[tokio::test]
async fn half_an_answer_is_no_answer() {
    let whole = answer(
        200,
        "application/json",
        "",
        r#"{"ok":true,"status":"live"}"#,
    );
    let half = whole.replace(r#""live"}"#, "");
    let host = Host::start(vec![Script::Send(half)]);
    let error = host.client().health().await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_host_is_given_up() {
    let host = Host::start(vec![Script::Silence]);
    let error = host.client().health().await.unwrap_err();
    assert!(
        matches!(&error, Error::Interrupted { reason, .. } if reason.contains("30000 ms")),
        "{error:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_run_is_waited_for_however_long_it_takes() {
    let body = r#"{"ok":false,"error":"after all","code":"late"}"#;
    let late = answer(503, "application/json", "", body);
    let host = Host::start(vec![Script::After(Duration::from_secs(86_400), late)]);
    let error = host.client().run(&RunRequest::default()).await.unwrap_err();
    assert_eq!(error.code(), Some("late"));
}

#[tokio::test]
async fn an_answer_of_another_protocol_is_named_as_such() {
    let host = Host::start(vec![
        json(200, "[]"),
        Script::Send("SSH-2.0-OpenSSH\r\n".into()),
        Script::Send(answer(502, "text/html", "", "<html>")),
    ]);
    let error = host.client().health().await.unwrap_err();
    assert!(matches!(error, Error::Protocol { .. }), "{error:?}");
    let error = host.client().health().await.unwrap_err();
    assert!(
        matches!(error, Error::Interrupted { .. } | Error::Protocol { .. }),
        "{error:?}"
    );
    let error = host.client().health().await.unwrap_err();
    assert_eq!(error.to_string(), "HTTP status 502: <html>");
}

#[tokio::test]
async fn fields_a_newer_host_adds_are_ignored() {
    let host = Host::start(vec![json(
        200,
        r#"{"ok":true,"status":"live","since":"tomorrow"}"#,
    )]);
    assert_eq!(host.client().health().await.unwrap().status, "live");
}

fn prompt() -> PromptRequest {
    PromptRequest {
        images: Vec::new(),
        text: "hello".to_owned(),
        priority: None,
        max_turns: None,
        trust: None,
    }
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_connection_was_lost_is_sent_again_with_its_key() {
    let taken = r#"{"ok":true,"agent_id":"main","message_id":"msg_1"}"#;
    let host = Host::start(vec![
        Script::HangUp,
        json(200, HANDSHAKE),
        Script::HangUp,
        json(200, HANDSHAKE),
        json(200, taken),
    ]);
    let main = AgentId::parse("main").unwrap();
    let answer = host.client().prompt(&main, &prompt()).await.unwrap();
    assert_eq!(answer.message_id.as_str(), "msg_1");
    let keys = host.keys();
    assert!(keys[0].is_some() && keys[0] == keys[2] && keys[2] == keys[4]);
    assert_eq!(keys[1], None, "a read has no key");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_know_keys_is_not_asked_again() {
    let old = HANDSHAKE.replace("control.idempotency", "control.run");
    let host = Host::start(vec![Script::HangUp, json(200, &old)]);
    let main = AgentId::parse("main").unwrap();
    let error = host.client().prompt(&main, &prompt()).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    assert_eq!(host.heard().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_host_that_does_not_come_back_leaves_the_outcome_open() {
    let host = Host::start(vec![Script::HangUp]);
    let main = AgentId::parse("main").unwrap();
    let error = host.client().prompt(&main, &prompt()).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_host_that_is_gone_for_the_repetition_leaves_the_outcome_open() {
    let host = Host::start(vec![Script::HangUp, json(200, HANDSHAKE)]);
    let main = AgentId::parse("main").unwrap();
    let error = host.client().prompt(&main, &prompt()).await.unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    assert_eq!(host.heard().len(), 2);
}

#[tokio::test(start_paused = true)]
async fn a_prompt_is_sent_again_under_its_key() {
    let taken = r#"{"ok":true,"agent_id":"main","message_id":"msg_1"}"#;
    let host = Host::start(vec![
        Script::Silence,
        json(200, HANDSHAKE),
        json(200, taken),
    ]);
    let (main, key) = (AgentId::parse("main").unwrap(), "key_1");
    let client = host.client();
    let error = client
        .prompt_keyed(&main, &prompt(), key)
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Interrupted { .. }), "{error:?}");
    let answer = client.prompt_again(&main, &prompt(), key).await.unwrap();
    assert_eq!(answer.message_id.as_str(), "msg_1");
    let key = Some(key.to_owned());
    assert_eq!(host.keys(), [key.clone(), None, key]);
}
