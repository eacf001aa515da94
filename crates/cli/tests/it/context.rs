//! `holon context` in the real program: an operator sees and steers the conversation of an agent.

use crate::support::{hello, world};
use holon_testkit::World;
use serde_json::Value;

fn show(world: &World) -> Value {
    world.run(&["context", "show", "--json"]).json()
}

fn ask(world: &World, question: &str) {
    let asked = world.run(&["run", question, "--agent", "main"]);
    assert_eq!(asked.code, Some(0), "{asked:?}");
}

#[test]
fn a_conversation_is_shown_pinned_folded_and_cleared() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    ask(&world, "Remember 4711.");
    ask(&world, "And 4712.");
    let view = show(&world);
    assert_eq!(
        view["high_tokens"].as_u64().map(|high| high * 2 / 5),
        view["low_tokens"].as_u64()
    );
    let turns = view["turns"].as_array().unwrap();
    assert_eq!(turns.len(), 2, "{view}");
    let text = world.run(&["context", "show"]);
    for part in [
        "thread     [",
        "pins       0 of ",
        "beside it  ",
        "operator prompt",
    ] {
        assert!(text.answer().contains(part), "{part}: {text:?}");
    }

    let pinned = world.run(&["context", "pin", "1"]);
    assert!(pinned.answer().contains("turn 1 is pinned"), "{pinned:?}");
    let again = world.run(&["context", "pin", "1", "--agent", "main"]);
    assert!(
        again.answer().contains("turn 1 is already pinned"),
        "{again:?}"
    );
    assert_eq!(show(&world)["turns"][0]["pinned"], true);
    let freed = world.run(&["context", "unpin", "1", "--json"]).json();
    assert_eq!(freed["changed"], true, "{freed}");

    let folded = world.run(&["context", "fold"]);
    assert!(folded.answer().contains("is asked to fold"), "{folded:?}");
    let cleared = world.run(&["context", "clear"]);
    assert!(cleared.answer().contains("an empty thread"), "{cleared:?}");
    assert_eq!(show(&world)["asked"], "clear");
    let waiting = world.run(&["context", "show"]);
    assert!(
        waiting
            .answer()
            .contains("asked      the next turn begins an empty thread"),
        "{waiting:?}"
    );
    ask(&world, "Who are you?");
    let view = show(&world);
    assert_eq!(view.get("asked"), None, "{view}");
    assert_eq!(view["fold"]["cause"], "cleared", "{view}");
    let left: Vec<&Value> = view["turns"].as_array().unwrap().iter().collect();
    assert_eq!(left.len(), 1, "{view}");
    assert_eq!(left[0]["turn_index"], 3, "{view}");
    let events = world.run(&["events", "--json"]);
    assert!(
        events.stdout.contains("thread_change_requested"),
        "{events:?}"
    );
    let transcript = world.run(&["transcript"]);
    assert!(
        transcript.answer().contains("4711"),
        "the history stays: {transcript:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn what_cannot_be_pinned_is_refused_with_the_next_step() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    let empty = world.run(&["context", "show"]);
    assert!(empty.answer().contains("no turn yet"), "{empty:?}");
    ask(&world, "Hello.");
    let unknown = world.run(&["context", "pin", "9"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(
        unknown.stderr.contains("no such turn") && unknown.stderr.contains("holon transcript"),
        "{unknown:?}"
    );
    let odd = world.run(&["context", "pin", "one"]);
    assert_eq!(odd.code, Some(2), "{odd:?}");
    let cleared = world.run(&["context", "clear"]);
    assert_eq!(cleared.code, Some(0), "{cleared:?}");
    ask(&world, "Hello again.");
    let gone = world.run(&["context", "pin", "1"]);
    assert!(
        gone.stderr.contains("turn 1 is not in the thread any more")
            && gone.stderr.contains("holon context show --agent main"),
        "{gone:?}"
    );
    assert_eq!(served.terminate().0, Some(0));
}
