//! External triggers and webhooks with the real program: an agent waits, a job calls its URL, and a crash in between
//! changes nothing.

use crate::support::{hello, http, until, world};
use holon_domain::hmac;
use holon_testkit::{World, damage};
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Stdio;

/// Posts without credentials, as `curl` in a job does. Returns status and body.
pub(crate) fn post(addr: &str, path: &str, headers: &str, body: &str) -> (u16, Value) {
    let length = body.len();
    let said = http(
        addr,
        &format!(
            "POST {path} HTTP/1.1\nHost: {addr}\n{headers}Content-Length: {length}\nConnection: close\n\n{body}"
        ),
    );
    let status = said.split(' ').nth(1).and_then(|word| word.parse().ok());
    let body = said.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body = serde_json::from_str(body).unwrap_or_else(|_| panic!("no JSON: {said}"));
    (status.unwrap(), body)
}

/// Returns the path of the URL that wakes the default agent.
pub(crate) fn wake_path(world: &World, addr: &str) -> String {
    let url = world.run(&["trigger", "show"]).answer().trim().to_owned();
    let base = format!("http://{addr}");
    url.strip_prefix(&base)
        .expect("the advertised base")
        .to_owned()
}

fn transcript(world: &World) -> String {
    world.run(&["transcript"]).answer().to_owned()
}

#[test]
fn an_agent_that_waits_for_ci_is_woken_by_the_job_although_the_host_crashed_meanwhile() {
    let world = world();
    let wait = json!({
        "tool": "WaitFor",
        "input": { "reason": "the build", "wake_on": [{ "external": "ci" }] },
    });
    let rounds = json!([{ "calls": [wait] }, { "text": "Told: {{input}}" }]);
    let script = json!({ "rounds": rounds, "on_end": "repeat_last" }).to_string();
    let script = world.write("ci.json", &script);
    let model = format!("scripted/{}", script.display());
    let served = world.serve(&["--model", &model]);
    assert_eq!(world.run(&["prompt", "wait for CI"]).code, Some(0));
    until("the agent waits", || {
        let waits = world.run(&["wait", "list", "--json"]).json();
        waits[0]["status"] == "active"
    });
    let token = wake_path(&world, &served.addr);
    let token = token.rsplit('/').next().unwrap().to_owned();
    served.crash();
    let served = world.serve(&["--model", &model]);
    let path = wake_path(&world, &served.addr);
    assert!(path.ends_with(&token), "the URL survives a crash");
    let headers = "Content-Type: application/json\nIdempotency-Key: run-7\n";
    let call = || {
        let path = format!("{path}?source=ci");
        post(&served.addr, &path, headers, r#"{"status":"failure"}"#)
    };
    let (status, first) = call();
    assert_eq!(status, 200, "{first}");
    assert!(first["waiting_intent_id"].is_string(), "{first}");
    assert_eq!(call(), (200, first.clone()), "a repetition changes nothing");
    until("the agent reports", || {
        transcript(&world).contains("Told: ")
    });
    let said = transcript(&world);
    assert_eq!(said.matches("Told: ").count(), 1, "{said}");
    assert!(said.contains("failure"), "{said}");
    let waits = world.run(&["wait", "list", "--all", "--json"]).json();
    assert_eq!(waits[0]["status"], "resolved");
    served.crash();
    let served = world.serve(&["--model", &model]);
    let path = format!("{}?source=ci", wake_path(&world, &served.addr));
    let after = post(&served.addr, &path, headers, r#"{"status":"failure"}"#);
    assert_eq!(after, (200, first), "also after a crash");
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0));
    assert!(!log.contains(&token), "the log shows the token");
    let mode = |name: &str| {
        use std::os::unix::fs::PermissionsExt as _;
        let file = world.home().join("state").join(name);
        std::fs::metadata(file).unwrap().permissions().mode() & 0o777
    };
    assert_eq!(mode("capability.key"), 0o600);
    for file in ["holon.sqlite3", "holon.sqlite3-wal"] {
        let bytes = std::fs::read(world.home().join("state").join(file)).unwrap_or_default();
        let found = bytes
            .windows(token.len())
            .any(|part| part == token.as_bytes());
        assert!(!found, "{file} holds the token");
    }
}

