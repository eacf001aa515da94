//! Retention of history: the oldest turns go as a prefix, and nothing that is still needed goes with them.

use crate::samples::{Scribe, at, id, took, work_item};
use crate::{apply, with_agent};
use holon_domain::Timestamp;
use holon_domain::attempt::{RoundAttempts, TokenUsage};
use holon_domain::block::Block;
use holon_domain::brief::BriefText;
use holon_domain::decision::Fact;
use holon_domain::feed::SeqQuery;
use holon_domain::limits::{BRIEFS_KEPT_PER_AGENT, HISTORY_MESSAGES_KEPT, HISTORY_STEP};
use holon_domain::log::LogEntry;
use holon_domain::model::StopReason;
use holon_domain::queue::QueueStatus;
use holon_domain::storage::HistoryRule::OlderThan;
use holon_domain::storage::{HistoryPosition, HistoryRule, HistoryStep, RemovedHistory};
use holon_domain::turn::OpenTurn;
use holon_domain::workspace::WorkspaceEntry;
use holon_store::{AgentNo, Db};

mod references;

const NEEDS_SPACE: HistoryRule = HistoryRule::NEEDS_SPACE;
/// Every turn is older than this.
const FOREVER: Timestamp = Timestamp::from_millis(i64::MAX);

fn answer(text: &str) -> LogEntry {
    let text = text.to_owned();
    LogEntry::AssistantRound {
        round: 1,
        blocks: vec![Block::Text { text }].into(),
        intents: Default::default(),
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage::new(10, 20),
        tries: RoundAttempts {
            model_ref: "scripted/x".to_owned(),
            requested_model_ref: None,
            started_at: at(0),
            duration_ms: 2,
            max_attempts: 3,
            failed: Vec::new(),
            context_management: None,
            implausible_usage: None,
            overlap: None,
        },
    }
}

/// The time at which a turn takes place.
fn second(turn: u64) -> Timestamp {
    at(0).plus_millis(turn * 1_000)
}

/// One agent and the turns it has had.
struct House {
    db: Db,
    no: AgentNo,
    scribe: Scribe,
}

impl House {
    fn new() -> Self {
        let scribe = Scribe::new("a");
        let (db, no) = with_agent(&scribe.record);
        Self { db, no, scribe }
    }

    fn commit(&mut self) {
        let decision = self.scribe.decide();
        apply(&mut self.db, self.no, &decision).expect("writes");
    }

    /// Adds a turn of three entries: a message, a round and its brief, which takes its words from the round.
    fn turn(&mut self) -> u64 {
        self.turn_with(None)
    }

    fn turn_with(&mut self, extra: Option<LogEntry>) -> u64 {
        self.turn_of(extra.into_iter().collect())
    }

    fn turn_of(&mut self, extra: Vec<LogEntry>) -> u64 {
        let turn = self.scribe.record.counters.turns + 1;
        self.scribe.record.counters.turns = turn;
        self.scribe.admit(&format!("question {turn}"));
        let seq = self.scribe.record.counters.messages;
        self.scribe
            .shift(seq, QueueStatus::Queued, QueueStatus::Dequeued)
            .log_at(turn, second(turn), took(seq));
        for entry in extra {
            self.scribe.log_at(turn, second(turn), entry);
        }
        self.scribe
            .log_at(turn, second(turn), answer(&format!("answer {turn}")));
        let round = self.scribe.record.counters.log;
        self.scribe.brief_of(turn, BriefText::Round(round)).shift(
            seq,
            QueueStatus::Dequeued,
            QueueStatus::Processed,
        );
        let brief = self.scribe.record.counters.briefs;
        self.scribe.fact(Fact::MessageSettled { seq, brief });
        self.commit();
        turn
    }

    /// Begins a turn that does not end. Returns its first entry.
    fn open_turn(&mut self) -> u64 {
        let turn = self.scribe.record.counters.turns + 1;
        self.scribe.record.counters.turns = turn;
        let first = self.scribe.record.counters.log + 1;
        self.scribe.admit("long work");
        let seq = self.scribe.record.counters.messages;
        let open: OpenTurn = serde_json::from_value(serde_json::json!({
            "run_id": "run_6", "turn_index": turn, "message_seq": seq, "message_id": "msg_6",
            "message_kind": "operator_prompt", "authority": "operator_instruction", "started_at": second(turn),
            "workspace": WorkspaceEntry::agent_home("/agents/a"), "first_entry": first, "rounds": 0,
            "max_rounds": 9, "usage": TokenUsage::new(0, 0), "phase": "calling_model", "effect": 1,
        }))
        .expect("an open turn");
        self.scribe
            .shift(seq, QueueStatus::Queued, QueueStatus::Dequeued)
            .log_at(turn, second(turn), took(seq));
        self.scribe.record.open_turn = Some(open);
        self.commit();
        first
    }

