//! Answers that arrive in pieces: on a terminal they are shown at once, in a pipe and as JSON only when recorded.

use crate::looking::follow;
use crate::models::{Entry, configure};
use crate::support::world;
use crate::terminal::Terminal;
use holon_testkit::World;
use holon_testkit::provider::{Fault, Point, Protocol, Provider, Round, Script};
use serde_json::json;

/// Creates a world whose model plays these rounds.
pub(crate) fn world_with(
    protocol: Protocol,
    rounds: impl IntoIterator<Item = Round>,
) -> (World, Provider) {
    let world = world();
    let provider = Provider::start(Script::of(rounds));
    let entry = Entry::new("acme", protocol, provider.base_url());
    configure(&world, "model.default = \"acme/one\"\n", &[entry]);
    (world, provider)
}

/// An answer that stops after its first words until the gate `middle` is opened.
fn held() -> Round {
    Round::text("One two three four.").hold(Point::AfterPieces(3), "middle")
}

#[test]
fn a_terminal_shows_the_text_while_it_arrives_and_never_twice() {
    let here: (&[&str], bool) = (&["run", "count"], false);
    let temporary: (&[&str], bool) = (&["run", "count"], true);
    let named: (&[&str], bool) = (&["run", "count", "--agent", "main"], true);
    let fresh: (&[&str], bool) = (
        &["run", "count", "--agent", "fresh", "--create-agent"],
        true,
    );
    for (args, with_host) in [here, temporary, named, fresh] {
        let (world, provider) = world_with(Protocol::Chat, [held()]);
        let served = with_host.then(|| world.serve(&[]));
        let mut terminal = Terminal::start(&world, args);
        terminal.wait_for("One two ");
        provider.gate("middle").open();
        let seen = terminal.finish();
        assert!(
            seen.starts_with("One two three four.\n"),
            "{args:?}: {seen}"
        );
        assert_eq!(seen.matches("two").count(), 1, "{args:?}: {seen}");
        if let Some(served) = served {
            assert_eq!(served.terminate().0, Some(0));
        }
    }
}

/// A turn of two rounds for another message, of which the first waits, and then the answer of the run.
fn other_turn_first() -> [Round; 3] {
    [
        Round::text("I look.")
            .call("AgentGet", json!({}))
            .hold(Point::BeforeHeaders, "other"),
        Round::text("Words for others."),
        Round::text("My own answer."),
    ]
}

/// Starts a run of `main` behind another turn, lets the turns go on once the run waits, and checks what was shown.
fn wait_behind_another_turn(world: &World, provider: &Provider) {
    let mut terminal = Terminal::start(world, &["run", "mine", "--agent", "main"]);
    terminal.wait_for("waiting: the agent is at work on an earlier message");
    provider.gate("other").open();
    let seen = terminal.finish();
    assert!(seen.contains("My own answer.\n"), "{seen}");
    for foreign in ["I look.", "Words for others."] {
        assert!(!seen.contains(foreign), "{seen}");
    }
}

