//! External triggers in a host: tokens are derived, concealed in everything stored, and work across restarts.

use crate::house::{House, agent, at_rest, briefs, create, prompt};
use crate::runs::{request, run};
use crate::talk::results;
use holon_domain::intent::TaskOutput;
use holon_domain::limits::KEPT_REPLY_MS;
use holon_domain::message::{
    AdmissionContext, Body, DeliverySurface, MessageKind, Origin, Priority,
};
use holon_domain::trigger::{
    CallbackDelivery, CallbackDisposition, CallbackReceipt, CapabilityKey, DeliveryContent,
    DeliveryMode, TriggerRecord,
};
use holon_engine::request::Ingress;
use holon_engine::{Conduct, Error, Host, Rejection};
use holon_testkit::ports::{calls, says};
use serde_json::json;

fn conduct() -> Conduct {
    Conduct {
        capability_key: CapabilityKey::new("the key of this home"),
        callback_base: "https://box.example/holon".to_owned(),
        ..Conduct::default()
    }
}

async fn start(house: &House) -> Host {
    let host = house.start_as(conduct()).await;
    create(&host, "main").await;
    host
}

/// Returns the token of the agent's active trigger of a mode, as an operator sees it.
async fn token(host: &Host, mode: DeliveryMode) -> String {
    let control = host.control();
    let trigger = control.create_trigger(&agent("main"), mode).await.unwrap();
    let revealed = control.reveal_trigger(&agent("main"), &trigger.id).await;
    let (_, url) = revealed.unwrap();
    let path = format!("https://box.example/holon/callbacks/{}/", mode.path());
    url.strip_prefix(&path).expect("the URL").to_owned()
}

fn delivery(trigger: &TriggerRecord, id: Option<&str>, body: &str) -> CallbackDelivery {
    CallbackDelivery {
        trigger_id: trigger.id.clone(),
        generation: trigger.generation,
        mode: trigger.delivery_mode,
        source: None,
        delivery_id: id.map(str::to_owned),
        correlation_id: None,
        causation_id: None,
        content: DeliveryContent::of(None, body.as_bytes()),
    }
}

async fn deliver(
    host: &Host,
    token: &str,
    id: Option<&str>,
    body: &str,
) -> Result<CallbackReceipt, Error> {
    let control = host.control();
    let Some(trigger) = control.find_capability(token).await? else {
        return Err(Rejection::UnknownToken.into());
    };
    let agent_id = trigger.target_agent_id.clone();
    let sent = control.deliver_callback(&agent_id, delivery(&trigger, id, body));
    sent.await
}

#[tokio::test]
async fn a_model_is_given_its_url_and_nothing_stored_holds_the_token() {
    let house = House::new();
    let host = start(&house).await;
    let token = token(&host, DeliveryMode::WakeHint).await;
    prompt(&host, "main", "let CI wake you").await;
    let asked = house.model.next().await;
    let create = json!({ "delivery_mode": "wake_hint" });
    asked.answer(calls(&[("CreateExternalTrigger", create)]));
    let asked = house.model.next().await;
    let told = results(&asked.request).join("\n");
    let url = format!("https://box.example/holon/callbacks/wake/{token}");
    assert!(told.contains(&url), "the model reads its URL: {told}");
    // The model repeats it in words and in a command; the command prints it.
    let register = json!({ "cmd": format!("register {url}") });
    asked.answer(holon_testkit::ports::says_and_calls(
        &format!("I register {url}"),
        &[("ExecCommand", register)],
    ));
    let command = house.commands.next().await;
    assert_eq!(command.cmd(), format!("register {url}"));
    command.ends(&format!("registered {url}"));
    let asked = house.model.next().await;
    let told = results(&asked.request).join("\n");
    assert!(told.contains(&format!("registered {url}")), "{told}");
    asked.answer(says(&format!("CI calls {url} from now on")));
    let brief = briefs(&host, "main", 1).await.remove(0);
    assert!(!brief.text.contains(&token), "{}", brief.text);
    assert!(
        brief.text.contains("{{external_trigger_token:trig_"),
        "{}",
        brief.text
    );
    at_rest(&host, "main").await;
    host.shut_down().await.unwrap();
    assert!(!house.files_hold(&token), "the token is stored");
    assert!(
        !house.files_hold(token.get(32..).unwrap()),
        "its secret part is stored"
    );
    assert!(
        house.files_hold("external_trigger_token"),
        "the placeholder is"
    );
}