    fn turns(&mut self, count: usize) {
        for _ in 0..count {
            self.turn();
        }
    }

    /// Moves the beginning of the thread to a turn, as a fold does. Each turn has two entries.
    fn fold_before(&mut self, turn: u64) {
        self.scribe.record.thread.from_entry = turn * 2 - 1;
        self.commit();
    }

    /// Moves the beginning of the thread behind everything that is stored.
    fn fold_all(&mut self) {
        self.scribe.record.thread.from_entry = self.scribe.record.counters.log + 1;
        self.commit();
    }

    fn trim(&mut self, rule: HistoryRule) -> Option<HistoryStep> {
        self.db
            .write(|tx| tx.trim_history(&id("a"), rule))
            .expect("trims")
    }

    fn trim_all(&mut self, rule: HistoryRule) -> RemovedHistory {
        let mut removed = RemovedHistory::default();
        while let Some(step) = self.trim(rule) {
            removed += step.removed;
        }
        removed
    }

    fn preview(&self, rule: HistoryRule) -> RemovedHistory {
        let (mut position, mut removed) = (HistoryPosition::default(), RemovedHistory::default());
        while let Some(step) = self
            .db
            .reader()
            .history_step(&id("a"), &position, rule)
            .expect("plans")
        {
            removed += step.removed;
            position.pass(&step);
        }
        removed
    }

    fn messages(&self) -> Vec<u64> {
        let newest = self.scribe.record.counters.messages;
        let held = |seq: &u64| {
            let found = self.db.reader().message(self.no, *seq).expect("reads");
            found.is_some()
        };
        (1..=newest).filter(held).collect()
    }

    /// Positions of the log that are left.
    fn entries(&self) -> Vec<u64> {
        let page = self.transcript(None);
        page.into_iter().map(|(seq, _)| seq).collect()
    }

    fn transcript(&self, after_seq: Option<u64>) -> Vec<(u64, u64)> {
        let query = SeqQuery {
            after_seq,
            limit: 100_000,
            ..SeqQuery::default()
        };
        let page = self.db.reader().transcript_page(self.no, query);
        let page = page.expect("reads");
        page.iter()
            .map(|entry| (entry.seq, entry.turn_index))
            .collect()
    }

    fn briefs(&self) -> Vec<(u64, String)> {
        let found = self.db.reader().briefs(self.no, 100_000).expect("reads");
        found
            .into_iter()
            .map(|brief| (brief.seq, brief.text))
            .collect()
    }
}

/// Turns beside the ones that always stay.
fn spare(count: usize) -> House {
    let mut house = House::new();
    house.turns(HISTORY_MESSAGES_KEPT + count);
    house
}

#[test]
fn the_oldest_turns_go_as_a_prefix_and_the_newest_stay() {
    let mut house = spare(10);
    let removed = house.trim_all(NEEDS_SPACE);
    assert_eq!(
        (removed.turns, removed.entries, removed.messages),
        (10, 20, 10)
    );
    assert_eq!(house.entries(), (21..=276).collect::<Vec<_>>());
    assert_eq!(house.messages(), (11..=138).collect::<Vec<_>>());
    assert_eq!(house.trim(NEEDS_SPACE), None);
    house.turn();
    assert_eq!(house.entries().last(), Some(&278), "positions go on");
}

#[test]
fn an_agent_with_little_history_keeps_it_from_the_budget() {
    let mut house = House::new();
    house.turns(HISTORY_MESSAGES_KEPT - 1);
    assert_eq!(house.trim(NEEDS_SPACE), None);
}

#[test]
fn by_age_only_the_turns_stay_that_the_thread_shows() {
    for (turns, oldest_kept) in [(1, 1), (12, 1), (23, 12), (60, 60), (200, 180)] {
        let mut house = House::new();
        house.turns(usize::try_from(turns).expect("fits"));
        house.fold_before(oldest_kept);
        let removed = house.trim_all(OlderThan(FOREVER));
        assert_eq!(removed.turns, oldest_kept - 1, "{turns}");
        let left = house.transcript(None);
        assert_eq!(left.first().map(|(_, turn)| *turn), Some(oldest_kept));
        let kept: Vec<u64> = (oldest_kept..=turns).collect();
        assert_eq!(house.messages(), kept, "{turns}");
    }
}

