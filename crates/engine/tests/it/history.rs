//! Retention of history in the background: the oldest turns go, and the agent goes on.

use crate::house::{House, agent, at_rest, briefs, create, prompt};
use crate::keys::key;
use crate::runs::request;
use holon_domain::feed::SeqQuery;
use holon_domain::limits::{HISTORY_MESSAGES_KEPT, PRUNE_STEPS_PER_REQUEST};
use holon_domain::storage::RemovedHistory;
use holon_domain::transcript::TranscriptEntry;
use holon_engine::request::RunRequest;
use holon_engine::{Conduct, Error, HistoryTerms, Host, PruneOrder, ThreadTerms};
use holon_testkit::ports::says;
use std::time::Duration;

/// Turns beside the ones that always stay.
const SPARE: usize = 6;
const DAY_MS: u64 = 86_400_000;

/// A small thread, so that these turns fold it.
const THREAD: ThreadTerms = ThreadTerms {
    most_tokens: Some(800),
    cold_after_ms: Some(0),
    cold_tokens: usize::MAX,
    ..ThreadTerms::DEFAULT
};

/// The first turn that an agent's thread shows as it was.
fn oldest_shown(house: &House, name: &str) -> u64 {
    house.number(&format!(
        "SELECT CAST(min(turn_index) AS TEXT) FROM log JOIN agents USING (agent_no) WHERE agent_id = '{name}' \
         AND log.seq >= coalesce(json_extract(record, '$.thread.from_entry'), 0)"
    ))
}

async fn start(house: &House, history: HistoryTerms) -> Host {
    let conduct = Conduct {
        history,
        thread: THREAD,
        ..Conduct::default()
    };
    let host = house.start_as(conduct).await;
    talk(house, &host, "main").await;
    host
}

/// Creates an agent, and gives it more turns than always stay.
async fn talk(house: &House, host: &Host, name: &str) {
    create(host, name).await;
    exchange(house, host, name, HISTORY_MESSAGES_KEPT + SPARE).await;
}

async fn exchange(house: &House, host: &Host, name: &str, turns: usize) {
    for turn in 1..=turns {
        prompt(host, name, &format!("question {turn}")).await;
        let call = house.model.next().await;
        call.answer(says(&format!("answer {turn}")));
        at_rest(host, name).await;
    }
}

/// Orders the removal of everything that may go by age, or its preview, in one request.
fn of_all(host: &Host, preview: bool) -> PruneOrder {
    PruneOrder {
        before: host.control().now(),
        preview,
        next: None,
        steps: PRUNE_STEPS_PER_REQUEST,
    }
}

async fn first_entry(host: &Host) -> TranscriptEntry {
    let query = SeqQuery {
        after_seq: Some(0),
        limit: 1,
        ..SeqQuery::default()
    };
    let page = host.reads().transcript_page(&agent("main"), query).await;
    page.expect("a page").entries.remove(0)
}

/// Waits until retention has removed the first turn, and returns the oldest entry that is left.
async fn until_trimmed(host: &Host) -> TranscriptEntry {
    loop {
        let first = first_entry(host).await;
        if first.turn_index > SPARE as u64 {
            return first;
        }
    }
}

#[tokio::test]
async fn a_store_above_its_budget_loses_its_oldest_turns_and_the_agent_goes_on() {
    let house = House::new();
    let terms = HistoryTerms {
        budget_bytes: 1,
        days: 0,
    };
    let host = start(&house, terms).await;
    house.clock.advance(60_000);
    let first = until_trimmed(&host).await;
    assert_eq!(first.turn_index, SPARE as u64 + 1);
    let old = SeqQuery {
        after_seq: Some(1),
        limit: 1,
        ..SeqQuery::default()
    };
    let refused = host.reads().transcript_page(&agent("main"), old).await;
    assert!(
        matches!(refused, Err(Error::CursorTooOld { oldest_seq, .. }) if oldest_seq == first.seq),
        "{refused:?}"
    );
    let page = SeqQuery {
        after_seq: Some(0),
        limit: 2,
        ..SeqQuery::default()
    };
    let told = host.reads().briefs_page(&agent("main"), page).await;
    let told = told.expect("briefs").entries;
    assert_eq!(told[0].text, "answer 1", "briefs keep their words");

    prompt(&host, "main", "and now?").await;
    let call = house.model.next().await;
    let shown = format!("{:?}", call.request);
    let newest = HISTORY_MESSAGES_KEPT + SPARE;
    assert!(shown.contains(&format!("answer {newest}")), "{shown}");
    assert!(shown.contains(&format!("question {newest}")), "{shown}");
    call.answer(says("all is well"));
    at_rest(&host, "main").await;
    let told = briefs(&host, "main", 100).await;
    assert_eq!(told.last().expect("a brief").text, "all is well");
    house.is_sound("main").await;
}

