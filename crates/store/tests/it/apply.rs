//! The rows that a decision writes, and decisions that are refused as a whole.

use crate::samples::{Scribe, at, id};
use crate::{apply, with_agent};
use holon_domain::agent::{Lifecycle, RunTerms};
use holon_domain::brief::BriefText;
use holon_domain::decision::Fact;
use holon_domain::effect::Effect;
use holon_domain::message::Priority;
use holon_domain::provider::{AskedServer, LearnedLimits, LimitSource, StoredLimits};
use holon_domain::queue::QueueStatus::{Dequeued, Dropped, Processed, Queued};
use holon_domain::{Timestamp, limits};
use holon_store::{Db, DueScope, Error, Ledger, Removal, WriteError};

/// A change after which a decision does not fit.
type Spoil<'a> = &'a dyn Fn(&mut Scribe);

#[test]
fn the_queue_is_taken_by_band_and_then_in_order() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    let bands = [
        Priority::Background,
        Priority::Normal,
        Priority::Next,
        Priority::Normal,
        Priority::Interject,
    ];
    for band in bands {
        apply(&mut db, no, &scribe.admit_as(band, "x").decide()).expect("writes");
    }
    let mut order = Vec::new();
    while let Some(head) = db.reader().queue(no).expect("reads").known_head().cloned() {
        order.push(head.seq);
        apply(
            &mut db,
            no,
            &scribe.shift(head.seq, Queued, Dequeued).decide(),
        )
        .expect("writes");
    }
    assert_eq!(order, [5, 3, 2, 4, 1]);
}

#[test]
fn counts_follow_messages_into_and_out_of_the_queue() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    scribe
        .admit("1")
        .admit_as(Priority::Interject, "2")
        .admit_as(Priority::Interject, "3");
    apply(&mut db, no, &scribe.decide()).expect("writes");
    let counts = |db: &Db| {
        db.reader()
            .queue(no)
            .map(|queue| (queue.pending, queue.interjections))
            .expect("reads")
    };
    assert_eq!(counts(&db), (3, 2));
    apply(
        &mut db,
        no,
        &scribe
            .shift(2, Queued, Dequeued)
            .shift(1, Queued, Dropped)
            .decide(),
    )
    .expect("writes");
    assert_eq!(counts(&db), (1, 1));
    apply(&mut db, no, &scribe.shift(2, Dequeued, Queued).decide()).expect("writes");
    assert_eq!(counts(&db), (2, 2));
    let may_enter = db.reader().joining(no, &[]).expect("reads");
    assert_eq!(
        may_enter.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
        [2, 3]
    );
}

