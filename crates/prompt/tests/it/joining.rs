//! Which messages join a running turn.

use crate::fixture::{operator, task_result};
use crate::long_turn::{Turn, queued};
use holon_domain::queue::QueueEntry;
use holon_domain::text;
use holon_prompt::conversation::{Joining, split_by_size};
use holon_prompt::interjection_text;
use std::collections::HashMap;

/// Room of a conversation in a window of 16,384 tokens.
const ROOM: usize = 7_400;

fn split(turn: &Turn, waiting: Vec<QueueEntry>) -> Joining {
    split_by_size(waiting, &turn.entries, &turn.messages, ROOM)
}

fn remark(n: u32) -> QueueEntry {
    queued(u64::from(n), operator(n, &format!("Remark {n}: heed it.")))
}

#[test]
fn an_order_to_stop_joins_after_many_remarks() {
    let mut turn = Turn::new();
    let mut stops = 0;
    for n in 1..=70 {
        let waiting = vec![remark(n)];
        for entry in split(&turn, waiting).joining {
            turn.join(entry.envelope);
        }
        let stop = queued(1_000, operator(1_000, "Stop now."));
        stops += split(&turn, vec![stop]).joining.len();
    }
    assert_eq!(stops, 70, "it joins after any number of remarks");
}

#[test]
fn the_newest_short_message_is_seated_before_older_ones_of_the_same_moment() {
    let turn = Turn::new();
    let waiting: Vec<QueueEntry> = (1..=200).map(remark).collect();
    let Joining { joining, apart } = split(&turn, waiting);
    assert_eq!(joining.len() + apart.len(), 200);
    assert_eq!(joining.last().unwrap().seq, 200);
    assert!(!apart.is_empty());
    let tokens = |entry: &QueueEntry| text::estimate_tokens(&interjection_text(&entry.envelope));
    let taken: usize = joining.iter().map(tokens).sum();
    assert!(
        taken <= ROOM * 3 / 4 + 200,
        "the turn keeps room to work: {taken}"
    );
    assert!(taken > ROOM / 2, "short messages have a reserve: {taken}");
}

#[test]
fn a_long_order_to_stop_joins_after_many_remarks() {
    let mut turn = Turn::new();
    let stop = format!("Stop now. {}", "The wrong ledger is open. ".repeat(40));
    for n in 1..=300 {
        for entry in split(&turn, vec![remark(n)]).joining {
            turn.join(entry.envelope);
        }
        let taken: usize = turn
            .messages
            .values()
            .map(|message| text::estimate_tokens(&interjection_text(message)))
            .sum();
        if taken > ROOM * 3 / 4 - 200 {
            break;
        }
    }
    let order = |n: u32| queued(u64::from(n), operator(n, &stop));
    let joined = |waiting| split(&turn, waiting).joining.len();
    assert_eq!(joined(vec![remark(400), order(1_000)]), 2);
    assert_eq!(
        joined(vec![order(1_000), remark(1_001)]),
        2,
        "a remark may follow"
    );
    let Joining { joining, apart } = split(&turn, vec![order(1_000), order(1_001)]);
    let seqs = |entries: &[QueueEntry]| entries.iter().map(|entry| entry.seq).collect::<Vec<_>>();
    assert_eq!((seqs(&joining), seqs(&apart)), (vec![1_001], vec![1_000]));
}

#[test]
fn an_order_is_heard_although_a_remark_follows_it_in_a_full_turn() {
    let mut turn = Turn::new();
    let words = "heed it ".repeat(40);
    let tokens = text::estimate_tokens(&interjection_text(&operator(1, &words)));
    // Until remarks take nearly all of the room.
    let remarks = u32::try_from(ROOM * 9 / 10 / tokens).unwrap();
    for n in 1..=remarks {
        for entry in split(&turn, vec![queued(u64::from(n), operator(n, &words))]).joining {
            turn.join(entry.envelope);
        }
        let waiting = vec![
            queued(1_000, operator(1_000, "Stop now.")),
            queued(1_001, operator(1_001, "Thanks.")),
        ];
        let joined = split(&turn, waiting).joining;
        assert_eq!(joined.len(), 2, "after {n} remarks");
    }
}

#[test]
fn a_long_message_leaves_the_reserve_to_short_ones() {
    let turn = Turn::new();
    let long = |n: u32| queued(u64::from(n), operator(n, &"word ".repeat(1_500)));
    let waiting = vec![long(1), long(2), long(3), remark(4)];
    let joined: Vec<u64> = split(&turn, waiting)
        .joining
        .iter()
        .map(|entry| entry.seq)
        .collect();
    assert_eq!(joined, [1, 2, 4]);
}

#[test]
fn the_end_of_a_task_joins_in_any_room() {
    let ended = queued(1, task_result(1, &"line\n".repeat(5_000)));
    let joining = split_by_size(vec![ended], &[], &HashMap::new(), 100);
    assert_eq!((joining.joining.len(), joining.apart.len()), (1, 0));
}