#[test]
fn a_run_shows_no_text_of_the_turn_that_its_agent_is_at_work_on() {
    let (world, provider) = world_with(Protocol::Chat, other_turn_first());
    let served = world.serve(&[]);
    assert_eq!(world.run(&["prompt", "theirs"]).code, Some(0));
    provider.gate("other").reached();
    wait_behind_another_turn(&world, &provider);
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_run_without_a_host_shows_no_text_of_a_turn_that_a_host_left_open() {
    let unheard = Round::text("Never heard.").hold(Point::BeforeHeaders, "first");
    let rounds = std::iter::once(unheard).chain(other_turn_first());
    let (world, provider) = world_with(Protocol::Chat, rounds);
    let served = world.serve(&[]);
    assert_eq!(world.run(&["prompt", "theirs"]).code, Some(0));
    provider.gate("first").reached();
    served.crash();
    provider.gate("first").open();
    wait_behind_another_turn(&world, &provider);
}

#[test]
fn an_interrupted_run_says_that_its_agent_goes_on_and_how_to_follow_or_end_it() {
    let (world, provider) = world_with(Protocol::Chat, [held()]);
    let served = world.serve(&[]);
    let mut terminal = Terminal::start(&world, &["run", "count", "--agent", "main"]);
    terminal.wait_for("One two ");
    terminal.interrupt();
    let seen = terminal.finish();
    for words in [
        "agent main goes on with it",
        "holon tail --follow --agent main",
        "holon agent abort main",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    provider.gate("middle").open();
    assert_eq!(follow(&world, "main", 1)[0]["text"], "One two three four.");
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn an_interrupted_run_without_a_name_or_a_host_says_what_becomes_of_its_turn() {
    let temporary = "the temporary agent is removed with its work";
    let goes_on = "agent main goes on with it once a host runs on its home";
    for (agent, with_host, words) in [
        (&[] as &[&str], false, temporary),
        (&["--agent", "main"], false, goes_on),
        (&[], true, temporary),
    ] {
        let (world, provider) = world_with(Protocol::Chat, [held()]);
        let served = with_host.then(|| world.serve(&[]));
        let mut terminal = Terminal::start(&world, &[&["run", "count"], agent].concat());
        terminal.wait_for("One two ");
        terminal.interrupt();
        let seen = terminal.finish();
        let told = seen
            .lines()
            .find(|line| line.starts_with("error: interrupted "));
        assert!(
            told.unwrap_or_default().ends_with(words),
            "{agent:?}, {with_host}: {seen}"
        );
        provider.gate("middle").open();
        if let Some(served) = served {
            assert_eq!(served.terminate().0, Some(0));
        }
    }
}

#[test]
fn a_terminal_that_follows_shows_the_answer_while_it_arrives_and_then_the_brief() {
    let (world, provider) = world_with(Protocol::Chat, [held()]);
    let served = world.serve(&[]);
    let mut terminal = Terminal::start(&world, &["tail", "--follow", "--display", "verbose"]);
    // Deltas are not stored: the command must listen before the answer begins.
    terminal.wait_for("Agent created");
    assert_eq!(world.run(&["prompt", "count"]).code, Some(0));
    terminal.wait_for("Assistant progress: One two");
    provider.gate("middle").open();
    terminal.wait_for(" result: One two three four.");
    terminal.kill();
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn text_that_arrives_in_pieces_does_not_steer_a_terminal() {
    let steering = "a\u{1b}[2J b\u{9b}2J c\u{202e} d.";
    let (world, _provider) = world_with(Protocol::Messages, [Round::text(steering)]);
    let seen = Terminal::start(&world, &["run", "hi"]).finish();
    assert!(
        seen.starts_with("a\u{241b}[2J b\u{fffd}2J c\u{fffd} d.\n"),
        "{seen:?}"
    );
}

fn cut_and_whole() -> [Round; 2] {
    [
        Round::fault(Fault::MissingTerminal).say("Half an answer."),
        Round::text("The whole answer."),
    ]
}

#[test]
fn text_of_an_attempt_that_failed_is_void_on_a_terminal() {
    for protocol in [Protocol::Chat, Protocol::Responses] {
        let (world, _provider) = world_with(protocol, cut_and_whole());
        let seen = Terminal::start(&world, &["run", "hi"]).finish();
        let lines: Vec<&str> = seen.lines().collect();
        assert_eq!(lines[0], "Half an answer.", "{protocol:?}: {seen}");
        assert!(lines[1].contains("is void"), "{protocol:?}: {seen}");
        assert!(lines[2].starts_with("waiting "), "{protocol:?}: {seen}");
        assert!(lines[2].contains("acme/one again"), "{protocol:?}: {seen}");
        assert_eq!(lines[3], "The whole answer.", "{protocol:?}: {seen}");
        assert_eq!(seen.matches("whole answer").count(), 1, "{seen}");
    }
}

#[test]
fn a_pipe_and_json_get_the_recorded_answer_only() {
    let (world, _provider) = world_with(Protocol::Chat, cut_and_whole());
    let ran = world.run(&["run", "hi"]);
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "The whole answer.\n")
    );
    assert!(!ran.stderr.contains("void"), "{}", ran.stderr);
    let (world, _provider) = world_with(Protocol::Chat, cut_and_whole());
    let seen = Terminal::start(&world, &["run", "hi", "--json"]).finish();
    let answer: serde_json::Value = serde_json::from_str(&seen).unwrap();
    assert_eq!(answer["final_text"], "The whole answer.");
}

#[test]
fn a_host_that_dies_in_a_streamed_answer_asks_again_and_records_one() {
    for protocol in [Protocol::Chat, Protocol::Messages] {
        let (world, provider) = world_with(
            protocol,
            [
                Round::text("One two three four.").hold(Point::AfterPieces(4), "middle"),
                Round::text("Five."),
            ],
        );
        let served = world.serve(&[]);
        let mut terminal = Terminal::start(&world, &["run", "count", "--agent", "main"]);
        terminal.wait_for("One ");
        served.crash();
        let seen = terminal.finish();
        assert!(seen.contains("\nerror: "), "{protocol:?}: {seen}");
        provider.gate("middle").open();
        let served = world.serve(&[]);
        let told = follow(&world, "main", 1);
        assert_eq!(told[0]["text"], "Five.", "{protocol:?}");
        let log = world.run(&["transcript", "--json"]).json();
        let rounds = log.as_array().unwrap().iter();
        let answers = rounds.filter(|entry| entry["kind"] == "assistant_round");
        assert_eq!(answers.count(), 1, "{protocol:?}: {log}");
        assert_eq!(served.terminate().0, Some(0));
        assert_eq!(provider.finish().len(), 2, "{protocol:?}");
    }
}