#[tokio::test]
async fn text_from_outside_cannot_ask_for_a_token() {
    let house = House::new();
    let host = start(&house).await;
    let token = token(&host, DeliveryMode::WakeHint).await;
    let trigger = host
        .control()
        .find_capability(&token)
        .await
        .unwrap()
        .unwrap();
    let guess = format!(
        "{{{{external_trigger_token:{}.1.0000000000000000}}}}",
        trigger.id
    );
    deliver(&host, &token, None, &guess).await.unwrap();
    let asked = house.model.next().await;
    let shown = format!("{:?}", asked.request);
    assert!(shown.contains(&guess) && !shown.contains(&token));
    asked.answer(says("hm"));
    at_rest(&host, "main").await;
}

#[tokio::test]
async fn a_token_works_across_restarts_until_it_is_rotated_or_revoked() {
    let house = House::new();
    let host = start(&house).await;
    let old = token(&host, DeliveryMode::WakeHint).await;
    deliver(&host, &old, None, "one").await.unwrap();
    house.model.next().await.answer(says("seen"));
    at_rest(&host, "main").await;
    host.shut_down().await.unwrap();
    let host = house.start_as(conduct()).await;
    assert_eq!(token(&host, DeliveryMode::WakeHint).await, old);
    deliver(&host, &old, None, "two").await.unwrap();
    house.model.next().await.answer(says("seen"));
    at_rest(&host, "main").await;
    let [trigger] = &host.reads().triggers(&agent("main")).await.unwrap()[..] else {
        panic!("one trigger");
    };
    assert_eq!(trigger.trigger_count, 2);
    let control = host.control();
    control
        .rotate_trigger(&agent("main"), trigger.id.clone())
        .await
        .unwrap();
    let unknown = Err(Error::from(Rejection::UnknownToken));
    assert_eq!(deliver(&host, &old, None, "x").await, unknown);
    let new = token(&host, DeliveryMode::WakeHint).await;
    control
        .revoke_trigger(&agent("main"), trigger.id.clone())
        .await
        .unwrap();
    assert_eq!(deliver(&host, &new, None, "x").await, unknown);
    host.shut_down().await.unwrap();
    let host = house.start_as(conduct()).await;
    for token in [&old, &new] {
        assert_eq!(
            deliver(&host, token, None, "x").await,
            unknown,
            "after a restart"
        );
    }
    // Another key derives other tokens, and none works without a key.
    host.shut_down().await.unwrap();
    let host = house
        .start_as(Conduct {
            capability_key: CapabilityKey::new("other"),
            ..conduct()
        })
        .await;
    let other = token(&host, DeliveryMode::WakeHint).await;
    host.shut_down().await.unwrap();
    let host = house
        .start_as(Conduct {
            capability_key: CapabilityKey::default(),
            ..conduct()
        })
        .await;
    assert_eq!(deliver(&host, &other, None, "x").await, unknown);
    let (control, main) = (host.control(), agent("main"));
    let made = control.create_trigger(&main, DeliveryMode::WakeHint).await;
    let made = made.expect("a trigger");
    let shown = control.reveal_trigger(&main, &made.id).await;
    assert_eq!(shown, Err(Error::NoCapabilityKey));
}

