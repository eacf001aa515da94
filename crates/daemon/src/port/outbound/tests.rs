//! Judgement of answers, the content of deliveries, and programs.

use super::attached::Parcel;
use super::*;
use holon_domain::brief::BriefAttachment;
use holon_domain::delivery::{DeliveryContent, DeliveryRecord, DeliveryRoute, DeliveryTrigger};
use holon_domain::operator_transport::{
    BindingStatus, DeliveryAuth, OperatorTransportBinding, TransportCapabilities,
};
use holon_domain::visibility::Visibility;
use holon_domain::{AgentId, BindingId, DeliveryId, SecretId, TargetId, Timestamp};
use holon_web::Cut;

fn delivery() -> Submission {
    Submission {
        agent_id: AgentId::parse("ada").unwrap(),
        text: "Which branch?".to_owned(),
        attempt: 2,
        record: DeliveryRecord {
            id: DeliveryId::from_stored("dlv_1"),
            route: DeliveryRoute::Target {
                name: "phone".to_owned(),
                target_id: None,
            },
            seq: 1,
            trigger: DeliveryTrigger::OperatorInputRequired,
            visibility: Visibility::ActionRequired,
            content: DeliveryContent::Brief(3),
            created_at: Timestamp::from_millis(0),
            route_id: Some("room-7".to_owned()),
            next_step: Some("answer the agent: Which branch?".to_owned()),
            work_item_id: None,
            notification_id: None,
            correlation_id: Some("c-1".to_owned()),
            causation_id: Some("msg_1".to_owned()),
            attachments: Vec::new(),
        },
    }
}

/// A parcel without attached files.
fn bare(delivery: &Submission) -> Parcel<'_> {
    let files = Vec::new();
    Parcel { delivery, files }
}

fn target(kind: TargetKind) -> Destination {
    Destination::Target(DeliveryTarget {
        name: "phone".to_owned(),
        kind,
        turn_results: false,
        agents: Vec::new(),
        created_at: Timestamp::from_millis(0),
        id: None,
    })
}

fn binding() -> Destination {
    Destination::Binding(Box::new(OperatorTransportBinding {
        binding_id: BindingId::from_stored("opb_1"),
        transport: "bridge".to_owned(),
        operator_actor_id: "jo".to_owned(),
        default_route_id: "room-1".to_owned(),
        reply_route_ids: Vec::new(),
        delivery_callback_url: "http://127.0.0.1:9/".to_owned(),
        delivery_auth: DeliveryAuth {
            kind: TargetAuth::Bearer,
            key_id: Some("k1".to_owned()),
        },
        capabilities: TransportCapabilities {
            text: true,
            markdown: false,
            attachments: false,
        },
        provider: None,
        provider_identity_ref: None,
        status: BindingStatus::Active,
        created_at: Timestamp::from_millis(0),
        last_seen_at: None,
        expires_at: None,
        turn_results: false,
        metadata: None,
        secret_id: None,
    }))
}

#[test]
fn a_transport_gets_the_fields_of_its_contract_and_the_id_as_key() {
    let content = content_of(&binding(), &bare(&delivery()));
    let key = ("idempotency-key".to_owned(), "dlv_1".to_owned());
    assert!(content.headers.contains(&key), "{:?}", content.headers);
    let body: Value = serde_json::from_slice(&content.body).unwrap();
    for (name, value) in [
        ("delivery_intent_id", "dlv_1"),
        ("binding_id", "opb_1"),
        ("route_id", "room-7"),
        ("target_agent_id", "ada"),
        ("kind", "operator_output"),
        ("text", "Which branch?"),
        ("correlation_id", "c-1"),
        ("causation_id", "msg_1"),
    ] {
        assert_eq!(body[name], value, "{name}");
    }
    assert!(body.get("created_at").is_some());
    assert!(
        body.get("work_item_id").is_none(),
        "absent fields are left out"
    );
}

#[test]
fn a_topic_gets_the_text_with_title_and_priority() {
    let topic = target(TargetKind::Ntfy {
        url: "https://ntfy.example/x".to_owned(),
        auth: TargetAuth::None,
    });
    let content = content_of(&topic, &bare(&delivery()));
    assert_eq!(content.body, b"Which branch?");
    let title = ("title".to_owned(), "ada needs you".to_owned());
    let priority = ("priority".to_owned(), "high".to_owned());
    assert!(content.headers.contains(&title), "{:?}", content.headers);
    assert!(content.headers.contains(&priority));
}