#[test]
fn by_age_the_history_that_an_open_turn_shows_stays() {
    let mut house = House::new();
    house.turns(22);
    house.open_turn();
    assert_eq!(house.trim(OlderThan(FOREVER)), None, "the turn shows all");
}

#[test]
fn the_history_that_an_open_turn_shows_stays_however_many_messages_joined_it() {
    let mut house = House::new();
    house.turns(20);
    house.open_turn();
    let turn = house.scribe.record.counters.turns;
    for _ in 0..HISTORY_MESSAGES_KEPT + 12 {
        house.scribe.admit("and another thing");
        let seq = house.scribe.record.counters.messages;
        house
            .scribe
            .shift(seq, QueueStatus::Queued, QueueStatus::Dequeued)
            .log_at(turn, second(turn), took(seq));
        house.commit();
    }
    assert_eq!(house.trim(NEEDS_SPACE), None, "the turn shows all");
    assert_eq!(house.trim(HistoryRule::AllBut(3)), None);
}

#[test]
fn only_turns_that_are_older_than_the_limit_go() {
    let mut house = spare(10);
    house.fold_before(100);
    let removed = house.trim_all(OlderThan(at(4_000)));
    assert_eq!(removed.turns, 3, "the turns of 1, 2 and 3 seconds");
    assert_eq!(house.transcript(None).first(), Some(&(7, 4)));
}

#[test]
fn briefs_keep_the_words_that_they_took_from_removed_entries() {
    let mut house = spare(10);
    let before = house.briefs();
    house.trim_all(NEEDS_SPACE);
    assert_eq!(house.briefs(), before);
    assert_eq!(before[0].1, "answer 1");
    let outcome = house.db.reader().outcome(house.no, 11).expect("reads");
    assert_eq!(outcome.expect("settled").text, "answer 11");
}

#[test]
fn the_oldest_of_many_briefs_go_and_leave_the_index_of_memory() {
    let kept = usize::try_from(BRIEFS_KEPT_PER_AGENT).expect("fits");
    let mut house = House::new();
    house.turns(kept + 5);
    house.fold_all();
    let removed = house.trim_all(OlderThan(at(4_000)));
    assert_eq!(removed.briefs, 3, "those of the turns that went");
    let left = house.briefs();
    assert_eq!(left.first(), Some(&(4, "answer 4".to_owned())));
    let removed = house.trim_all(NEEDS_SPACE);
    assert_eq!(removed.briefs, 2, "the newest stay");
    assert_eq!(house.briefs().len(), kept);
}

#[test]
fn messages_that_are_still_needed_stay_although_their_turns_go() {
    let mut house = House::new();
    house.turns(3);
    house.scribe.admit("still queued");
    house.commit();
    house.turns(HISTORY_MESSAGES_KEPT + 10);
    let agent = house.scribe.record.identity.agent_id.clone();
    let mut item = work_item(&agent, "open");
    let named = house.db.reader().message(house.no, 2).expect("reads");
    item.provenance.message_id = Some(named.expect("is there").envelope.id);
    house.scribe.fact(Fact::WorkItemWritten(Box::new(item)));
    house.scribe.record.operator_seq = Some(3);
    house.commit();
    house.trim_all(NEEDS_SPACE);
    let messages = house.messages();
    assert_eq!(messages[..4], [2, 3, 4, 15], "{messages:?}");
    let open = house.db.reader().queue(house.no).expect("reads");
    assert_eq!(open.pending, 1);
    // The operator has written again, and the turn of the new message has gone too.
    house.scribe.record.operator_seq = Some(20);
    house.turns(20);
    house.trim_all(NEEDS_SPACE);
    let messages = house.messages();
    assert_eq!(messages[..3], [2, 4, 20], "{messages:?}");
}

#[test]
fn many_messages_that_stay_do_not_keep_the_ones_behind_them() {
    let mut house = House::new();
    for _ in 0..300 {
        house.scribe.admit("still queued");
    }
    house.commit();
    house.turns(3);
    house.scribe.record.operator_seq = Some(302);
    house.commit();
    house.turns(HISTORY_MESSAGES_KEPT);
    house.trim_all(NEEDS_SPACE);
    assert_eq!(house.messages()[299..302], [300, 302, 304]);
    // The operator has written again, and only the look at the oldest messages finds the one before.
    house.scribe.record.operator_seq = Some(420);
    house.turns(2);
    house.trim_all(NEEDS_SPACE);
    assert_eq!(house.messages()[299..302], [300, 306, 307]);
}

