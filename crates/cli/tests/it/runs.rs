//! `holon run`: with and without a host, by a temporary or a named agent.

use crate::models::{Entry, configure, key_in};
use crate::support::{assert_output, doer, hello, record, records, until, world};
use holon_testkit::World;
use holon_testkit::provider::{Fault, Protocol, Provider, Round, Script};
use serde_json::json;

/// Lists the agents that have files on disk beside their rows.
pub(crate) fn agents_left(world: &World) -> Vec<String> {
    let folders = ["agents", "state/tasks"].map(|folder| world.home().join(folder));
    let entries = folders.iter().flat_map(std::fs::read_dir).flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        // The home of the default agent is made with it.
        .filter(|name| name != "main")
        .collect();
    names.sort();
    names.dedup();
    names
}

#[test]
fn a_run_prints_the_answer_and_nothing_else() {
    let world = world();
    let ran = world.run(&["run", "hi", "--model", &hello(&world)]);
    assert_eq!(
        (ran.code, ran.stdout.as_str(), ran.stderr.as_str()),
        (Some(0), "Hello there.\n", "")
    );
}

#[test]
fn a_run_reads_its_words_from_standard_input() {
    let world = world();
    let model = world.model(
        "echo",
        &json!([{ "text": "ok", "expect": { "input_contains": "from a pipe" } }]),
    );
    let ran = world.run_with(&["run", "-", "--model", &model], b"words from a pipe");
    assert_eq!(ran.answer(), "ok\n");
}

