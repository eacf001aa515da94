//! Long turns and large results in the real program, on a provider that refuses what its model cannot read.

use crate::looking::follow;
use crate::models::{Entry, configure};
use crate::processes::ProcessCleanup;
use crate::support::{until, world};
use holon_domain::text::estimate_tokens;
use holon_testkit::provider::{Fault, Protocol, Provider, RecordedRequest, Round, Script};
use holon_testkit::{HostProcess, World};
use serde_json::{Value, json};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

const ASKED: &str = "Migrate every module, one after the other.";
const DONE: &str = "All modules are migrated.";
/// Tokens that the provider accepts, less than its model is assumed to have.
const WINDOW: u32 = 15_000;
const ROUNDS: u32 = 200;
/// Answered rounds after which the host is killed.
const KILLS: [u32; 3] = [40, 100, 160];
/// Bytes that a request may have, whatever a tool printed.
const REQUEST_BYTES: usize = 256 << 10;

/// Configures the provider as the only one and starts a host.
fn host_on(world: &World, provider: &Provider) -> HostProcess {
    let base = format!("{}/v1", provider.base_url());
    let entry = Entry::new("mine", Protocol::Chat, base);
    configure(world, "[model]\ndefault = \"mine/m\"\n", &[entry]);
    world.serve(&[])
}

/// Estimates the tokens of a request: its tools and every text of its messages, without the escapes of JSON.
fn tokens_of(request: &RecordedRequest) -> usize {
    fn texts(value: &Value) -> usize {
        match value {
            Value::String(text) => estimate_tokens(text),
            Value::Array(items) => items.iter().map(texts).sum(),
            Value::Object(fields) => fields.values().map(texts).sum(),
            Value::Null | Value::Bool(_) | Value::Number(_) => 0,
        }
    }
    texts(&request.body["messages"]) + estimate_tokens(&request.body["tools"].to_string())
}

/// What the provider saw of the turn.
#[derive(Debug, Default)]
struct Seen {
    answered: AtomicU32,
    refused: AtomicU32,
    /// Requests with a recap of earlier rounds.
    folded: AtomicU32,
    /// Requests in which the operator's words are missing.
    forgetful: Mutex<Vec<usize>>,
}

impl Seen {
    /// Refuses a request that is too long, and runs another command until the last round.
    fn answer(&self, request: &RecordedRequest) -> Round {
        if !request.contains(ASKED) {
            self.forgetful.lock().unwrap().push(request.index);
        }
        if tokens_of(request) > WINDOW as usize {
            self.refused.fetch_add(1, Ordering::SeqCst);
            return Round::fault(Fault::ContextTooLong { window: WINDOW });
        }
        let folded = u32::from(request.contains("Recap of rounds 1 to"));
        self.folded.fetch_add(folded, Ordering::SeqCst);
        let round = self.answered.fetch_add(1, Ordering::SeqCst) + 1;
        if round > ROUNDS {
            return Round::text(DONE);
        }
        let cmd = format!("cat lines # module {round}");
        Round::empty().call("ExecCommand", json!({ "cmd": cmd }))
    }
}

#[test]
fn two_hundred_rounds_on_a_small_provider_end_well_although_the_host_is_killed_three_times() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let seen = Arc::new(Seen::default());
    let provider = Provider::start(Script::choose({
        let seen = Arc::clone(&seen);
        move |request| seen.answer(request)
    }));
    let mut served = host_on(&world, &provider);
    let project = world.path().join("project");
    world.write("project/lines", &"done some of it\n".repeat(400));
    let create = ["agent", "create", "worker", "--workspace-root"];
    let made = world.run(&[&create[..], &[project.to_str().unwrap()]].concat());
    assert_eq!(made.code, Some(0), "{made:?}");
    let sent = world.run(&["prompt", ASKED, "--agent", "worker"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    for round in KILLS {
        until("the turn goes on", || {
            seen.answered.load(Ordering::SeqCst) >= round
        });
        served.crash();
        served = world.serve(&[]);
    }
    let told = follow(&world, "worker", 1);
    assert_eq!(told[0]["text"], DONE, "{told:?}");
    assert_eq!(told[0]["kind"], "result", "{told:?}");
    assert_eq!(*seen.forgetful.lock().unwrap(), [] as [usize; 0]);
    let refused = seen.refused.load(Ordering::SeqCst);
    assert!(refused <= 3, "{refused} requests were refused");
    assert!(seen.folded.load(Ordering::SeqCst) > ROUNDS / 2);
    let transcript = world.run(&["transcript", "--agent", "worker", "--limit", "10"]);
    assert!(transcript.answer().contains(DONE), "{transcript:?}");
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(provider.violations(), [] as [String; 0]);
}

#[test]
fn fifty_megabytes_of_a_tool_make_a_bounded_request_with_a_note() {
    let world = world();
    let _swept = ProcessCleanup(&world);
    let cmd = "yes 'a line of the flood' | head -c 50M; echo; echo last";
    let call = json!({ "cmd": cmd, "yield_time_ms": 600_000 });
    let provider = Provider::start(Script::of([
        Round::empty().call("ExecCommand", call),
        Round::text("It was a flood."),
    ]));
    let served = host_on(&world, &provider);
    let ran = world.run(&["run", "look", "--agent", "main"]);
    assert!(ran.answer().contains("It was a flood."), "{ran:?}");
    let requests = provider.finish();
    for request in &requests {
        let bytes = request.raw.len();
        assert!(bytes < REQUEST_BYTES, "{bytes} bytes");
    }
    let outputs = requests[1].tool_outputs();
    let [output] = outputs.as_slice() else {
        panic!("one result: {outputs:?}")
    };
    assert!(output.contains("a line of the flood"), "{output}");
    assert!(output.contains("last"), "the end is shown: {output}");
    let note = "stdout is cut here; all of it: ";
    let kept = output.lines().find_map(|line| line.strip_prefix(note));
    let kept = std::fs::metadata(kept.expect("a note")).expect("a file");
    assert_eq!(kept.len(), (50 << 20) + 6);
    assert_eq!(served.terminate().0, Some(0));
}