#[test]
fn failures_that_may_pass_are_retried_and_a_text_that_is_never_taken_is_not() {
    let answer = |status: u16| {
        judge(&Response {
            status,
            headers: Default::default(),
            body: br#"{"transport_delivery_id": "t-9"}"#.to_vec(),
            cut: None,
            url: String::new(),
        })
    };
    for status in [200, 202, 204] {
        let accepted = SubmitResult::Accepted {
            transport_delivery_id: Some("t-9".to_owned()),
        };
        assert_eq!(answer(status), accepted, "{status}");
    }
    for status in [401, 403, 404, 408, 425, 429, 500, 502, 503, 504, 302] {
        let result = answer(status);
        assert!(matches!(result, SubmitResult::Retry { .. }), "{status}");
    }
    for status in [400, 410, 413, 422] {
        let result = answer(status);
        assert!(matches!(result, SubmitResult::Refused { .. }), "{status}");
    }
}

#[test]
fn the_status_of_an_answer_decides_if_its_body_does_not_end() {
    for cut in [None, Some(Cut::Time), Some(Cut::Bytes), Some(Cut::Broken)] {
        let answered = |status: u16| Response {
            status,
            headers: Default::default(),
            body: b"a part".to_vec(),
            cut,
            url: String::new(),
        };
        let taken = report(String::new(), Ok(answered(200))).result;
        assert!(matches!(taken, SubmitResult::Accepted { .. }), "{cut:?}");
        let later = report(String::new(), Ok(answered(503))).result;
        assert!(matches!(later, SubmitResult::Retry { .. }), "{cut:?}");
    }
}

#[test]
fn a_description_hides_query_and_secret() {
    assert_eq!(
        site_of("https://x.example/a?token=s#f"),
        "https://x.example/a"
    );
    let signed = |secret| authentication(TargetAuth::Hmac, secret, "dlv_1", 7, b"{}");
    let added = signed("whsec_c2VjcmV0").unwrap();
    assert!(added.iter().all(|(_, value)| !value.contains("whsec_")));
    for no_key in ["whsec_", "whsec_ab-_ab-_"] {
        assert_eq!(signed(no_key), None, "{no_key}");
    }
}

#[test]
fn an_error_tells_no_query_and_a_header_that_cannot_be_sent_is_tried_again() {
    let url = || "https://x.example/a?token=canary".to_owned();
    let reason = || "no host".to_owned();
    let header = judge_error(WebError::Header {
        name: "webhook-key-id".to_owned(),
    });
    assert!(matches!(header, SubmitResult::Retry { .. }), "{header:?}");
    for error in [
        WebError::Address {
            url: url(),
            reason: reason(),
        },
        WebError::BadRedirect {
            status: 302,
            location: url(),
            reason: reason(),
        },
        WebError::DropsBody {
            status: 301,
            location: url(),
        },
    ] {
        let judged = format!("{:?}", judge_error(error));
        assert!(judged.contains("https://x.example/a"), "{judged}");
        assert!(!judged.contains("canary"), "{judged}");
    }
}

#[tokio::test]
async fn a_name_of_a_key_that_no_header_holds_shows_no_query_and_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let host = Outbound::new(
        dir.path().to_owned(),
        ProxyVariables::default(),
        AttachedFiles::default(),
    );
    let Destination::Binding(mut binding) = binding() else {
        panic!("a binding")
    };
    binding.delivery_auth = DeliveryAuth {
        kind: TargetAuth::None,
        key_id: Some("line\n".to_owned()),
    };
    binding.delivery_callback_url = "http://127.0.0.1:9/cb?token=canary".to_owned();
    let report = host
        .submit(&Destination::Binding(binding), &delivery())
        .await;
    let SubmitResult::Retry { error, .. } = &report.result else {
        panic!("{report:?}")
    };
    assert_eq!(
        error,
        "the header webhook-key-id has characters that cannot be sent"
    );
    assert!(!format!("{report:?}").contains("canary"), "{report:?}");
}

#[tokio::test]
async fn a_program_gets_the_text_on_its_input_and_in_its_environment() {
    let dir = tempfile::tempdir().unwrap();
    let out = dir.path().join("out");
    let script = format!(
        "cat > '{}'; echo \"$HOLON_DELIVERY_TITLE/$HOLON_DELIVERY_ID/$HOLON_DELIVERY_TEXT\"",
        out.display()
    );
    let host = Outbound::new(
        dir.path().to_owned(),
        ProxyVariables::default(),
        AttachedFiles::default(),
    );
    let argv = ["sh", "-c", script.as_str()].map(str::to_owned).to_vec();
    let program = target(TargetKind::Command { argv });
    let report = host.submit(&program, &delivery()).await;
    let accepted = SubmitResult::Accepted {
        transport_delivery_id: None,
    };
    assert_eq!(report.result, accepted, "{report:?}");
    assert_eq!(std::fs::read_to_string(out).unwrap(), "Which branch?\n");
    assert_eq!(
        report.received,
        "exit status 0 ada needs you/dlv_1/Which branch?"
    );
}

