//! The file that turns leave behind.

use crate::house::{House, at_rest, prompt};
use holon_engine::Host;
use holon_testkit::ports::says;

/// Most bytes that one trivial message and its turn add to the file. A host that answers every minute for a year adds
/// half a million of them.
const MOST_BYTES: u64 = 2_048;
/// Enough turns that the last page of each table does not matter.
const TURNS: u64 = 64;

#[tokio::test]
async fn a_message_and_its_turn_take_two_kilobytes_of_file() {
    let house = House::new();
    let host = house.with_main().await;
    hold_turns(&house, &host, 8).await;
    host.shut_down().await.expect("an end");
    let before = house.stored_bytes();
    let host = house.start().await;
    hold_turns(&house, &host, TURNS).await;
    host.shut_down().await.expect("an end");
    let each = (house.stored_bytes() - before) / TURNS;
    assert!(each <= MOST_BYTES, "{each} bytes");
}

async fn hold_turns(house: &House, host: &Host, count: u64) {
    for _ in 0..count {
        prompt(host, "main", "say hello to the operator").await;
        house.model.next().await.answer(says("hello operator"));
        at_rest(host, "main").await;
    }
}
