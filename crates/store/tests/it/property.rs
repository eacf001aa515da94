//! Any sequence of admissions and status changes leaves the same queue as a plain list, and dense positions.

use crate::samples::Scribe;
use crate::{apply, with_agent};
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::message::Priority;
use holon_domain::queue::QueueStatus;
use proptest::prelude::*;

#[derive(Debug, Clone)]
enum Step {
    Admit(Priority),
    Move { which: usize, to: QueueStatus },
    Refused,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => prop::sample::select(Priority::ALL.to_vec()).prop_map(Step::Admit),
        3 => (any::<usize>(), prop::sample::select(QueueStatus::ALL.to_vec()))
            .prop_map(|(which, to)| Step::Move { which, to }),
        1 => Just(Step::Refused),
    ];
    prop::collection::vec(step, 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    #[test]
    fn the_queue_and_its_counts_agree_with_a_plain_list(steps in steps()) {
        let mut scribe = Scribe::new("a");
        let (mut db, no) = with_agent(&scribe.record);
        let mut model: Vec<(u64, Priority, QueueStatus)> = Vec::new();
        for step in steps {
            let before = scribe.clone();
            match step {
                Step::Admit(band) => {
                    scribe.admit_as(band, "x");
                    model.push((scribe.record.counters.messages, band, QueueStatus::Queued));
                    apply(&mut db, no, &scribe.decide()).expect("writes");
                }
                Step::Move { which, to } if !model.is_empty() => {
                    let index = which % model.len();
                    let (seq, _, from) = model[index];
                    apply(&mut db, no, &scribe.shift(seq, from, to).event().decide()).expect("writes");
                    model[index].2 = to;
                }
                Step::Move { .. } | Step::Refused => {
                    scribe.admit("lost").shift(9_999, QueueStatus::Queued, QueueStatus::Dropped);
                    prop_assert!(apply(&mut db, no, &scribe.decide()).is_err());
                    scribe = before;
                }
            }
            let queued = || model.iter().filter(|(_, _, status)| *status == QueueStatus::Queued);
            let view = db.reader().queue(no).expect("reads");
            prop_assert_eq!(view.pending as usize, queued().count());
            let interject = queued().filter(|(_, band, _)| *band == Priority::Interject).count();
            prop_assert_eq!(view.interjections as usize, interject);
            let head = queued().min_by_key(|(seq, band, _)| (*band, *seq)).map(|(seq, _, _)| *seq);
            prop_assert_eq!(view.known_head().map(|entry| entry.seq), head);
        }
        let query = EventQuery { limit: 1_000, order: EventOrder::Ascending, ..EventQuery::default() };
        let page = db.reader().events(no, query).expect("reads");
        let positions: Vec<u64> = page.events.iter().map(|event| event.event_seq).collect();
        prop_assert_eq!(positions, (1..=scribe.record.counters.events).collect::<Vec<_>>());
    }
}