#[test]
fn a_message_that_stayed_goes_only_if_the_whole_log_was_searched_for_it() {
    let mut house = House::new();
    house.turns(1);
    house.scribe.record.operator_seq = Some(1);
    house.turns(HISTORY_MESSAGES_KEPT);
    house.trim_all(NEEDS_SPACE);
    assert_eq!(house.messages()[..2], [1, 2], "the operator's latest");
    house.turns(1);
    house.fold_all();
    house.open_turn();
    let (turn, seq) = (house.scribe.record.counters.turns, house.messages().len());
    let joins = |house: &mut House, seq: u64, times: usize| {
        for _ in 0..times {
            house.scribe.log_at(turn, second(turn), took(seq));
        }
    };
    joins(&mut house, seq as u64, 5_000);
    joins(&mut house, 1, 1);
    joins(&mut house, seq as u64, HISTORY_MESSAGES_KEPT);
    house.scribe.record.operator_seq = Some(seq as u64);
    house.commit();
    assert!(house.trim_all(NEEDS_SPACE).turns > 0);
    assert_eq!(house.messages()[0], 1, "the open turn names it");
}

#[test]
fn an_open_turn_keeps_its_entries_however_long_ago_it_began() {
    let mut house = spare(5);
    house.fold_all();
    let turn = house.scribe.record.counters.turns + 1;
    let first = house.open_turn();
    for _ in 0..HISTORY_MESSAGES_KEPT + 20 {
        house.scribe.admit("joins");
        let seq = house.scribe.record.counters.messages;
        house
            .scribe
            .shift(seq, QueueStatus::Queued, QueueStatus::Interjected);
        house.scribe.log_at(turn, second(turn), took(seq));
    }
    house.commit();
    let newest = house.entries().last().copied();
    assert_eq!(house.trim_all(NEEDS_SPACE).turns, 5);
    let entries = house.entries();
    let of_turn: Vec<u64> = (first..=newest.unwrap()).collect();
    assert!(entries.ends_with(&of_turn), "{entries:?}");
}

#[test]
fn a_turn_that_is_longer_than_a_step_goes_in_several_commits() {
    let mut house = House::new();
    house.turns(1);
    house.scribe.record.counters.turns += 1;
    for _ in 0..HISTORY_STEP + 10 {
        house.scribe.log_at(2, at(2_000), answer("more"));
    }
    house.commit();
    house.turns(HISTORY_MESSAGES_KEPT);
    let steps: Vec<u64> = std::iter::from_fn(|| house.trim(NEEDS_SPACE))
        .map(|step| step.removed.entries)
        .collect();
    assert_eq!(steps, [2, HISTORY_STEP as u64, 10]);
    assert_eq!(
        house.transcript(None).first().map(|(_, turn)| *turn),
        Some(3)
    );
}

#[test]
fn a_preview_says_what_the_removal_does() {
    let mut house = House::new();
    house.turns(2 * HISTORY_STEP + HISTORY_MESSAGES_KEPT);
    house.scribe.record.operator_seq = Some(7);
    house.scribe.event();
    house.fold_all();
    for rule in [OlderThan(at(100_000)), OlderThan(at(900_000)), NEEDS_SPACE] {
        let preview = house.preview(rule);
        assert!(preview.entries > 0);
        assert_eq!(house.trim_all(rule), preview, "{rule:?}");
    }
    assert!(house.messages().contains(&7));
}

#[test]
fn a_cursor_in_the_kept_part_goes_on_and_one_before_it_can_be_told() {
    let mut house = spare(10);
    house.trim_all(NEEDS_SPACE);
    let (entry, brief) = house.db.reader().oldest_history(house.no).expect("reads");
    assert_eq!((entry, brief), (Some(21), Some(1)));
    assert_eq!(house.transcript(Some(20)).first(), Some(&(21, 11)));
}

#[test]
fn a_store_that_is_opened_between_two_steps_goes_on() {
    let mut house = House::new();
    house.turns(HISTORY_STEP + HISTORY_MESSAGES_KEPT);
    let whole = house.preview(NEEDS_SPACE);
    let mut removed = house.trim(NEEDS_SPACE).expect("a step").removed;
    house.db = Db::from_image(&house.db.image().expect("an image")).expect("starts");
    assert_eq!(house.briefs()[0].1, "answer 1");
    removed += house.trim_all(NEEDS_SPACE);
    assert_eq!(removed, whole);
}