#[test]
fn a_run_as_json_carries_status_usage_and_the_tries() {
    let world = world();
    let ran = world.run(&["run", "hi", "--json", "--model", &doer(&world, "echo seen")]);
    let answer = ran.json();
    assert_eq!(ran.code, Some(0));
    assert_eq!(answer["final_status"], "completed");
    assert!(
        answer["final_text"].as_str().unwrap().contains("seen"),
        "{answer}"
    );
    assert_eq!(
        (
            answer["model_rounds"].as_u64(),
            answer["tool_calls"].as_u64()
        ),
        (Some(2), Some(1))
    );
    assert_eq!(
        answer["provider_attempt_timeline"]["attempts"]
            .as_array()
            .unwrap()
            .len(),
        2
    );
    assert!(answer["token_usage"]["total_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn commands_of_a_run_work_in_the_workspace_and_know_no_secret() {
    let world = world();
    world.write("project/sub/here", "x");
    let model = doer(&world, "ls; echo [$ANTHROPIC_API_KEY] [$HOLON_RUNTIME]");
    let args = [
        "run",
        "look",
        "--model",
        &model,
        "--workspace-root",
        "project",
        "--cwd",
        "project/sub",
    ];
    let output = world
        .command()
        .args(args)
        .env("ANTHROPIC_API_KEY", "sk-secret")
        .output()
        .unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("here\n[] [1]"), "{said}");
}

#[test]
fn a_script_is_looked_up_from_where_the_command_was_started() {
    let world = world();
    hello(&world);
    assert_eq!(
        world
            .run(&["run", "hi", "--model", "scripted/hello.json"])
            .answer(),
        "Hello there.\n"
    );
    let from_environment = world
        .command()
        .args(["run", "hi"])
        .env("HOLON_MODEL", "scripted/./hello.json")
        .output();
    assert_eq!(from_environment.unwrap().stdout, b"Hello there.\n");
}

#[test]
fn a_temporary_agent_leaves_nothing_behind() {
    let world = world();
    let model = doer(&world, "echo note > left");
    let alone = world.run(&["run", "hi", "--model", &model]);
    assert_eq!(alone.code, Some(0), "{alone:?}");
    assert_eq!(agents_left(&world), [""; 0]);
    let served = world.serve(&[]);
    let hosted = world.run(&["run", "hi", "--model", &model]);
    assert_eq!(hosted.code, Some(0), "{hosted:?}");
    // The answer does not wait for the removal; a shutdown does.
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(agents_left(&world), [""; 0]);
    let served = world.serve(&[]);
    let listed = world.run(&["agent", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_named_agent_is_made_only_when_asked_for_and_then_kept() {
    let world = world();
    let model = hello(&world);
    let base = ["run", "hi", "--agent", "scout", "--model", &model];
    let refused = world.run(&base);
    assert_output!(record(&world, &["run", "hi", "--agent", "scout"], &refused));
    let mut create = base.to_vec();
    create.push("--create-agent");
    assert_eq!(world.run(&create).answer(), "Hello there.\n");
    // The agent keeps its model.
    assert_eq!(
        world.run(&["run", "again", "--agent", "scout"]).answer(),
        "Hello there.\n"
    );
    assert!(world.agent_record("scout").is_some());
    assert_eq!(agents_left(&world), ["scout"], "its home is there");
}

#[test]
fn a_run_whose_agent_cannot_have_its_home_says_so_instead_of_waiting() {
    let world = world();
    let model = hello(&world);
    assert_eq!(world.run(&["run", "hi", "--model", &model]).code, Some(0));
    world.write("holon/agents/scout", "in the way");
    let args = [
        "run",
        "hi",
        "--agent",
        "scout",
        "--create-agent",
        "--model",
        &model,
    ];
    assert_output!(record(&world, &args, &world.run(&args)));
}

#[test]
fn a_run_whose_agent_is_stopped_before_its_turn_says_that_its_message_stays() {
    let world = world();
    let meeting = world.meeting("command");
    let served = world.serve(&["--model", &doer(&world, &meeting.shell())]);
    assert_eq!(world.run(&["prompt", "first"]).code, Some(0));
    meeting.wait();
    let second = world
        .command()
        .args(["run", "second", "--agent", "main"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let queued = || world.run(&["status", "--json"]).json()["agent"]["pending"].as_u64();
    until("the second waits", || queued() == Some(1));
    assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
    let output = second.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(4), "it waits for a start");
    assert_eq!(output.stdout, b"", "no model has answered");
    let said = String::from_utf8(output.stderr).unwrap();
    for words in ["kept in the queue", "start it with: holon agent start main"] {
        assert!(said.contains(words), "{said}");
    }
    assert_eq!(queued(), Some(1), "the message stays for the next start");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn the_default_agent_needs_no_making() {
    let world = world();
    let ran = world.run(&["run", "hi", "--agent", "main", "--model", &hello(&world)]);
    assert_eq!(ran.answer(), "Hello there.\n");
}

#[test]
fn a_run_goes_through_the_host_that_serves_the_home() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    // A home has one owner, so the answer can only have come from the host.
    assert_eq!(world.run(&["run", "hi"]).answer(), "Hello there.\n");
    let answer = world
        .run(&["run", "hi", "--agent", "main", "--json"])
        .json();
    assert_eq!(answer["agent_id"], "main");
    let refused = records(
        &world,
        &[
            &["run", "hi", "--agent", "nobody"],
            &["run", "hi", "--model", "elsewhere/large"],
        ],
    );
    assert_output!(refused);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn exit_codes_tell_failed_cut_off_and_waiting_apart() {
    let world = world();
    let failing = world.model(
        "failing",
        &json!([{ "error": { "kind": "auth", "message": "no such key" } }]),
    );
    let resting = json!([{ "text": "Later.", "calls": [{ "tool": "Sleep", "input": { "duration_ms": 600_000, "reason": "nothing yet" } }] }]);
    let resting = world.model("resting", &resting);
    let doing = doer(&world, "true");
    assert_output!(records(
        &world,
        &[
            &["run", "hi", "--model", &failing],
            &["run", "hi", "--model", &doing, "--max-turns", "1"],
            &["run", "hi", "--model", &resting],
        ]
    ));
}

#[test]
fn standard_output_carries_the_words_of_the_model_and_no_others() {
    let world = world();
    let doing = doer(&world, "true");
    let args = ["run", "hi", "--model", &doing, "--max-turns", "1"];
    let cut_off = world.run(&args);
    assert_eq!(
        (cut_off.code, cut_off.stdout.as_str()),
        (Some(1), "I look.\n")
    );
    assert!(
        cut_off
            .stderr
            .starts_with("run was cut off after 1 model round\n"),
        "{cut_off:?}"
    );
    let answer = world.run(&[&args[..], &["--json"]].concat()).json();
    assert_eq!(answer["final_status"], "max_turns_exceeded", "{answer:#}");
    assert_eq!(answer["final_text_source"], "runtime", "{answer:#}");

    let call = json!({ "tool": "ExecCommand", "input": { "cmd": "true" } });
    let wordless = world.model("wordless", &json!([{ "calls": [call] }]));
    let cut_off = world.run(&["run", "hi", "--model", &wordless, "--max-turns", "1"]);
    assert_eq!((cut_off.code, cut_off.stdout.as_str()), (Some(1), ""));

    let wait = json!({ "tool": "WaitFor", "input": { "reason": "the build", "wake_on": [{ "after_ms": 60_000 }] } });
    let waiting = world.model("waiting", &json!([{ "calls": [wait] }]));
    let waits = world.run(&["run", "hi", "--model", &waiting]);
    assert_eq!(
        (waits.code, waits.stdout.as_str()),
        (Some(4), ""),
        "{waits:?}"
    );
    assert!(
        waits
            .stderr
            .starts_with("No answer yet. Waiting for: the build\n"),
        "{waits:?}"
    );
}

#[test]
fn an_answer_that_a_filter_cut_off_is_printed_with_a_note_and_an_empty_one_fails() {
    let world = world();
    let cut = json!([{ "text": "It begins with", "stop": "content_filter" }]);
    let cut = world.model("cut", &cut);
    let ran = world.run(&["run", "hi", "--model", &cut]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "It begins with\n"),
        "{ran:?}"
    );
    assert!(
        ran.stderr
            .starts_with("note: a content filter of scripted/"),
        "{ran:?}"
    );
    let withheld = json!([{ "text": "", "stop": "content_filter" }]);
    let withheld = world.model("withheld", &withheld);
    let failed = world.run(&["run", "hi", "--model", &withheld]);
    assert_eq!((failed.code, failed.stdout.as_str()), (Some(1), ""));
    for words in ["withheld the whole answer", "choose another model"] {
        assert!(failed.stderr.contains(words), "{failed:?}");
    }
    let served = world.serve(&["--model", &cut]);
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    let briefs = world.run(&["tail"]);
    assert!(
        briefs.answer().contains("\n    note: a content filter of "),
        "{briefs:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn an_interrupted_run_ends_at_once_and_its_agent_is_gone_after_the_next_start() {
    let world = world();
    let meeting = world.meeting("command");
    let child = world
        .command()
        .args(["run", "hi", "--model", &doer(&world, &meeting.shell())])
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    meeting.wait();
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("interrupted by SIGINT")
    );
    assert_eq!(
        world
            .run(&["run", "hi", "--model", &hello(&world)])
            .answer(),
        "Hello there.\n"
    );
    assert_eq!(agents_left(&world), [""; 0]);
}

#[test]
fn a_run_that_failed_says_what_would_help() {
    let world = world();
    let refusing = Provider::start(Script::always(Round::fault(Fault::Unauthorized)));
    let mut keyed = Entry::new("keyed", Protocol::Chat, refusing.base_url());
    keyed.auth = key_in("KEYED_KEY");
    let mut stored = Entry::new("stored", Protocol::Chat, refusing.base_url());
    stored.auth = Some(
        "{ source = \"credential_profile\", kind = \"api_key\", profile = \"mine\" }".to_owned(),
    );
    configure(&world, "", &[keyed, stored]);
    let set = ["config", "credentials", "set", "mine", "--stdin"];
    assert_eq!(world.run_with(&set, b"sk-wrong").code, Some(0));
    for (model, next) in [
        (
            "keyed/m",
            "next: renew KEYED_KEY (a host that runs is to be restarted with it), or unset it and store the credential: holon config credentials set keyed\n",
        ),
        (
            "stored/m",
            "next: renew the credential: holon config credentials set mine\n",
        ),
    ] {
        let args = ["run", "hi", "--model", model];
        let ran = world.run_in(&args, b"", &[("KEYED_KEY", "sk-wrong")]);
        assert_eq!(ran.code, Some(1), "{ran:?}");
        assert!(ran.stderr.ends_with(next), "{model}: {ran:?}");
    }
}

#[test]
fn a_run_goes_on_to_its_answer_if_its_agent_was_woken_before_it_could_wait() {
    let world = world();
    let wait = json!({ "tool": "WaitFor", "input": { "reason": "the build", "wake_on": [{ "external": "ci" }] } });
    let note = json!({ "tool": "Enqueue", "input": { "text": "look at it once more" } });
    let alone = world.model(
        "alone",
        &json!([{ "calls": [note] }, { "calls": [wait] }, { "text": "Now it is answered." }]),
    );
    let ran = world.run(&["run", "hi", "--model", &alone]);
    // Its own message was no event of the build, so the wait for that is still open beside the answer.
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(4), "Now it is answered.\n"),
        "{ran:?}"
    );
    assert!(ran.stderr.contains("awaiting_external_change"), "{ran:?}");

    let meeting = world.meeting("build");
    let command = json!({ "tool": "ExecCommand", "input": { "cmd": meeting.shell() } });
    let woken = world.model(
        "woken",
        &json!([{ "calls": [command] }, { "calls": [wait] }, { "text": "The build is done." }]),
    );
    let served = world.serve(&["--model", &woken]);
    let run = world
        .command()
        .args(["run", "hi", "--agent", "main"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    meeting.wait();
    let wake = ["wake", "main", "the build is done", "--source", "ci"];
    assert_eq!(world.run(&wake).code, Some(0));
    meeting.let_go();
    let ran = run.wait_with_output().unwrap();
    assert_eq!(
        (
            ran.status.code(),
            String::from_utf8_lossy(&ran.stdout).as_ref()
        ),
        (Some(0), "The build is done.\n"),
        "{ran:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_that_waits_again_after_an_early_wake_says_so_by_its_code() {
    let world = world();
    let wait = json!({ "tool": "WaitFor", "input": { "reason": "the build", "wake_on": [{ "external": "ci" }] } });
    let note = json!({ "tool": "Enqueue", "input": { "text": "look at it once more" } });
    let waiting = world.model(
        "waiting",
        &json!([{ "calls": [note] }, { "calls": [wait] }, { "calls": [wait] }]),
    );
    let ran = world.run(&["run", "hi", "--model", &waiting]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(4), ""), "{ran:?}");
    assert!(ran.stderr.starts_with("No answer yet. "), "{ran:?}");
}
