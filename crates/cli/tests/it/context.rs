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

#[test]
fn an_agent_gets_a_limit_of_its_own_that_its_archive_and_a_restart_keep() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    ask(&world, "Hello.");
    let before = show(&world);
    assert_eq!(before.get("own_thread_tokens"), None, "{before}");
    let limited = world.run(&["context", "limit", "5000"]);
    assert_eq!(
        limited.answer(),
        "the thread of main is folded above 5000 tokens\n"
    );
    let again = world.run(&["context", "limit", "5000", "--json"]).json();
    assert_eq!(again["changed"], false, "{again}");
    let cloned = world.run(&["agent", "clone", "main", "twin"]);
    assert_eq!(cloned.code, Some(0), "{cloned:?}");
    drop(served);
    let served = world.serve(&["--model", &hello(&world)]);
    let view = show(&world);
    assert_eq!(view["own_thread_tokens"], 5_000, "{view}");
    assert_eq!(view["high_tokens"], 5_000, "{view}");
    assert_eq!(view["low_tokens"], 2_000, "{view}");
    let twin = world.run(&["context", "show", "--json", "--agent", "twin"]);
    assert_eq!(twin.json()["own_thread_tokens"], 5_000);
    // The window is a bound as well.
    let wide = world.run(&["context", "limit", "9000000"]);
    assert!(wide.answer().contains("is less, so "), "{wide:?}");
    assert_eq!(show(&world)["high_tokens"], before["high_tokens"]);
    let freed = world.run(&["context", "limit", "--default"]);
    assert!(
        freed
            .answer()
            .contains("is bounded by the setting of the host"),
        "{freed:?}"
    );
    assert_eq!(show(&world), before);
    for args in [
        &["context", "limit"][..],
        &["context", "limit", "10"],
        &["context", "limit", "5000", "--default"],
    ] {
        let wrong = world.run(args);
        assert_eq!(wrong.code, Some(2), "{wrong:?}");
    }
    drop(served);
}

#[test]
fn a_prompt_says_how_much_of_each_request_begins_like_the_one_before() {
    let world = world();
    let served = world.serve(&["--model", &hello(&world)]);
    ask(&world, "Remember 4711.");
    ask(&world, "And 4712.");
    let shown = world.run(&["debug", "prompt", "--json"]).json();
    let rounds = shown["rounds"].as_array().unwrap();
    let [newest, oldest] = rounds.as_slice() else {
        panic!("{shown}");
    };
    assert_eq!(oldest.get("same_bytes"), None, "{oldest}");
    let (bytes, same) = (
        newest["request_bytes"].as_u64().unwrap(),
        newest["same_bytes"].as_u64().unwrap(),
    );
    let before = oldest["request_bytes"].as_u64().unwrap();
    assert_eq!(same, before, "all of the first request is repeated");
    assert!(bytes > before, "{newest}");
    let prompt = &shown["prompt"];
    let marks = prompt["cache_marks"].as_array().unwrap();
    assert_eq!(marks.len(), 3, "{marks:?}");
    assert_eq!(marks[2]["after"], "surroundings");
    assert_eq!(marks[2]["tokens"], prompt["fixed_tokens"]);
    let text = world.run(&["debug", "prompt"]);
    for part in [
        format!("{same} of {bytes} bytes begin like the request before ("),
        format!("{before} bytes, with no request before to compare"),
        "fixed      ".to_owned(),
        "marks      after ".to_owned(),
    ] {
        assert!(text.answer().contains(&part), "{part}: {text:?}");
    }
    drop(served);
}
