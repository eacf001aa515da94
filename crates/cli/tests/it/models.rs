//! Turns over real connections to scripted providers: rounds, tools, retries, fallbacks and learned limits.

use crate::looking::follow;
use crate::support::{wait_for_status, world};
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use holon_testkit::{ProgramOutput, World};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

/// A provider of the settings file.
pub(crate) struct Entry {
    pub(crate) id: String,
    pub(crate) protocol: Protocol,
    pub(crate) base_url: String,
    /// Source of its key as the settings write it; absent if it needs none.
    pub(crate) auth: Option<String>,
}

impl Entry {
    pub(crate) fn new(id: &str, protocol: Protocol, base_url: String) -> Self {
        Self {
            id: id.to_owned(),
            protocol,
            base_url,
            auth: None,
        }
    }
}

/// Returns the settings for a key in a variable of the host's environment.
pub(crate) fn key_in(variable: &str) -> Option<String> {
    Some(format!(
        "{{ source = \"env\", kind = \"api_key\", env = {variable:?} }}"
    ))
}

/// Writes the settings file of a home with these settings and providers.
pub(crate) fn configure(world: &World, settings: &str, providers: &[Entry]) {
    let mut file = settings.to_owned();
    for entry in providers {
        let (transport, base_url) = (entry.protocol.transport(), &entry.base_url);
        writeln!(file, "[providers.{}]", entry.id).unwrap();
        writeln!(file, "transport = {transport:?}\nbase_url = {base_url:?}").unwrap();
        if let Some(auth) = &entry.auth {
            writeln!(file, "auth = {auth}").unwrap();
        }
    }
    world.write("holon/config.toml", &file);
    let private = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(world.home(), private).unwrap();
}

/// Summarises the attempts of a run: model, number, failure, outcome.
pub(crate) fn tries(answer: &Value) -> Vec<String> {
    let tries = answer["provider_attempt_timeline"]["attempts"].as_array();
    let short = |attempt: &Value| {
        let words = ["model_ref", "failure_kind", "outcome"]
            .iter()
            .filter_map(|name| attempt[*name].as_str());
        let fallback = attempt["advanced_to_fallback"] == true;
        let next = fallback.then_some("next model");
        words.chain(next).collect::<Vec<_>>().join(" ")
    };
    tries.unwrap().iter().map(short).collect()
}

/// Builds a command that appends a line to a file of the world, so that its runs can be counted.
pub(crate) fn marking(world: &World, file: &str) -> Value {
    let path = world.path().join(file);
    json!({ "cmd": format!("echo mark >> {}", path.display()) })
}

/// Counts the runs of the command above.
pub(crate) fn marks(world: &World, file: &str) -> usize {
    let text = std::fs::read_to_string(world.path().join(file)).unwrap_or_default();
    text.lines().count()
}

/// Runs each case in a thread of its own, all at the same time.
pub(crate) fn together<T: Sync>(cases: &[T], run: impl Fn(&T) + Sync) {
    std::thread::scope(|scope| {
        for case in cases {
            scope.spawn(|| run(case));
        }
    });
}