#[test]
fn decisions_that_do_not_fit_the_rows_are_refused_and_leave_nothing() {
    let settled = |scribe: &mut Scribe| {
        scribe
            .brief(BriefText::Words("done".to_owned()))
            .fact(Fact::MessageSettled { seq: 1, brief: 1 });
    };
    let cases: [(&str, Spoil<'_>); 11] = [
        ("a move from a status it is not in", &|scribe| {
            scribe.shift(1, Dequeued, Processed);
        }),
        ("a move of a message that is not there", &|scribe| {
            scribe.shift(9, Queued, Dequeued);
        }),
        ("a second outcome", &|scribe| {
            scribe.fact(Fact::MessageSettled { seq: 1, brief: 1 });
        }),
        ("an effect that is not open", &|scribe| {
            scribe.fact(Fact::EffectClosed { id: 9 });
        }),
        ("a due entry that is not set", &|scribe| {
            scribe.fact(Fact::DueCleared { id: 9 });
        }),
        ("a position given twice", &|scribe| {
            scribe.record.counters.messages = 0;
            scribe.admit("again");
        }),
        ("an effect number given twice", &|scribe| {
            scribe.fact(Fact::EffectOpened {
                id: 1,
                generation: 1,
                at: at(0),
                effect: Effect::PrepareHome,
            });
        }),
        ("a hole in the events", &|scribe| {
            scribe.record.counters.events += 1;
            scribe.event();
        }),
        ("a hole in the messages", &|scribe| {
            scribe.record.counters.messages += 1;
            scribe.admit("far");
        }),
        ("a counter behind its log", &|scribe| {
            scribe.log(1, crate::samples::took(1));
            scribe.record.counters.log -= 1;
        }),
        ("a counter ahead of its events", &|scribe| {
            scribe.record.counters.events += 1
        }),
    ];
    for (what, spoil) in cases {
        let mut scribe = Scribe::new("a");
        let (mut db, no) = with_agent(&scribe.record);
        settled(scribe.admit("1").open_effect());
        apply(&mut db, no, &scribe.decide()).expect("writes");
        let before = db.image().expect("an image");
        spoil(scribe.admit("2"));
        let refused = apply(&mut db, no, &scribe.decide());
        assert!(
            matches!(refused, Err(WriteError::Store(Error::Contradiction { .. }))),
            "{what}: {refused:?}"
        );
        assert_eq!(db.reader().queue(no).expect("reads").pending, 1, "{what}");
        assert!(
            before == db.image().expect("an image"),
            "{what} changed the store"
        );
    }
}

#[test]
fn a_name_is_given_once() {
    let scribe = Scribe::new("a");
    let (mut db, _) = with_agent(&scribe.record);
    let again = db.write(|tx| tx.create_agent(&scribe.record));
    assert_eq!(
        again,
        Err(WriteError::Store(Error::AgentExists { agent_id: id("a") }))
    );
}

#[test]
fn due_entries_come_in_the_order_of_their_time_and_go_when_cleared() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    scribe.set_due(at(30)).set_due(at(10)).set_due(at(20));
    apply(&mut db, no, &scribe.decide()).expect("writes");
    assert_eq!(db.reader().next_due(), Ok(Some(at(10))));
    let due = |db: &mut Db, now, limit| -> Vec<u64> {
        db.reader()
            .due(&DueScope::All, now, None, limit)
            .expect("reads")
            .rows
            .into_iter()
            .map(|row| row.id)
            .collect()
    };
    assert_eq!(due(&mut db, at(9), 9), [0; 0]);
    assert_eq!(due(&mut db, at(20), 9), [2, 3]);
    assert_eq!(due(&mut db, at(99), 2), [2, 3]);
    apply(
        &mut db,
        no,
        &scribe.fact(Fact::DueCleared { id: 2 }).decide(),
    )
    .expect("writes");
    assert_eq!(due(&mut db, at(99), 9), [3, 1]);
    assert_eq!(db.reader().next_due(), Ok(Some(at(20))));
}

#[test]
fn an_effect_is_open_from_its_commit_to_the_commit_of_its_outcome() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    apply(&mut db, no, &scribe.open_effect().decide()).expect("writes");
    let open = db.reader().open_effects(&id("a"), 0, 9).expect("reads");
    assert_eq!(
        (open[0].agent_id.as_str(), open[0].id, open[0].generation),
        ("a", 1, 1)
    );
    assert_eq!(db.write(|tx| Ledger::open_effects(tx, no)), Ok(vec![1]));
    apply(
        &mut db,
        no,
        &scribe.fact(Fact::EffectClosed { id: 1 }).decide(),
    )
    .expect("writes");
    assert_eq!(db.write(|tx| Ledger::open_effects(tx, no)), Ok(vec![]));
    assert_eq!(db.reader().open_effects(&id("a"), 0, 9), Ok(Vec::new()));
}

#[test]
fn a_text_kept_twice_is_kept_once() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    let keep = |body: &str| Fact::BlobKept {
        hash: "h1".to_owned(),
        body: body.to_owned(),
        entry: 1,
    };
    apply(
        &mut db,
        no,
        &scribe.fact(keep("text")).fact(keep("text")).decide(),
    )
    .expect("writes");
    assert_eq!(db.reader().blob("h1"), Ok(Some("text".to_owned())));
    assert_eq!(db.reader().blob("h2"), Ok(None));
}

/// The server with this base URL, which described the window of these limits.
fn server(endpoint: &str, limits: LearnedLimits) -> AskedServer {
    AskedServer {
        endpoint: Some(endpoint.to_owned()),
        stated_window_tokens: limits.context_window_tokens,
    }
}