#[tokio::test]
async fn topics_and_programs_are_told_what_is_attached_and_where_to_read_it() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(dir.path().join("ada/work")).unwrap();
    std::fs::write(dir.path().join("ada/work/report.md"), "all is well").unwrap();
    let mut delivery = delivery();
    delivery.text = "It is done.".to_owned();
    delivery.record.attachments = ["work/report.md", "gone.png"]
        .map(|path| BriefAttachment::of_home(&delivery.agent_id, path).unwrap())
        .to_vec();
    let advertised = Some("https://box.example/".to_owned());
    let attached = AttachedFiles::new(dir.path().to_owned(), advertised);
    let parcel = attached.parcel(&delivery).await;
    let topic = target(TargetKind::Ntfy {
        url: "https://ntfy.example/x".to_owned(),
        auth: TargetAuth::None,
    });
    let posted = String::from_utf8(content_of(&topic, &parcel).body).unwrap();
    let lines = "It is done.\n\nanswer the agent: Which branch?\n\n\
         attached: work/report.md (11 bytes) https://box.example/agents/ada/attachment?path=work/report.md\n\
         attached: gone.png https://box.example/agents/ada/attachment?path=gone.png";
    assert_eq!(posted, lines);

    // Without an advertised address the path at the host is named.
    let attached = AttachedFiles::new(dir.path().to_owned(), None);
    let host = Outbound::new(dir.path().to_owned(), ProxyVariables::default(), attached);
    let out = dir.path().join("out");
    let script = format!(
        "cat; printf %s \"$HOLON_DELIVERY_ATTACHMENTS\" > '{}'",
        out.display()
    );
    let argv = ["sh", "-c", script.as_str()].map(str::to_owned).to_vec();
    let program = target(TargetKind::Command { argv });
    let report = host.submit(&program, &delivery).await;
    let line = "attached: work/report.md (11 bytes) /agents/ada/attachment?path=work/report.md";
    assert!(report.received.contains(line), "{report:?}");
    let told: Value = serde_json::from_str(&std::fs::read_to_string(out).unwrap()).unwrap();
    assert_eq!(told[0]["uri"], "/agents/ada/attachment?path=work/report.md");
    assert_eq!(told[0]["bytes"], 11);
    assert_eq!(
        (&told[1]["kind"], told[1].get("url")),
        (&Value::from("image"), None)
    );
}

#[tokio::test]
async fn a_program_that_fails_is_retried_with_its_words() {
    let host = Outbound::new(
        PathBuf::from("/nowhere"),
        ProxyVariables::default(),
        AttachedFiles::default(),
    );
    let argv = ["sh", "-c", "echo no route >&2; exit 3"]
        .map(str::to_owned)
        .to_vec();
    let report = host
        .submit(&target(TargetKind::Command { argv }), &delivery())
        .await;
    let expected = SubmitResult::Retry {
        error: "the program ended with exit status 3: no route".to_owned(),
        retry_after_ms: None,
    };
    assert_eq!(report.result, expected);
}

#[tokio::test]
async fn a_missing_secret_sends_nothing_and_is_tried_again() {
    let dir = tempfile::tempdir().unwrap();
    let host = Outbound::new(
        dir.path().to_owned(),
        ProxyVariables::default(),
        AttachedFiles::default(),
    );
    let kind = TargetKind::Http {
        url: "http://127.0.0.1:9/".to_owned(),
        auth: TargetAuth::Bearer,
    };
    let report = host.submit(&target(kind.clone()), &delivery()).await;
    assert!(report.sent.is_empty());
    assert!(
        matches!(report.result, SubmitResult::Retry { .. }),
        "{report:?}"
    );
    host.keep_secret("delivery.phone", "tok-canary")
        .await
        .unwrap();
    let report = host.submit(&target(kind), &delivery()).await;
    assert!(report.sent.contains("authorization: …"), "{}", report.sent);
    assert!(!format!("{report:?}").contains("tok-canary"));
    host.forget_secret("delivery.phone").await.unwrap();
}

