//! Requests with an idempotency key: one decision, the same reply, also after a restart.

use crate::house::{House, agent, at_rest, briefs, create};
use crate::runs::{request, run};
use holon_domain::limits::KEPT_REPLY_MS;
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::request_key::{KeyScope, RequestKey};
use holon_domain::run::RunStatus;
use holon_engine::request::{AdmittedMessage, Ingress, RunRequest};
use holon_engine::{Error, Host};
use holon_testkit::ports::says;

pub(crate) fn key(name: &str, digest: &str) -> RequestKey {
    let scope = KeyScope {
        caller: "@local",
        route: "/prompt",
        agent: "main",
        kind: "decision",
    };
    RequestKey::new(scope, name, digest.to_owned())
}

async fn send(host: &Host, key: RequestKey, text: &str) -> Result<AdmittedMessage, Error> {
    let ingress = Ingress::operator_prompt(
        text.to_owned(),
        Priority::Normal,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    );
    let control = host.control().for_request(key);
    control.admit(&agent("main"), ingress).await
}

#[tokio::test]
async fn a_repeated_request_is_admitted_once_and_gets_the_same_reply_also_after_a_restart() {
    let house = House::new();
    let host = house.with_main().await;
    let first = send(&host, key("k", "a"), "hello").await.unwrap();
    assert_eq!(send(&host, key("k", "a"), "hello").await, Ok(first.clone()));
    house.model.next().await.answer(says("hi"));
    briefs(&host, "main", 1).await;
    host.shut_down().await.unwrap();
    let host = house.start().await;
    assert_eq!(send(&host, key("k", "a"), "hello").await, Ok(first.clone()));
    assert_eq!(
        send(&host, key("k", "b"), "other").await,
        Err(Error::KeyReused)
    );
    at_rest(&host, "main").await;
    assert!(house.model.is_quiet().await, "nothing was queued again");
    let other = send(&host, key("k2", "a"), "hello").await.unwrap();
    assert_ne!(other.message_id, first.message_id);
    house.model.next().await.answer(says("hi again"));
    briefs(&host, "main", 2).await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_refusal_is_not_kept_and_a_reply_is_kept_for_a_day() {
    let house = House::new();
    let host = house.with_main().await;
    let control = host.control();
    control.stop_agent(&agent("main")).await.unwrap();
    let refused = send(&host, key("k", "a"), "hello").await;
    assert!(matches!(refused, Err(Error::Rejected(_))), "{refused:?}");
    control.start_agent(&agent("main")).await.unwrap();
    let first = send(&host, key("k", "a"), "hello").await.unwrap();
    house.model.next().await.answer(says("hi"));
    briefs(&host, "main", 1).await;
    house.clock.advance(KEPT_REPLY_MS);
    let second = send(&host, key("k", "b"), "later").await.unwrap();
    assert_ne!(first.message_id, second.message_id);
    house.model.next().await.answer(says("hi again"));
    briefs(&host, "main", 2).await;
}

#[tokio::test]
async fn a_repeated_run_joins_the_first_and_another_body_is_refused() {
    let house = House::new();
    let host = house.start().await;
    create(&host, "main").await;
    let of_main = |text: &str| RunRequest {
        agent_id: Some(agent("main")),
        ..request(text)
    };
    let control = host.control().for_request(key("k", "a"));
    let (one, two, ()) = tokio::join!(
        control.run_once(of_main("add")),
        control.run_once(of_main("add")),
        async { house.model.next().await.answer(says("four")) }
    );
    let (one, two) = (one.unwrap(), two.unwrap());
    assert_eq!(one.message_id, two.message_id);
    assert_eq!(
        (one.final_text.as_str(), two.final_text.as_str()),
        ("four", "four")
    );
    host.shut_down().await.unwrap();
    let host = house.start().await;
    let control = host.control().for_request(key("k", "a"));
    let three = control.run_once(of_main("add")).await.unwrap();
    assert_eq!(three.message_id, one.message_id);
    assert_eq!(
        (three.final_status, three.model_rounds),
        (RunStatus::Completed, 1)
    );
    let control = host.control().for_request(key("k", "b"));
    assert_eq!(
        control.run_once(of_main("mul")).await.unwrap_err(),
        Error::KeyReused
    );
    assert!(house.model.is_quiet().await, "the model is asked once");
    let fresh = run(&host, of_main("add"), async {
        house.model.next().await.answer(says("five"));
    });
    assert_eq!(
        fresh.await.unwrap().final_text,
        "five",
        "a run without a key is new"
    );
}

#[tokio::test]
async fn a_repeated_request_is_admitted_once_also_after_the_clock_was_set_back() {
    let house = House::new();
    let host = house.with_main().await;
    house.clock.step(-3_600_000);
    let first = send(&host, key("k", "a"), "hello").await.unwrap();
    house.model.next().await.answer(says("hi"));
    briefs(&host, "main", 1).await;
    // The reply was kept at a time before the agent was made.
    assert_eq!(send(&host, key("k", "a"), "hello").await, Ok(first));
    assert_eq!(
        send(&host, key("k", "b"), "other").await,
        Err(Error::KeyReused)
    );
    let control = host.control();
    let (response, main) = (key("r", "a"), Some(agent("main")));
    let kept = control.keep_response(response.clone(), main.clone(), "{}".to_owned());
    kept.await.unwrap();
    let kept = control.kept_response(&response, main).await;
    assert_eq!(kept, Ok(Some("{}".to_owned())));
    at_rest(&host, "main").await;
    assert!(house.model.is_quiet().await, "nothing was queued again");
}

#[tokio::test]
async fn an_agent_that_takes_the_name_of_another_does_not_get_its_replies() {
    let house = House::new();
    let host = house.with_main().await;
    let control = host.control();
    let first = send(&host, key("k", "a"), "hello").await.unwrap();
    house.model.next().await.answer(says("hi"));
    briefs(&host, "main", 1).await;
    let (response, main) = (key("r", "a"), Some(agent("main")));
    let kept = control.keep_response(response.clone(), main.clone(), "{}".to_owned());
    kept.await.unwrap();
    control.remove_agent(&agent("main")).await.unwrap();
    house.is_gone(&agent("main")).await;
    // By the clock the replies are younger than the new agent.
    house.clock.step(-3_600_000);
    create(&host, "main").await;
    assert_eq!(control.kept_response(&response, main).await, Ok(None));
    let second = send(&host, key("k", "a"), "hello").await.unwrap();
    assert_ne!(first.message_id, second.message_id);
    house.model.next().await.answer(says("hi again"));
    briefs(&host, "main", 1).await;
}

#[tokio::test]
async fn a_repeated_request_whose_reply_was_emptied_or_damaged_is_told_so_and_not_decided_again() {
    let agent_id = Some(agent("main"));
    let removed = Error::OutcomeRemoved {
        agent_id: agent_id.clone(),
    };
    let unreadable = Error::OutcomeUnreadable { agent_id };
    for (damage, told) in [
        ("reply = ''", removed),
        ("reply = 'x'", unreadable.clone()),
        ("birth = -1", unreadable.clone()),
        ("birth = 99", unreadable),
    ] {
        let house = House::new();
        let host = house.with_main().await;
        send(&host, key("k", "a"), "hello").await.unwrap();
        house.damage(&format!("UPDATE kept_replies SET {damage}"));
        assert_eq!(send(&host, key("k", "a"), "hello").await, Err(told));
        assert_eq!(
            send(&host, key("k", "b"), "other").await,
            Err(Error::KeyReused)
        );
        house.model.next().await.answer(says("hi"));
        at_rest(&host, "main").await;
        assert!(house.model.is_quiet().await, "nothing was queued again");
    }
}

#[tokio::test]
async fn a_kept_response_that_cannot_be_read_is_no_answer() {
    let house = House::new();
    let host = house.with_main().await;
    let (control, response) = (host.control(), key("r", "a"));
    let text = "{\"ok\":true}".to_owned();
    let kept = control.keep_response(response.clone(), None, text.clone());
    kept.await.expect("keeps");
    let read = control.kept_response(&response, None).await;
    assert_eq!(read, Ok(Some(text)));
    house.damage("UPDATE kept_replies SET reply = 'x{'");
    let read = control.kept_response(&response, None).await;
    assert!(
        matches!(read, Err(Error::OutcomeUnreadable { .. })),
        "{read:?}"
    );
}

#[tokio::test]
async fn a_kept_reply_that_is_no_text_is_gone_and_costs_its_agent_nothing() {
    for column in ["reply", "digest"] {
        let house = House::new();
        let host = house.with_main().await;
        send(&host, key("k", "a"), "hello").await.unwrap();
        house.model.next().await.answer(says("hi"));
        briefs(&host, "main", 1).await;
        let of_main = RunRequest {
            agent_id: Some(agent("main")),
            ..request("add")
        };
        let control = host.control().for_request(key("run", "a"));
        let (first, ()) = tokio::join!(control.run_once(of_main.clone()), async {
            house.model.next().await.answer(says("four"));
        });
        first.unwrap();
        house.damage(&format!(
            "UPDATE kept_replies SET {column} = CAST(x'ff' AS TEXT)"
        ));
        let repeated = send(&host, key("k", "a"), "hello").await.map(drop);
        let run_again = control.run_once(of_main).await.map(drop);
        for refused in [repeated, run_again] {
            assert!(
                matches!(refused, Err(Error::OutcomeUnreadable { .. })),
                "{column}: {refused:?}"
            );
        }
        at_rest(&host, "main").await;
        assert!(house.model.is_quiet().await, "nothing runs again");
        send(&host, key("k2", "a"), "hello").await.unwrap();
        house.model.next().await.answer(says("still here"));
        briefs(&host, "main", 3).await;
    }
}