fn run_with_keys(world: &World, args: &[&str], keys: &[(&str, &str)]) -> ProgramOutput {
    let mut command = world.command();
    command.args(args).envs(keys.iter().copied());
    let output = command.output().unwrap();
    ProgramOutput {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Runs a turn in which the first provider answers late, then calls a tool, then refuses its key. The second provider
/// continues with another tool and gives the answer.
fn turn_over_two_providers(first: Protocol, second: Protocol) {
    let world = world();
    let a = Provider::start(
        Script::of([
            Round::fault(Fault::RateLimited {
                retry_after: Some(Duration::ZERO),
            }),
            Round::empty()
                .reasoning("I should look first.")
                .say("I look.")
                .call("ExecCommand", marking(&world, "first.marks"))
                .usage(1_000, 10, 900),
            Round::fault(Fault::Unauthorized),
        ])
        .key("sk-canary-of-the-first"),
    );
    let b = Provider::start(
        Script::of([
            Round::text("And again.").call("ExecCommand", marking(&world, "second.marks")),
            Round::text("All done."),
        ])
        .key("sk-canary-of-the-second"),
    );
    let mut entries = [
        Entry::new("first", first, a.base_url()),
        Entry::new("second", second, b.base_url()),
    ];
    entries[0].auth = key_in("FIRST_KEY");
    entries[1].auth = key_in("SECOND_KEY");
    let chain = "model.default = \"first/one\"\nmodel.fallbacks = [\"second/two\"]\n";
    configure(&world, chain, &entries);
    let ran = run_with_keys(
        &world,
        &["run", "look twice", "--json"],
        &[
            ("FIRST_KEY", "sk-canary-of-the-first"),
            ("SECOND_KEY", "sk-canary-of-the-second"),
        ],
    );
    let answer = ran.json();
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(answer["final_text"], "All done.");
    assert_eq!(
        (&answer["model_rounds"], &answer["tool_calls"]),
        (&json!(3), &json!(2))
    );
    assert_eq!(
        tries(&answer),
        [
            "first/one rate_limited retrying",
            "first/one succeeded",
            "first/one auth fail_fast_aborted next model",
            "second/two succeeded",
            "second/two succeeded",
        ]
    );
    assert_eq!(answer["token_usage"]["cache_read_tokens"], 900);
    assert_eq!(
        (marks(&world, "first.marks"), marks(&world, "second.marks")),
        (1, 1)
    );
    let (to_a, to_b) = (a.finish(), b.finish());
    assert_eq!((to_a.len(), to_b.len()), (3, 2));
    let seen =
        |requests: &[RecordedRequest], words: &str| requests.iter().any(|one| one.contains(words));
    assert!(!seen(&to_a, "of-the-second") && !seen(&to_b, "of-the-first"));
    // The second provider sees the work of the first one's model in its own protocol.
    assert!(to_b.iter().all(|request| request.contains("I look.")));
    assert_eq!(to_b[1].tool_outputs().len(), 2);
}

#[test]
fn a_turn_of_three_rounds_survives_a_busy_provider_and_the_loss_of_one_in_every_protocol() {
    let pairs = [
        (Protocol::Responses, Protocol::Messages),
        (Protocol::Messages, Protocol::Chat),
        (Protocol::Chat, Protocol::Codex),
        (Protocol::Codex, Protocol::Responses),
    ];
    together(&pairs, |(first, second)| {
        turn_over_two_providers(*first, *second)
    });
}

/// Returns the token limits of the main agent's model, as the host reports them.
pub(crate) fn figures(world: &World) -> Value {
    let served = world.serve(&[]);
    let status = world.run(&["status", "--json"]).json();
    assert_eq!(served.terminate().0, Some(0));
    status["model"]["resolved_policy"].clone()
}

/// Runs a provider with undocumented limits: it refuses long answers and, once, a prompt.
fn unknown_limits(protocol: Protocol) {
    let world = world();
    let most = 1_000;
    let window = 5_000;
    // Fits with everything else into the window that is assumed at first, but not into the real one.
    let story = "a long story ".repeat(300);
    let look = marking(&world, "marks");
    let mut prompts = 0;
    let provider = Provider::start(Script::choose(move |request| {
        if request
            .max_output_tokens()
            .is_some_and(|asked| asked > u64::from(most))
        {
            return Round::fault(Fault::OutputTooLong { limit: most });
        }
        prompts += 1;
        match prompts {
            1 => Round::text("I look.").call("ExecCommand", look.clone()),
            2 => Round::text(format!("Saw: {}", request.tool_outputs().concat())),
            3 => Round::fault(Fault::ContextTooLong { window }),
            _ => Round::text("It fits."),
        }
    }));
    let entry = Entry::new("fake", protocol, provider.base_url());
    configure(
        &world,
        "model.default = \"fake/nobody-knows-me\"\n",
        &[entry],
    );
    let run = |words: &str| world.run(&["run", words, "--agent", "main", "--json"]);

    let first = run(&story);
    assert_eq!(first.code, Some(0), "{protocol:?} {first:?}");
    assert_eq!(
        (first.json()["model_rounds"].clone(), marks(&world, "marks")),
        (json!(2), 1)
    );
    let tools = provider.requests()[0].tools().len();
    assert!(tools > 3, "an unknown model is offered {tools} tools");

    // In a new process: the longest answer is known by now, the window is not known yet.
    let asked = provider.requests().len();
    let second = run("look");
    assert_eq!(second.code, Some(0), "{protocol:?} {second:?}");
    assert_eq!(
        tries(&second.json()),
        [
            "fake/nobody-knows-me context_length_exceeded retrying",
            "fake/nobody-knows-me succeeded"
        ],
        "the request is made shorter and sent again"
    );
    assert_eq!(second.json()["final_text"], "It fits.");
    let later = provider.requests().split_off(asked);
    assert_eq!(later.len(), 2, "nothing was asked for twice");
    let tells = |request: &RecordedRequest| request.contains("a long story");
    assert!(tells(&later[0]), "{protocol:?}: the story was to be told");
    assert!(!tells(&later[1]), "{protocol:?}: {}", later[1].raw.len());
    let figures = figures(&world);
    assert_eq!(
        (&figures["context_window_tokens"], &figures["source"]),
        (&json!(window), &json!("learned")),
        "{protocol:?}: {figures}"
    );
    provider.finish();
}

#[test]
fn a_model_no_table_knows_works_with_tools_and_its_limits_are_learned_for_good() {
    together(&Protocol::ALL, |protocol| unknown_limits(*protocol));
}

#[test]
fn a_used_up_allowance_suspends_the_turn_until_its_renewal_and_status_says_so() {
    together(&Protocol::ALL, |protocol| {
        let world = world();
        let spent = Fault::Quota {
            resets_in: Some(Duration::from_secs(3_600)),
        };
        let provider = Provider::start(Script::of([Round::fault(spent)]));
        let entry = Entry::new("fake", *protocol, provider.base_url());
        configure(&world, "model.default = \"fake/one\"\n", &[entry]);
        let served = world.serve(&[]);
        assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
        provider.wait_for_requests(1);
        wait_for_status(&world, "the allowance of fake/one is used up");
        assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
        assert_eq!(served.terminate().0, Some(0));
        provider.finish();
    });
}

#[test]
fn a_call_in_an_answer_that_broke_off_runs_once_when_the_answer_comes_again() {
    together(&Protocol::ALL, |protocol| {
        let world = world();
        let look = |round: Round| round.call("ExecCommand", marking(&world, "marks"));
        let provider = Provider::start(Script::of([
            // In protocols that send parts in order, the call is in the half that arrives.
            look(Round::fault(Fault::ResetInBody)).say("and more ".repeat(200)),
            look(Round::text("I look.")),
            Round::text("Seen."),
        ]));
        let entry = Entry::new("fake", *protocol, provider.base_url());
        configure(&world, "model.default = \"fake/one\"\n", &[entry]);
        let ran = world.run(&["run", "hi", "--json"]);
        let answer = ran.json();
        assert_eq!(answer["final_text"], "Seen.", "{protocol:?}: {ran:?}");
        assert_eq!(
            tries(&answer),
            [
                "fake/one connection retrying",
                "fake/one succeeded",
                "fake/one succeeded"
            ],
            "{protocol:?}"
        );
        assert_eq!(marks(&world, "marks"), 1, "{protocol:?}");
        provider.finish();
    });
}

#[test]
fn a_stopped_agent_hangs_up_on_its_provider_at_once() {
    together(&Protocol::ALL, |protocol| {
        let world = world();
        let provider = Provider::start(Script::of([Round::fault(Fault::NoAnswer)]));
        let entry = Entry::new("fake", *protocol, provider.base_url());
        configure(&world, "model.default = \"fake/one\"\n", &[entry]);
        let served = world.serve(&[]);
        assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
        provider.wait_for_requests(1);
        assert_eq!(world.run(&["agent", "stop"]).code, Some(0));
        provider.wait_for_hang_ups(1);
        assert_eq!(served.terminate().0, Some(0));
        provider.finish();
    });
}

#[test]
fn after_a_crash_in_a_round_the_provider_is_asked_again_and_no_tool_runs_again() {
    together(&Protocol::ALL, |protocol| {
        let world = world();
        let provider = Provider::start(Script::of([
            Round::text("I look.").call("ExecCommand", marking(&world, "marks")),
            Round::fault(Fault::StallInBody).say("You will not hear the end of this."),
            Round::text("Seen."),
        ]));
        let entry = Entry::new("fake", *protocol, provider.base_url());
        configure(&world, "model.default = \"fake/one\"\n", &[entry]);
        let served = world.serve(&[]);
        assert_eq!(world.run(&["prompt", "hi"]).code, Some(0));
        provider.wait_for_requests(2);
        served.crash();
        let served = world.serve(&[]);
        let told = follow(&world, "main", 1);
        assert!(
            told[0].to_string().contains("Seen."),
            "{protocol:?}: {told:?}"
        );
        assert_eq!(marks(&world, "marks"), 1, "{protocol:?}");
        assert_eq!(served.terminate().0, Some(0));
        let requests = provider.finish();
        assert_eq!(
            requests[1].tool_outputs(),
            requests[2].tool_outputs(),
            "{protocol:?}"
        );
    });
}
