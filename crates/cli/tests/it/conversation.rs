//! Long conversations in the real program: what a request still holds of earlier turns, in every protocol.

use crate::models::{Entry, configure, together};
use crate::support::{wait_for_status, world};
use crate::triggers::{post, wake_path};
use holon_testkit::World;
use holon_testkit::provider::{Protocol, Provider, RecordedRequest, Round, Script};
use serde_json::json;

const WINDOW: &str = "[models.catalog.\"mine/m\"]\ncontext_window_tokens = 200000\n";
const TURNS: usize = 30;
/// A turn is asked for what a command of that many turns before printed.
const BACK: usize = 5;

/// Settings of the provider as the only one.
fn settle(world: &World, protocol: Protocol, provider: &Provider) {
    let base = match protocol {
        Protocol::Chat => format!("{}/v1", provider.base_url()),
        _ => provider.base_url(),
    };
    let settings = format!("model.default = \"mine/m\"\n{WINDOW}");
    configure(world, &settings, &[Entry::new("mine", protocol, base)]);
}

/// The number that the command of a turn prints. It stands in no call and in no question.
const fn printed(turn: usize) -> usize {
    turn * 7_919
}

/// The first answer of each turn runs a command, the second one ends the turn.
fn look_then_say() -> Script {
    let mut asked = 0;
    Script::choose(move |_| {
        asked += 1;
        let turn = asked / 2 + asked % 2;
        if asked % 2 == 1 {
            let cmd = format!("expr {turn} '*' 7919");
            return Round::text("I look.").call("ExecCommand", json!({ "cmd": cmd }));
        }
        Round::text("Seen.")
    })
}

fn converse(protocol: Protocol) {
    let world = world();
    let provider = Provider::start(look_then_say());
    settle(&world, protocol, &provider);
    let served = world.serve(&[]);
    for turn in 1..=TURNS {
        let question = match turn.checked_sub(BACK) {
            Some(back @ 1..) => format!("What did the command of turn {back} print?"),
            _ => "Look.".to_owned(),
        };
        let ran = world.run(&["run", &question, "--agent", "main"]);
        assert_eq!(ran.code, Some(0), "{protocol:?} {turn}: {ran:?}");
    }
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(provider.violations(), [] as [String; 0], "{protocol:?}");
    let requests = provider.finish();
    assert_eq!(requests.len(), 2 * TURNS, "{protocol:?}");
    for turn in BACK + 1..=TURNS {
        let asking = &requests[2 * turn - 2];
        let detail = printed(turn - BACK).to_string();
        let outputs = asking.tool_outputs();
        assert!(
            outputs.iter().any(|output| output.contains(&detail)),
            "{protocol:?}: turn {turn} does not show {detail}: {outputs:?}"
        );
    }
}

#[test]
fn thirty_turns_show_in_every_protocol_what_commands_of_earlier_turns_printed() {
    together(&Protocol::ALL, |protocol| converse(*protocol));
}

/// A request as a provider reads it: tools, system prompt, then the dialogue.
fn as_read(request: &RecordedRequest) -> String {
    let body = &request.body;
    let parts = ["tools", "system", "messages"].map(|name| body[name].to_string());
    parts.concat().replace(']', "")
}

fn shared(one: &str, other: &str) -> usize {
    let pairs = one.bytes().zip(other.bytes());
    pairs.take_while(|(one, other)| one == other).count()
}

/// The share of all requests but the first that equals the request before, in percent.
fn cached_percent(requests: &[RecordedRequest]) -> usize {
    let texts: Vec<String> = requests.iter().map(as_read).collect();
    let (mut all, mut cached) = (0, 0);
    for pair in texts.windows(2) {
        all += pair[1].len();
        cached += shared(&pair[0], &pair[1]);
    }
    cached * 100 / all
}

/// A day of an agent: prompts of its operator, timers that fire, and calls of a job.
#[test]
fn of_a_day_of_fifty_turns_nine_tenths_of_the_input_stood_in_the_request_before() {
    let world = world();
    let provider = Provider::start(look_then_say());
    settle(&world, Protocol::Chat, &provider);
    let served = world.serve(&[]);
    let callback = wake_path(&world, &served.addr);
    let ended = |requests: usize| {
        provider.wait_for_requests(requests);
        wait_for_status(&world, "asleep");
    };
    for turn in 1..=50_usize {
        match turn % 10 {
            0 => {
                let timer = ["timer", "create", "--after", "10ms", "--summary"];
                let made = world.run(&[&timer[..], &["Look after the build."]].concat());
                assert_eq!(made.code, Some(0), "{made:?}");
                ended(2 * turn);
            }
            3 | 6 | 9 => {
                let body = format!("{{\"build\":{turn},\"state\":\"passed\"}}");
                let headers = "Content-Type: application/json\n";
                let (status, answer) = post(&served.addr, &callback, headers, &body);
                assert_eq!(status, 200, "{answer}");
                ended(2 * turn);
            }
            _ => {
                let question = format!("What did the command of turn {} print?", turn / 2);
                let ran = world.run(&["run", &question, "--agent", "main"]);
                assert_eq!(ran.code, Some(0), "{ran:?}");
            }
        }
    }
    assert_eq!(served.terminate().0, Some(0));
    let requests = provider.finish();
    assert_eq!(requests.len(), 100);
    let percent = cached_percent(&requests);
    assert!(percent >= 90, "{percent} %");
}