#[tokio::test]
async fn a_delivery_repeated_a_thousand_times_and_after_a_crash_is_one_message() {
    let house = House::new();
    let host = start(&house).await;
    let token = token(&host, DeliveryMode::EnqueueMessage).await;
    let first = deliver(&host, &token, Some("d-1"), "one").await.unwrap();
    assert_eq!(first.disposition, CallbackDisposition::Enqueued);
    for _ in 0..1_000 {
        let again = deliver(&host, &token, Some("d-1"), "one").await;
        assert_eq!(again, Ok(first.clone()));
    }
    let house = house.after_crash();
    let host = house.start_as(conduct()).await;
    assert_eq!(
        deliver(&host, &token, Some("d-1"), "one").await,
        Ok(first.clone())
    );
    house.model.next().await.answer(says("seen"));
    at_rest(&host, "main").await;
    assert!(house.model.is_quiet().await, "one message, one turn");
    house.clock.advance(KEPT_REPLY_MS - 1_000);
    assert_eq!(
        deliver(&host, &token, Some("d-1"), "one").await,
        Ok(first.clone())
    );
    house.clock.advance(2_000);
    let later = deliver(&host, &token, Some("d-1"), "one").await.unwrap();
    assert_ne!(later.message_id, first.message_id, "a day has passed");
    house.model.next().await.answer(says("seen again"));
    at_rest(&host, "main").await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_delivery_that_lost_the_race_with_a_revocation_is_refused() {
    let house = House::new();
    let host = start(&house).await;
    let token = token(&host, DeliveryMode::WakeHint).await;
    let control = host.control();
    let found = control.find_capability(&token).await.unwrap().unwrap();
    control
        .revoke_trigger(&agent("main"), found.id.clone())
        .await
        .unwrap();
    let sent = control
        .deliver_callback(&agent("main"), delivery(&found, None, "x"))
        .await;
    assert_eq!(sent, Err(Error::from(Rejection::UnknownToken)));
    control.remove_agent(&agent("main")).await.unwrap();
    house.is_gone(&agent("main")).await;
    let sent = control
        .deliver_callback(&agent("main"), delivery(&found, None, "x"))
        .await;
    assert_eq!(sent, Err(Error::from(Rejection::UnknownToken)));
    assert_eq!(control.find_capability(&token).await, Ok(None));
}

#[tokio::test]
async fn an_agent_that_takes_the_name_of_another_does_not_answer_to_its_token() {
    let house = House::new();
    let host = start(&house).await;
    let old = token(&host, DeliveryMode::WakeHint).await;
    host.control().remove_agent(&agent("main")).await.unwrap();
    house.is_gone(&agent("main")).await;
    create(&host, "main").await;
    let unknown = Err(Error::from(Rejection::UnknownToken));
    assert_eq!(deliver(&host, &old, None, "x").await, unknown);
    assert_ne!(token(&host, DeliveryMode::WakeHint).await, old);
}

#[tokio::test]
async fn an_agent_that_takes_the_name_of_another_gets_the_webhooks_that_the_other_had() {
    let house = House::new();
    let host = start(&house).await;
    let send = async |id: &'static str| {
        let ingress = Ingress {
            kind: MessageKind::WebhookEvent,
            origin: Origin::Webhook {
                source: "generic".to_owned(),
                event_type: None,
            },
            ..Ingress::operator_prompt(
                "news".to_owned(),
                Priority::Normal,
                DeliverySurface::HttpWebhook,
                AdmissionContext::PublicUnauthenticated,
            )
        };
        let control = host.control();
        let marks = [("id", id)];
        let main = agent("main");
        let sent = control.deliver_webhook(&main, &marks, ingress);
        sent.await.expect("is admitted").message_id
    };
    let first = send("z1").await;
    assert_eq!(send("z1").await, first, "a repetition");
    house.model.next().await.answer(says("seen"));
    at_rest(&host, "main").await;
    host.control().remove_agent(&agent("main")).await.unwrap();
    house.is_gone(&agent("main")).await;
    create(&host, "main").await;
    let second = send("z1").await;
    assert_ne!(second, first);
    house.model.next().await.answer(says("seen as well"));
    at_rest(&host, "main").await;
    assert_eq!(send("z1").await, second);
}

#[tokio::test]
async fn a_private_agent_is_reached_by_its_own_token_and_by_nothing_else() {
    let house = House::new();
    let host = house.start_as(conduct()).await;
    let control = host.control();
    let outcome = run(&host, request("go"), async {
        let asked = house.model.next().await;
        let read = house.readers().read(|reader| {
            let recovered = reader.agents_to_recover(None, 10)?;
            let id = recovered
                .agents
                .into_iter()
                .next()
                .expect("a temporary agent");
            let (no, _) = reader.agent(&id)?.expect("an agent");
            Ok((id, reader.triggers(no)?.remove(0)))
        });
        let (id, trigger) = read.await.expect("its rows");
        let hidden = Err(Error::AgentNotFound {
            agent_id: id.clone(),
        });
        let revealed = control.reveal_trigger(&id, &trigger.id).await;
        assert_eq!(revealed.map(drop), hidden);
        let listed = host.reads().triggers(&id).await;
        assert_eq!(listed.map(drop), hidden);
        assert_eq!(control.webhook_terms(&id).await, Ok(None));
        let token = conduct().capability_key.token(&trigger.id, 1);
        let receipt = deliver(&host, &token, None, "news").await.unwrap();
        assert_eq!(receipt.target_agent_id, id);
        asked.answer(says("done"));
    });
    assert!(outcome.await.is_ok());
}

