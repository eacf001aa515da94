//! Sends between agents: one commit and one verdict each, and nothing is lost when a commit is full.

use super::bench::{Call, KernelBench, NOW, id};
use holon_core::{Input, Reply};
use holon_domain::agent::Lifecycle;
use holon_domain::decision::{Decision, Fact};
use holon_domain::effect::Effect;
use holon_domain::intent::Intent;
use holon_domain::limits::SENDS_PER_COMMIT;
use holon_domain::message::Priority;
use holon_domain::previous_exit::PreviousExit;
use holon_domain::send::AgentSend;
use holon_store::Ledger;
use serde_json::json;

fn message(to: &str) -> Call {
    let intent = Intent::Message {
        agent_id: id(to),
        text: format!("hello {to}"),
        priority: Priority::Next,
    };
    ("Message", json!({}), Ok(intent))
}

#[test]
fn a_message_is_in_its_receivers_queue_in_the_commit_that_gives_the_call_its_result() {
    let mut bench = KernelBench::with(&["ada", "bob"]);
    bench.prompt("ada");
    let before = bench.db.commits();
    let handled = bench.calls("ada", &[message("bob"), message("bob")]);
    assert_eq!(bench.db.commits(), before + 1, "one commit");
    assert_eq!(bench.results("ada"), ["the message was delivered"; 2]);
    assert_eq!(bench.waits_for("ada"), ["call_model"], "its turn goes on");
    assert_eq!(bench.waits_for("bob"), ["call_model"], "its turn has begun");
    assert_eq!(bench.queued("bob"), 1, "the second waits");
    let touched: Vec<String> = handled
        .work
        .touched
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(touched, ["ada", "bob"]);
}

#[test]
fn a_refusal_is_the_result_of_the_call_and_changes_nothing_at_the_receiver() {
    let mut bench = KernelBench::with(&["ada", "bob"]);
    bench.handle("bob", &Input::Stop);
    bench.prompt("ada");
    let (_, before) = bench.agent("bob");
    bench.calls("ada", &[message("bob"), message("nobody")]);
    assert_eq!(
        bench.results("ada"),
        [
            "the message was refused: agent bob is stopped",
            "the message was refused: there is no such agent"
        ]
    );
    assert_eq!(bench.agent("bob").1, before);
    assert_eq!(bench.waits_for("ada"), ["call_model"]);
}

#[test]
fn a_message_to_itself_joins_the_senders_own_queue() {
    let mut bench = KernelBench::with(&["ada"]);
    bench.prompt("ada");
    bench.calls("ada", &[message("ada")]);
    assert_eq!(bench.results("ada"), ["the message was delivered"]);
    assert_eq!(bench.queued("ada"), 1);
}

#[test]
fn a_receiver_that_panics_is_a_refusal_and_the_sender_goes_on() {
    let mut bench = KernelBench::with(&["ada", "bob", "eve"]);
    bench.prompt("ada");
    bench.panics = Some(id("bob"));
    let handled = bench.calls("ada", &[message("bob"), message("eve")]);
    bench.panics = None;
    assert_eq!(handled.reply, Reply::Done);
    let results = bench.results("ada");
    assert!(
        results[0].starts_with("the message was refused: bob could not take it"),
        "{results:?}"
    );
    assert_eq!(results[1], "the message was delivered");
    assert_eq!(
        (bench.queued("bob"), bench.agent("bob").1.open_turn),
        (0, None)
    );
    assert_eq!(bench.waits_for("eve"), ["call_model"]);
    let none_of_bobs = handled
        .work
        .effects
        .keys()
        .all(|(agent, _)| *agent != id("bob"));
    assert!(none_of_bobs, "nothing of an undone decision is performed");
}

#[test]
fn ten_thousand_sends_of_one_decision_are_delivered_once_each_over_bounded_commits() {
    const SENDS: usize = 10_000;
    let mut bench = KernelBench::with(&["ada", "bob"]);
    bench.handle("bob", &Input::Stop);
    open_delivery(&mut bench, SENDS);
    let before = bench.db.commits();
    let commits = bench.deliver_all();
    assert_eq!(commits, SENDS.div_ceil(SENDS_PER_COMMIT));
    assert_eq!(bench.db.commits(), before + commits as u64);
    let (_, bob) = bench.agent("bob");
    assert_eq!(bob.counters.turns, 0);
    let (_, ada) = bench.agent("ada");
    assert_eq!(ada.deliveries, [0; 0]);
    assert_eq!(bench.waits_for("ada"), [""; 0]);
}

#[test]
fn what_is_left_at_the_bound_survives_a_restart() {
    let mut bench = KernelBench::with(&["ada", "bob"]);
    open_delivery(&mut bench, SENDS_PER_COMMIT + 3);
    let (record, sends) = {
        let record = bench.open.values().next().unwrap().clone();
        let Effect::Deliver { sends } = record.effect.clone() else {
            panic!("a delivery");
        };
        (record, sends)
    };
    let stamp = holon_core::Stamp::of(&record);
    bench.handle(
        "ada",
        &Input::Deliver {
            stamp,
            sends: sends.clone(),
        },
    );
    assert_eq!(bench.waits_for("ada"), ["deliver"]);
    // A new process knows the rows only; late outcomes of the old one are stale.
    bench.open.clear();
    bench.handle(
        "ada",
        &Input::Recover {
            exit: PreviousExit::Unclean,
            proven: None,
            found: Vec::new(),
        },
    );
    assert_eq!(
        bench.handle("ada", &Input::Deliver { stamp, sends }).reply,
        Reply::Unchanged
    );
    assert_eq!(bench.deliver_all(), 1);
    let (_, bob) = bench.agent("bob");
    assert_eq!(bob.lifecycle, Lifecycle::Stopped);
    assert_eq!(bench.waits_for("ada"), [""; 0]);
}

/// Writes an effect that delivers this many sends, as a decision with a larger bound would have done.
fn open_delivery(bench: &mut KernelBench, count: usize) {
    let (no, mut agent) = bench.agent("ada");
    agent.counters.effects += 1;
    let effect_id = agent.counters.effects;
    agent.deliveries = vec![effect_id];
    let effect = Effect::Deliver {
        sends: vec![(id("bob"), AgentSend::Stop); count],
    };
    let opened = Fact::EffectOpened {
        id: effect_id,
        generation: agent.generation,
        at: NOW,
        effect,
    };
    let decision = Decision {
        agent,
        facts: vec![opened],
        more: false,
    };
    bench
        .db
        .write(|tx| Ledger::apply(tx, no, &decision))
        .unwrap();
    let stored = bench.db.reader().open_effects(&id("ada"), 0, 9).unwrap();
    bench.open.extend(
        stored
            .into_iter()
            .map(|open| ((open.agent_id.clone(), open.id), open)),
    );
}