#[test]
fn a_receiver_asks_for_a_pause_in_seconds_or_by_a_date() {
    let now = Timestamp::from_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
    let asked = |pairs: &[(&'static str, &'static str)]| {
        let mut response = Response {
            status: 503,
            headers: Default::default(),
            body: Vec::new(),
            cut: None,
            url: String::new(),
        };
        for (name, value) in pairs {
            response.headers.insert(*name, value.parse().unwrap());
        }
        retry_after(&response, now)
    };
    let later = "Sun, 06 Nov 1994 08:50:07 GMT";
    assert_eq!(asked(&[("retry-after", "7")]), Some(7_000));
    assert_eq!(asked(&[("retry-after", later)]), Some(30_000));
    let of_its_clock = ("date", "Sun, 06 Nov 1994 08:50:00 GMT");
    assert_eq!(asked(&[("retry-after", later), of_its_clock]), Some(7_000));
    let past = "Sun, 06 Nov 1994 08:00:00 GMT";
    assert_eq!(asked(&[("retry-after", past)]), Some(0));
    for old in ["Sunday, 06-Nov-94 08:50:07 GMT", "Sun Nov  6 08:50:07 1994"] {
        assert_eq!(asked(&[("retry-after", old)]), Some(30_000), "{old}");
    }
    let never = asked(&[("retry-after", "Fri, 31 Dec 9999 23:59:59 GMT")]);
    assert!(
        never.is_some_and(|ms| ms > 200_000_000_000_000),
        "{never:?}"
    );
    assert_eq!(asked(&[("retry-after", "soon")]), None);
    assert_eq!(asked(&[]), None);
}

#[tokio::test]
async fn secrets_of_a_prefix_are_forgotten_except_the_kept_ones() {
    let dir = tempfile::tempdir().unwrap();
    let host = Outbound::new(
        dir.path().to_owned(),
        ProxyVariables::default(),
        AttachedFiles::default(),
    );
    host.forget_secrets("binding:a:", &[]).await.unwrap();
    for profile in ["binding:a:sec_1", "binding:a:sec_2", "binding:a.b:sec_3"] {
        host.keep_secret(profile, "tok").await.unwrap();
    }
    let kept = ["binding:a:sec_2".to_owned()];
    host.forget_secrets("binding:a:", &kept).await.unwrap();
    let mut left = Vec::new();
    for profile in ["binding:a:sec_1", "binding:a:sec_2", "binding:a.b:sec_3"] {
        left.push(host.has_secret(profile).await.unwrap());
    }
    assert_eq!(left, [false, true, true]);
}

#[test]
fn the_credential_store_takes_the_names_of_all_secrets() {
    let id = TargetId::from_stored(format!("dtg_{}", "0".repeat(20)));
    for name in ["phone", &"x".repeat(48)] {
        let profile = DeliveryTarget::secret_profile(name, Some(&id));
        assert_eq!(credentials::check_id(&profile), Ok(()), "{profile}");
    }
    let Destination::Binding(mut binding) = binding() else {
        panic!("a binding")
    };
    binding.secret_id = Some(SecretId::from_stored(format!("sec_{}", "0".repeat(20))));
    for name in ["ada", &"x".repeat(AgentId::MAX_LEN)] {
        let profile = binding.secret_profile(&AgentId::parse(name).unwrap());
        assert_eq!(credentials::check_id(&profile), Ok(()), "{profile}");
    }
}

#[test]
fn what_is_asked_of_the_operator_is_part_of_the_text_unless_it_ends_with_that() {
    let sent = |text: &str, step: Option<&str>| {
        let mut delivery = delivery();
        delivery.text = text.to_owned();
        delivery.record.next_step = step.map(str::to_owned);
        content::words(&bare(&delivery)).into_owned()
    };
    let step = Some("answer the agent: Which branch?");
    for (text, step, expected) in [
        (
            "Step 1 is done.",
            step,
            "Step 1 is done.\n\nanswer the agent: Which branch?",
        ),
        (
            "Done. Which branch?",
            step,
            "Done. Which branch?\n\nanswer the agent: Which branch?",
        ),
        (
            "Done; answer the agent: Which branch?",
            step,
            "Done; answer the agent: Which branch?",
        ),
        (
            "It waits. Next step: raise it.",
            Some("raise it"),
            "It waits. Next step: raise it.",
        ),
        (
            "The tests pass.",
            Some("answer the agent: The"),
            "The tests pass.\n\nanswer the agent: The",
        ),
        ("", step, "answer the agent: Which branch?"),
        ("It is done.", None, "It is done."),
        (
            "A budget is reached",
            Some("raise it"),
            "A budget is reached\n\nraise it",
        ),
    ] {
        assert_eq!(sent(text, step), expected);
    }
}