#[tokio::test]
async fn a_token_in_what_a_sender_says_about_a_delivery_is_not_stored() {
    for mode in [DeliveryMode::WakeHint, DeliveryMode::EnqueueMessage] {
        let house = House::new();
        let host = start(&house).await;
        let token = token(&host, mode).await;
        let control = host.control();
        let found = control.find_capability(&token).await.expect("is read");
        let trigger = found.expect("is known");
        let word = || Some(token.clone());
        let sent = CallbackDelivery {
            source: word(),
            delivery_id: word(),
            correlation_id: word(),
            causation_id: word(),
            content: DeliveryContent::of(Some(format!("x/{token}")), b"look"),
            ..delivery(&trigger, None, "")
        };
        let first = control.deliver_callback(&agent("main"), sent.clone()).await;
        let again = control.deliver_callback(&agent("main"), sent).await;
        assert_eq!(first.expect("is taken"), again.expect("is known"));
        host.shut_down().await.unwrap();
        assert!(!house.files_hold(token.get(32..).unwrap()), "{mode:?}");
    }
}

#[tokio::test]
async fn a_token_in_an_opaque_body_is_concealed_before_it_is_encoded() {
    for padding in 0..3 {
        let house = House::new();
        let host = start(&house).await;
        let token = token(&host, DeliveryMode::WakeHint).await;
        let control = host.control();
        let trigger = control.find_capability(&token).await.unwrap().unwrap();
        let mut payload = vec![0xff; padding];
        payload.extend(token.bytes());
        let kind = || Some("application/octet-stream".to_owned());
        let content = DeliveryContent::of(kind(), &payload);
        let Body::Json { value } = &content.body else {
            panic!("{content:?}");
        };
        let encoded = value["body_base64"].as_str().unwrap().to_owned();
        let secret_part = encoded.get(44..64).expect("a long token").to_owned();
        let sent = CallbackDelivery {
            content,
            ..delivery(&trigger, None, "")
        };
        control
            .deliver_callback(&agent("main"), sent)
            .await
            .unwrap();
        host.shut_down().await.unwrap();
        assert!(!house.files_hold(&secret_part), "padding {padding}");
    }
}

#[tokio::test]
async fn a_token_that_a_task_printed_is_concealed_from_a_reader_of_its_output() {
    let house = House::new();
    let host = start(&house).await;
    let token = token(&host, DeliveryMode::WakeHint).await;
    prompt(&host, "main", "register it").await;
    let command = json!({ "cmd": "register", "yield_time_ms": 0 });
    let asked = house.model.next().await;
    asked.answer(calls(&[("ExecCommand", command)]));
    let task = house.commands.next().await;
    house.model.next().await.answer(says("it is started"));
    briefs(&host, "main", 1).await;
    task.prints(&format!("registered {token}"));
    let query = TaskOutput {
        task_id: task.task_id(),
        wait_ms: None,
        after_byte: None,
        stderr_after_byte: None,
        tail_lines: None,
        max_output_tokens: None,
    };
    let read = host.reads().task_output(&agent("main"), query).await;
    let shown = read.expect("is read").to_string();
    assert!(shown.contains("registered [trig_"), "{shown}");
    assert!(!shown.contains(&token), "{shown}");
}

#[tokio::test]
async fn a_trigger_whose_row_cannot_be_read_is_not_told_as_missing() {
    let house = House::new();
    let host = start(&house).await;
    token(&host, DeliveryMode::WakeHint).await;
    house.damage("UPDATE external_triggers SET record = 'x' || record");
    let listed = host.reads().triggers(&agent("main")).await;
    let Err(Error::AgentUnreadable { reason, .. }) = listed else {
        panic!("{listed:?}");
    };
    assert!(reason.starts_with("external_triggers trig_"), "{reason}");
    let status = host.reads().status(&agent("main")).await;
    assert!(status.is_ok(), "the rest is shown");
}