#[tokio::test]
async fn turns_that_are_too_old_go_and_a_restart_finds_a_sound_store() {
    let house = House::new();
    let terms = HistoryTerms {
        budget_bytes: u64::MAX,
        days: 2,
    };
    let host = start(&house, terms).await;
    house.clock.advance(DAY_MS);
    prompt(&host, "main", "young").await;
    house.model.next().await.answer(says("yes"));
    at_rest(&host, "main").await;
    assert_eq!(first_entry(&host).await.turn_index, 1);
    house.clock.advance(DAY_MS + 60_000);
    until_trimmed(&host).await;
    host.shut_down().await.expect("an end");
    let host = house.start().await;
    assert!(first_entry(&host).await.turn_index > SPARE as u64);
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_preview_of_an_operator_says_what_the_removal_does() {
    let house = House::new();
    let host = start(&house, HistoryTerms::default()).await;
    house.clock.advance(DAY_MS);
    let order = |preview| of_all(&host, preview);
    let planned = host.control().prune(order(true)).await.expect("a preview");
    let (turns, oldest_kept) = (HISTORY_MESSAGES_KEPT + SPARE, oldest_shown(&house, "main"));
    assert_eq!(planned.removed.turns, oldest_kept - 1);
    assert_eq!(first_entry(&host).await.turn_index, 1, "nothing is gone");
    let done = host.control().prune(order(false)).await.expect("a removal");
    assert_eq!(done, planned);
    let again = host.control().prune(order(false)).await.expect("nothing");
    assert!(again.removed.is_empty());
    let sizes = host.reads().storage().await.expect("sizes");
    assert_eq!(sizes.agents.len(), 1);
    assert_eq!(sizes.history.messages.rows, turns as u64 + 1 - oldest_kept);
}

#[tokio::test]
async fn a_removal_over_several_requests_takes_all_that_its_preview_says() {
    let house = House::new();
    let host = start(&house, HistoryTerms::default()).await;
    // More than one step takes.
    exchange(&house, &host, "main", 80).await;
    create(&host, "zoe").await;
    exchange(&house, &host, "zoe", 30).await;
    house.clock.advance(DAY_MS);
    let before = host.control().now();
    let order = |preview, next, steps| PruneOrder {
        before,
        preview,
        next,
        steps,
    };
    let planned = order(true, None, PRUNE_STEPS_PER_REQUEST);
    let planned = host.control().prune(planned).await.expect("a preview");
    let (mut removed, mut next, mut visits) = (RemovedHistory::default(), None, Vec::new());
    loop {
        let report = host.control().prune(order(false, next.clone(), 1)).await;
        let report = report.expect("a removal");
        removed += report.removed;
        next = report.next.map(|id| id.to_string());
        match &next {
            Some(name) => visits.push(name.clone()),
            None => break,
        }
    }
    assert_eq!(removed, planned.removed);
    assert!(
        visits.iter().filter(|name| *name == "main").count() >= 2,
        "{visits:?}"
    );
}

#[tokio::test]
async fn a_removal_that_the_store_refuses_is_an_error_for_its_operator() {
    let house = House::new();
    let host = start(&house, HistoryTerms::default()).await;
    house.clock.advance(DAY_MS);
    house.alter("CREATE TRIGGER keep BEFORE DELETE ON log BEGIN SELECT RAISE(ABORT, 'kept'); END");
    let order = of_all(&host, false);
    let refused = host.control().prune(order).await;
    assert!(refused.is_err(), "{refused:?}");
    assert_eq!(first_entry(&host).await.turn_index, 1, "nothing is gone");
}

#[tokio::test]
async fn an_agent_whose_rows_cannot_be_read_does_not_keep_the_others() {
    let house = House::new();
    let host = start(&house, HistoryTerms::default()).await;
    talk(&house, &host, "damaged").await;
    house.clock.advance(DAY_MS);
    house.damage("UPDATE agents SET record = 'x' WHERE agent_id = 'damaged'");
    for preview in [true, false] {
        let order = of_all(&host, preview);
        let report = host.control().prune(order).await.expect("a report");
        assert_eq!(
            report.removed.turns,
            oldest_shown(&house, "main") - 1,
            "{report:?}"
        );
        let failed: Vec<&str> = report.failures.iter().map(|(id, _)| id.as_str()).collect();
        assert_eq!(failed, ["damaged"], "{report:?}");
        assert_eq!(report.next, None);
    }
    assert!(first_entry(&host).await.turn_index > SPARE as u64);
}

#[tokio::test]
async fn a_brief_that_cannot_be_read_keeps_nothing_of_its_agent() {
    let house = House::new();
    let host = start(&house, HistoryTerms::default()).await;
    house.clock.advance(DAY_MS);
    house.damage("UPDATE briefs SET row = 'x' WHERE seq = 3");
    for preview in [true, false] {
        let order = of_all(&host, preview);
        let report = host.control().prune(order).await.expect("a report");
        assert_eq!(
            report.removed.turns,
            oldest_shown(&house, "main") - 1,
            "{report:?}"
        );
        let reason = "briefs 3: cannot be read, and was passed over".to_owned();
        assert_eq!(report.failures, [(agent("main"), reason)]);
    }
    assert_eq!(
        first_entry(&host).await.turn_index,
        oldest_shown(&house, "main")
    );
}

#[tokio::test]
async fn an_agent_with_little_history_loses_what_is_too_old() {
    let house = House::new();
    let conduct = Conduct {
        history: HistoryTerms {
            budget_bytes: u64::MAX,
            days: 30,
        },
        thread: THREAD,
        ..Conduct::default()
    };
    let host = house.start_as(conduct).await;
    create(&host, "main").await;
    exchange(&house, &host, "main", 40).await;
    house.clock.advance(31 * DAY_MS);
    let oldest = oldest_shown(&house, "main");
    assert!((20..40).contains(&oldest), "{oldest}");
    while first_entry(&host).await.turn_index < oldest {}
    prompt(&host, "main", "and now?").await;
    let call = house.model.next().await;
    let thread = call.request.thread.iter();
    let shown: Vec<u64> = thread.filter_map(|turn| turn.turn_index).collect();
    assert_eq!(shown, (oldest..=40).collect::<Vec<_>>());
    call.answer(says("all is well"));
    at_rest(&host, "main").await;
    house.is_sound("main").await;
}

#[tokio::test]
async fn a_repeated_run_whose_answer_was_removed_is_refused() {
    for loss in [None, Some("DELETE FROM briefs WHERE seq = 1")] {
        let house = House::new();
        let conduct = Conduct {
            thread: THREAD,
            ..Conduct::default()
        };
        let host = house.start_as(conduct).await;
        create(&host, "main").await;
        let request = || RunRequest {
            agent_id: Some(agent("main")),
            ..request("add")
        };
        let control = host.control().for_request(key("k", "a"));
        let (first, ()) = tokio::join!(control.run_once(request()), async {
            house.model.next().await.answer(says("four"));
        });
        assert_eq!(first.expect("an outcome").final_text, "four");
        match loss {
            Some(sql) => house.damage(sql),
            None => {
                exchange(&house, &host, "main", 40).await;
                house.clock.advance(1);
                let order = of_all(&host, false);
                let report = host.control().prune(order).await.expect("a report");
                assert!(report.removed.messages > 0);
            }
        }
        let control = host.control().for_request(key("k", "a"));
        let guard = Duration::from_secs(20);
        let repeated = tokio::time::timeout(guard, control.run_once(request())).await;
        let refused = repeated.expect("does not wait").expect_err("is gone");
        let agent_id = agent("main");
        assert_eq!(
            refused,
            Error::OutcomeRemoved {
                agent_id: Some(agent_id)
            }
        );
        assert_eq!(refused.code(), "outcome_removed");
        assert!(house.model.is_quiet().await, "it does not run again");
    }
}