#[test]
fn a_later_lesson_about_a_model_replaces_only_what_it_speaks_of() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    let window = |tokens| LearnedLimits::window(tokens, LimitSource::Server);
    let output = LearnedLimits {
        max_output_tokens: Some(2_048),
        ..LearnedLimits::default()
    };
    for (limits, at) in [(window(8_192), 1), (output, 2), (window(4_096), 3)] {
        let fact = Fact::LimitLearned {
            model_ref: "local/model".to_owned(),
            server: server("http://one/v1", limits),
            limits,
            at: Timestamp::from_millis(at),
        };
        let decision = scribe.fact(fact).decide();
        apply(&mut db, no, &decision).expect("is written");
    }
    let reader = db.reader();
    let known = reader.model_limits("local/model").expect("reads");
    assert_eq!(known.limits, window(4_096).and_then(output));
    assert_eq!(known.stated_window_tokens, Some(4_096));
    assert_eq!(known.endpoint.as_deref(), Some("http://one/v1"));
    let other = reader.model_limits("local/other").expect("reads");
    assert_eq!(other, StoredLimits::default());
    let all = reader.all_model_limits().expect("reads");
    let row = all.first().expect("a row");
    assert_eq!((all.len(), row.model_ref.as_str()), (1, "local/model"));
    assert_eq!(row.stored, known);
    assert_eq!(row.window_learned_at, Some(Timestamp::from_millis(3)));
    assert_eq!(row.output_learned_at, Some(Timestamp::from_millis(2)));
}

#[test]
fn a_lesson_of_another_server_replaces_all_that_the_first_one_taught() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    let window = LearnedLimits::window(8_192, LimitSource::Server);
    let output = LearnedLimits {
        max_output_tokens: Some(2_048),
        ..LearnedLimits::default()
    };
    for (limits, endpoint) in [(window, "http://one/v1"), (output, "http://two/v1")] {
        let fact = Fact::LimitLearned {
            model_ref: "local/model".to_owned(),
            server: server(endpoint, limits),
            limits,
            at: Timestamp::from_millis(1),
        };
        let decision = scribe.fact(fact).decide();
        apply(&mut db, no, &decision).expect("is written");
    }
    let known = db.reader().model_limits("local/model").expect("reads");
    assert_eq!(known.limits, output);
    assert_eq!(known.stated_window_tokens, None);
    assert_eq!(known.endpoint.as_deref(), Some("http://two/v1"));
}

#[test]
fn a_text_goes_with_the_last_agent_that_refers_to_it() {
    let keep = |scribe: &mut Scribe, hashes: &[&str]| {
        for hash in hashes {
            scribe.fact(Fact::BlobKept {
                hash: (*hash).to_owned(),
                body: format!("the text {hash}"),
                entry: 1,
            });
        }
        scribe.decide()
    };
    let (mut one, mut two) = (Scribe::new("a"), Scribe::new("b"));
    let (mut db, first) = with_agent(&one.record);
    let second = db
        .write(|tx| tx.create_agent(&two.record))
        .expect("creates");
    let shared_and_own = keep(&mut one, &["m", "a1", "a2", "z9"]);
    apply(&mut db, first, &shared_and_own).expect("writes");
    apply(&mut db, second, &keep(&mut two, &["m", "b1"])).expect("writes");
    let there = |db: &Db| {
        let mut there = vec!["a1", "a2", "b1", "m", "z9"];
        there.retain(|hash| db.reader().blob(hash).expect("reads").is_some());
        there
    };
    let remove = |db: &mut Db, no| {
        while db.write(|tx| tx.remove_agent_rows(no, 1)).expect("removes") == Removal::More {}
    };
    assert_eq!(there(&db), ["a1", "a2", "b1", "m", "z9"]);
    remove(&mut db, first);
    assert_eq!(there(&db), ["b1", "m"], "the shared one stays");
    remove(&mut db, second);
    assert!(there(&db).is_empty(), "nothing is left behind");
}