#[test]
fn an_operator_lists_makes_rotates_and_revokes_triggers() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let listed = || world.run(&["trigger", "list", "--json"]).json();
    assert_eq!(listed().as_array().map(Vec::len), Some(1));
    let old = wake_path(&world, &served.addr);
    let id = listed()[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.run(&["trigger", "rotate", &id]).code, Some(0));
    let new = wake_path(&world, &served.addr);
    assert_eq!(post(&served.addr, &old, "", "x").0, 404);
    assert_eq!(post(&served.addr, &new, "", "x").0, 200);
    assert_eq!(world.run(&["trigger", "revoke", &id]).code, Some(0));
    let (status, refused) = post(&served.addr, &new, "", "x");
    assert_eq!(
        (status, &refused["code"]),
        (404, &json!("callback_not_found"))
    );
    let none = world.run(&["trigger", "show"]);
    assert_eq!(none.code, Some(2), "{none:?}");
    assert!(none.stderr.contains("holon trigger create"), "{none:?}");
    for mode in ["wake_hint", "enqueue_message"] {
        let made = world
            .run(&["trigger", "create", "--mode", mode, "--json"])
            .json();
        assert_eq!(made["delivery_mode"], mode);
        assert!(made.get("trigger_url").is_none(), "only show tells the URL");
    }
    let unknown = world.run(&["trigger", "rotate", "trig_x"]);
    assert!(unknown.stderr.contains("holon trigger list"), "{unknown:?}");
    let listed = world.run(&["trigger", "list"]);
    assert!(!listed.answer().contains("/callbacks/"), "{listed:?}");
    drop(served);
}

#[test]
fn a_webhook_is_accepted_with_the_secret_that_an_operator_set() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let usage = world.run(&["webhook", "set", "main"]);
    assert_eq!(usage.code, Some(2), "{usage:?}");
    let secret = "a secret with spaces";
    let mut set = world
        .command()
        .args(["webhook", "set", "main", "--secret-stdin", "--json"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = set.stdin.take().unwrap();
    writeln!(stdin, "{secret}").unwrap();
    drop(stdin);
    let set = set.wait_with_output().unwrap();
    let shown: Value = serde_json::from_slice(&set.stdout).unwrap();
    assert_eq!(shown["has_secret"], true);
    assert_eq!(
        shown["url"],
        format!("http://{}/webhooks/generic/main", served.addr)
    );
    let body = r#"{"action":"opened"}"#;
    let mac = hmac::hex(&hmac::hmac_sha256(secret.as_bytes(), &[body.as_bytes()]));
    let headers = format!(
        "X-GitHub-Event: pull_request\nX-GitHub-Delivery: d-1\nX-Hub-Signature-256: sha256={mac}\n"
    );
    let send = |addr: &str| post(addr, "/webhooks/generic/main", &headers, body);
    let (status, first) = send(&served.addr);
    assert_eq!(status, 200, "{first}");
    served.crash();
    let served = world.serve(&["--model", &hello(&world)]);
    assert_eq!(
        send(&served.addr),
        (200, first),
        "it is one message after a crash"
    );
    let forged = headers.replace("sha256=", "sha256=00");
    assert_eq!(
        post(&served.addr, "/webhooks/generic/main", &forged, body).0,
        401
    );
    let listed = world.run(&["config", "credentials", "list", "--json"]);
    assert!(!listed.stdout.contains(secret), "{listed:?}");
    assert_eq!(world.run(&["webhook", "remove", "main"]).code, Some(0));
    assert_eq!(send(&served.addr).0, 404);
    let shown = world.run(&["webhook", "show", "main", "--json"]).json();
    assert_eq!(
        (&shown["has_secret"], &shown["allow_unsigned"]),
        (&json!(false), &json!(false))
    );
    drop(served);
}

#[test]
fn an_agent_of_an_older_store_gets_its_trigger_when_its_url_is_asked_for() {
    let world = world();
    let model = hello(&world);
    drop(world.serve(&["--model", &model]));
    let store = world.home().join("state/holon.sqlite3");
    let removed = damage::sql(&store, "DELETE FROM external_triggers");
    assert_eq!(removed, 1, "the default agent had one");
    let served = world.serve(&["--model", &model]);
    let create = "holon trigger create --agent main --mode wake_hint";
    let none = world.run(&["trigger", "list"]);
    assert!(none.answer().contains(create), "{none:?}");
    let path = wake_path(&world, &served.addr);
    assert_eq!(wake_path(&world, &served.addr), path, "it is made once");
    let listed = world.run(&["trigger", "list", "--json"]).json();
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed}");
    let id = listed[0]["id"].as_str().unwrap();
    assert_eq!(world.run(&["trigger", "revoke", id]).code, Some(0));
    let shown = world.run(&["trigger", "show"]);
    assert_eq!(shown.code, Some(2), "a revoked one stays so: {shown:?}");
    assert!(shown.stderr.contains(create), "{shown:?}");
}

#[test]
fn a_trigger_whose_row_cannot_be_read_is_told_as_what_it_is() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let store = world.home().join("state/holon.sqlite3");
    let damaged = damage::sql(
        &store,
        "UPDATE external_triggers SET record = 'x' || record",
    );
    assert_eq!(damaged, 1);
    for args in [["trigger", "list"], ["trigger", "show"]] {
        let told = world.run(&args);
        assert_eq!(told.code, Some(1), "{told:?}");
        assert!(told.stderr.contains("external_triggers trig_"), "{told:?}");
        assert!(told.stderr.contains("next: "), "{told:?}");
        assert!(!told.stdout.contains("no external triggers"), "{told:?}");
    }
    drop(served);
}
