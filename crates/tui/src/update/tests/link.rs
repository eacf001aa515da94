//! The console comes back by itself: after an agent was missing, after the host was away, and from a switch that fails.

use super::*;
use crate::msg::Question as Q;

fn tick(model: &mut Model, millis: i64) -> Vec<Command> {
    update(model, Msg::Tick(Timestamp::from_millis(millis)))
}

fn missing() -> Problem {
    Problem {
        message: "agent main does not exist".to_owned(),
        ..Problem::default()
    }
}

/// A console whose agent was deleted.
fn ended() -> Model {
    let mut model = with_history(80, 24, Vec::new());
    feed(&mut model, News::Ended("agent main was deleted".to_owned()));
    assert!(screen(&model).contains("✗ agent main was deleted"));
    model
}

fn is_followed(model: &Model, commands: &[Command]) -> bool {
    let follow = Command::Follow {
        feed: model.feed,
        agent: model.agent.clone(),
    };
    commands.contains(&follow)
}

fn check_back(model: &mut Model, commands: &[Command]) {
    assert!(is_followed(model, commands), "{commands:?}");
    let events = turn(1, 1, "msg_1", "Anew.");
    let has_older = false;
    feed(model, News::History { events, has_older });
    let shown = screen(model);
    assert!(
        !shown.contains('✗') && !shown.contains("deleted"),
        "{shown}"
    );
    assert!(shown.contains("Anew."), "{shown}");
}

#[test]
fn an_agent_that_exists_again_is_followed_again() {
    let mut model = ended();
    let asked = tick(&mut model, 10_000);
    let ticket = ticket_of(&asked, &Q::Status);
    let reply = Err(missing());
    assert!(update(&mut model, Msg::Reply { ticket, reply }).is_empty());
    tick(&mut model, 20_000);
    let commands = answer(&mut model, &Q::Status, status("idle", "rests"));
    check_back(&mut model, &commands);
}

#[test]
fn an_agent_whose_feed_ended_is_not_followed_in_a_loop() {
    // An archived agent has a status and no feed.
    let mut model = ended();
    tick(&mut model, 10_000);
    let commands = answer(&mut model, &Q::Status, status("idle", "archived"));
    assert!(!is_followed(&model, &commands));
    assert!(screen(&model).contains("✗ agent main was deleted"));
}

#[test]
fn a_refresh_or_a_message_that_is_stored_follows_again() {
    let mut model = ended();
    let commands = enter(&mut model, "/refresh");
    assert!(screen(&model).contains("reading everything again"));
    check_back(&mut model, &commands);
    let mut model = ended();
    let commands = enter(&mut model, "hello");
    let commands = reply(&mut model, &commands, &send("hello"), sent("msg_1"));
    check_back(&mut model, &commands);
}

#[test]
fn a_switch_to_an_agent_that_is_missing_stays_with_the_present_one() {
    let mut model = with_history(80, 24, turn(1, 1, "msg_1", "Mine."));
    let (feed, commands) = (model.feed, enter(&mut model, "/agent switch nobody"));
    assert_eq!(model.agent, agent());
    // A message must not reach the agent that is being left.
    assert!(enter(&mut model, "hello").is_empty());
    assert_eq!(model.draft.text(), "hello");
    let ticket = ticket_of(&commands, &Q::Status);
    let reply = Err(Problem {
        message: "agent nobody does not exist".to_owned(),
        ..Problem::default()
    });
    assert!(update(&mut model, Msg::Reply { ticket, reply }).is_empty());
    assert_eq!((&model.agent, model.feed), (&agent(), feed));
    let shown = screen(&model);
    assert!(shown.contains("Mine."), "{shown}");
    assert!(shown.contains("agent nobody does not exist"), "{shown}");
    assert_eq!(
        questions(&press(&mut model, KeyCode::Enter)),
        [&send("hello")]
    );
}

#[test]
fn the_last_of_two_switches_holds() {
    let mut model = with_history(80, 24, Vec::new());
    let first = enter(&mut model, "/agent switch one");
    let second = enter(&mut model, "/agent switch two");
    reply(&mut model, &first, &Q::Status, status("idle", "rests"));
    assert_eq!(model.agent, agent());
    reply(&mut model, &second, &Q::Status, status("idle", "rests"));
    assert_eq!(model.agent.as_str(), "two");
    let asked = enter(&mut model, "/agent switch main");
    enter(&mut model, "hello");
    assert!(screen(&model).contains("about to show main"));
    reply(&mut model, &asked, &Q::Status, status("idle", "rests"));
    assert!(!screen(&model).contains("about to show main"));
}

#[test]
fn a_notice_about_the_link_goes_when_the_host_is_back() {
    let mut model = with_history(80, 24, Vec::new());
    let commands = enter(&mut model, "/abort");
    let ticket = ticket_of(&commands, &Q::Abort);
    let reply = Err(gone());
    update(&mut model, Msg::Reply { ticket, reply });
    assert!(screen(&model).contains("cannot reach the host"));
    tick(&mut model, 10_000);
    answer(&mut model, &Q::Status, status("idle", "rests"));
    let shown = screen(&model);
    assert!(!shown.contains("cannot reach the host"), "{shown}");
    // That a message is not sent stays true.
    let commands = enter(&mut model, "hello");
    let ticket = ticket_of(&commands, &send("hello"));
    let reply = Err(gone());
    update(&mut model, Msg::Reply { ticket, reply });
    tick(&mut model, 20_000);
    answer(&mut model, &Q::Status, status("idle", "rests"));
    let shown = screen(&model);
    assert!(!shown.contains("cannot reach the host"), "{shown}");
    assert!(
        shown.contains("not sent; the host answers again"),
        "{shown}"
    );
    // So does what the host refused.
    model.complain("the agent is stopped");
    tick(&mut model, 30_000);
    answer(&mut model, &Q::Status, status("idle", "rests"));
    assert!(screen(&model).contains("the agent is stopped"));
}

#[test]
fn a_host_that_does_not_answer_is_named_while_it_is_waited_for() {
    let mut model = with_history(80, 24, Vec::new());
    tick(&mut model, 100_000);
    tick(&mut model, 104_000);
    let shown = screen(&model);
    assert!(shown.contains("idle: nothing is queued"), "{shown}");
    tick(&mut model, 105_000);
    let shown = screen(&model);
    assert!(
        shown.contains("the host does not answer yet (5 s)"),
        "{shown}"
    );
    answer(&mut model, &Q::Status, status("idle", "nothing is queued"));
    let shown = screen(&model);
    assert!(!shown.contains("does not answer"), "{shown}");
}