#[test]
fn boot_looks_at_agents_with_work_or_in_passing_and_at_no_others() {
    let mut db = Db::in_memory().expect("opens");
    let add = |db: &mut Db, name: &str, change: &dyn Fn(&mut Scribe)| {
        let mut scribe = Scribe::new(name);
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        change(&mut scribe);
        apply(db, no, &scribe.decide()).expect("writes");
    };
    add(&mut db, "idle", &|_| {});
    add(&mut db, "stopped", &|scribe| {
        scribe.record.lifecycle = Lifecycle::Stopped
    });
    add(&mut db, "queued", &|scribe| {
        scribe.admit("x");
    });
    add(&mut db, "done", &|scribe| {
        scribe.admit("x").shift(1, Queued, Processed);
    });
    add(&mut db, "booting", &|scribe| {
        scribe.record.lifecycle = Lifecycle::Booting
    });
    add(&mut db, "deleting", &|scribe| {
        scribe.record.lifecycle = Lifecycle::Deleting
    });
    add(&mut db, "tmp_run_1", &|scribe| {
        scribe.record.settings.run = Some(RunTerms::temporary(None))
    });
    add(&mut db, "acting", &|scribe| {
        scribe.open_effect();
    });
    let all = ["queued", "booting", "deleting", "tmp_run_1", "acting"];
    for length in [1, 2, 5, 9] {
        let (mut found, mut from) = (Vec::new(), None);
        loop {
            let page = db.reader().agents_to_recover(from, length).expect("reads");
            found.extend(page.agents.iter().map(ToString::to_string));
            from = page.next;
            if from.is_none() {
                break;
            }
        }
        assert_eq!(found, all, "in pages of {length}");
    }
    let first = db.reader().agents_to_recover(None, 3).expect("reads");
    add(&mut db, "newcomer", &|scribe| {
        scribe.open_effect();
    });
    let rest = db.reader().agents_to_recover(first.next, 9).expect("reads");
    let names: Vec<_> = rest.agents.iter().map(ToString::to_string).collect();
    assert_eq!(
        names,
        all[3..],
        "one made during the recovery is not recovered"
    );
}

#[test]
fn deleting_an_agent_goes_in_bounded_steps_and_leaves_its_neighbour_alone() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    let mut other = Scribe::new("b");
    let neighbour = db
        .write(|tx| tx.create_agent(&other.record))
        .expect("creates");
    for scribe in [&mut scribe, &mut other] {
        for _ in 0..5 {
            scribe
                .admit("x")
                .brief(BriefText::Words("w".to_owned()))
                .open_effect()
                .set_due(at(1));
            scribe.log(1, crate::samples::took(1));
        }
    }
    apply(&mut db, no, &scribe.decide()).expect("writes");
    apply(&mut db, neighbour, &other.decide()).expect("writes");
    let mut steps = 0;
    while db.write(|tx| tx.remove_agent_rows(no, 7)).expect("removes") == Removal::More {
        steps += 1;
        assert!(
            db.reader().agent(&id("a")).expect("reads").is_some(),
            "its row goes last"
        );
    }
    assert_eq!(steps, 4, "7 rows at a time");
    assert_eq!(db.reader().agent(&id("a")), Ok(None));
    let left = db.reader().open_effects(&id("b"), 0, 9);
    assert_eq!(left.expect("reads").len(), 5);
    assert_eq!(db.reader().queue(neighbour).expect("reads").pending, 5);
    assert_eq!(
        db.write(|tx| tx.remove_agent_rows(no, 7)),
        Ok(Removal::Done),
        "again is harmless"
    );
}

#[test]
fn a_request_takes_in_what_waits_up_to_a_number_and_a_size_and_always_the_first() {
    let take_in = |bodies: &[usize]| -> usize {
        let mut scribe = Scribe::new("a");
        let (mut db, no) = with_agent(&scribe.record);
        for bytes in bodies {
            scribe.admit_as(Priority::Interject, &"x".repeat(*bytes));
        }
        apply(&mut db, no, &scribe.decide()).expect("writes");
        db.reader().joining(no, &[]).expect("reads").len()
    };
    let (most, bytes) = (limits::JOINING_PER_ROUND, limits::JOINING_BYTES_PER_ROUND);
    assert_eq!(take_in(&vec![10; most + 50]), most);
    let long = limits::NEWEST_JOINING_BYTES + 1;
    assert_eq!(take_in(&[bytes / 2, bytes / 2, long]), 2);
    assert_eq!(take_in(&[bytes * 2, long]), 1, "none waits for ever");
    assert_eq!(take_in(&[1, bytes * 2, long]), 1, "and none overtakes");
    assert_eq!(take_in(&[1, bytes * 2, 1]), 2, "but the newest short one");
}
