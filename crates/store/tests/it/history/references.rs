//! What rows name goes with the last row that names it: texts of frames, output files of commands, and briefs.

use super::{FOREVER, House, NEEDS_SPACE, answer};
use crate::samples::{delivery_summary, id, work_item};
use holon_domain::brief::BriefText;
use holon_domain::decision::Fact;
use holon_domain::limits::HISTORY_MESSAGES_KEPT;
use holon_domain::log::LogEntry;
use holon_domain::storage::HistoryRule::OlderThan;
use holon_domain::storage::RemovedHistory;
use holon_domain::task::TaskStatus;
use holon_domain::tool::ToolEnvelope;
use holon_domain::work_item::{ReportText, WorkItemState};
use holon_domain::{CallId, DeliverySummaryId};
use holon_store::Db;

fn body(hash: &str) -> String {
    format!("the text of {hash}")
}

/// A frame that names these two texts.
fn frame(stable: &str, agent_scoped: &str) -> LogEntry {
    let frame = serde_json::json!({
        "entry": "frame", "prompt_cache_key": "k", "context_fingerprint": "f",
        "stable": stable, "agent_scoped": agent_scoped,
    });
    serde_json::from_value(frame).expect("a frame")
}

/// The result of a command whose output is in a file.
fn result(name: &str) -> LogEntry {
    LogEntry::ToolResult {
        round: 1,
        call_id: CallId::from_stored("call_1"),
        envelope: ToolEnvelope::success(
            "ExecCommand",
            "done",
            serde_json::json!({ "artifacts": [{ "path": format!("/h/task-output/{name}.log") }] }),
        ),
        duration_ms: 1,
    }
}

impl House {
    /// Adds a turn whose frame names two texts.
    fn framed_turn(&mut self, stable: &str, agent_scoped: &str) {
        // The message of the turn stands before its frame.
        let entry = self.scribe.record.counters.log + 2;
        for hash in [stable, agent_scoped] {
            self.scribe.fact(Fact::BlobKept {
                hash: hash.to_owned(),
                body: body(hash),
                entry,
            });
        }
        self.turn_with(Some(frame(stable, agent_scoped)));
    }

    /// Moves the beginning of the thread to a turn. Each turn has three entries.
    fn fold_before_turn(&mut self, turn: u64) {
        self.scribe.record.thread.from_entry = turn * 3 - 2;
        self.commit();
    }

    /// Which of these texts are stored.
    fn texts<'a>(&self, hashes: &[&'a str]) -> Vec<&'a str> {
        let mut there = hashes.to_vec();
        there.retain(|hash| self.db.reader().blob(hash).expect("reads").is_some());
        there
    }

    /// Executes SQL on a copy of the database, and goes on with the copy.
    fn alter(&mut self, sql: &str) {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("copy.sqlite3");
        std::fs::write(&path, self.db.image().expect("an image")).expect("writes");
        let copy = rusqlite::Connection::open(&path).expect("opens");
        copy.execute_batch(sql).expect("executes");
        drop(copy);
        let image = std::fs::read(&path).expect("reads");
        self.db = Db::from_image(&image).expect("starts");
    }

    /// Removes everything that may go by age, and holds the sum against a preview.
    fn trim_as_previewed(&mut self) -> RemovedHistory {
        let preview = self.preview(OlderThan(FOREVER));
        let removed = self.trim_all(OlderThan(FOREVER));
        assert_eq!(removed, preview);
        removed
    }
}

#[test]
fn a_text_goes_with_the_last_turn_whose_frame_names_it() {
    let mut house = House::new();
    for texts in ["old", "old", "again", "between", "again"] {
        house.framed_turn("lasting", texts);
    }
    for turn in 6..=60 {
        let hash = if turn % 2 == 0 { "even" } else { "odd" };
        house.framed_turn("lasting", hash);
    }
    house.fold_before_turn(20);
    let all = ["lasting", "old", "again", "between", "even", "odd"];
    assert_eq!(house.texts(&all), all);
    // One turn goes at a time, so that each text is seen to go with its last one.
    let left = |house: &mut House, turns: u64| {
        let removed = house.trim_all(OlderThan(super::second(turns + 1)));
        assert_eq!(removed.turns, 1);
        house.texts(&all)
    };
    assert_eq!(left(&mut house, 1), all);
    let after_two = ["lasting", "again", "between", "even", "odd"];
    assert_eq!(left(&mut house, 2), after_two);
    assert_eq!(
        left(&mut house, 3),
        after_two,
        "a later turn names it again"
    );
    let after_four = ["lasting", "again", "even", "odd"];
    assert_eq!(left(&mut house, 4), after_four);
    let after_five = ["lasting", "even", "odd"];
    assert_eq!(left(&mut house, 5), after_five);
    let removed = house.trim_as_previewed();
    assert!(removed.turns > 0);
    assert_eq!(house.texts(&all), after_five, "kept turns name them");
}

#[test]
fn the_sizes_of_texts_that_go_are_counted_as_a_preview_counts_them() {
    const TURNS: usize = 1_200;
    let text = |turn: usize| format!("text of turn {turn}");
    let (mut bare, mut framed) = (House::new(), House::new());
    for turn in 1..=TURNS {
        bare.turn_with(Some(frame("lasting", &text(turn))));
        framed.framed_turn("lasting", &text(turn));
    }
    let preview = framed.preview(NEEDS_SPACE);
    let gone = TURNS - HISTORY_MESSAGES_KEPT;
    let bytes = (1..=gone).map(|turn| body(&text(turn)).len() as u64);
    let expected = bare.preview(NEEDS_SPACE).row_bytes + bytes.sum::<u64>();
    assert_eq!(preview.row_bytes, expected);
    assert_eq!(framed.trim_all(NEEDS_SPACE), preview);
    let (first, last_gone, first_kept) = (text(1), text(gone), text(gone + 1));
    let there = framed.texts(&["lasting", &first, &last_gone, &first_kept]);
    assert_eq!(there, ["lasting", &first_kept]);
}

#[test]
fn a_text_that_another_agent_names_stays() {
    let mut house = House::new();
    let mut other = crate::samples::Scribe::new("b");
    let no = house
        .db
        .write(|tx| tx.create_agent(&other.record))
        .expect("creates");
    let kept = Fact::BlobKept {
        hash: "shared".to_owned(),
        body: body("shared"),
        entry: 1,
    };
    crate::apply(&mut house.db, no, &other.fact(kept).decide()).expect("writes");
    house.framed_turn("shared", "own");
    house.turns(100);
    house.fold_all();
    house.trim_as_previewed();
    assert_eq!(house.texts(&["shared", "own"]), ["shared"]);
}

#[test]
fn a_text_of_an_earlier_build_goes_when_all_entries_of_that_time_are_gone() {
    let mut house = House::new();
    house.framed_turn("lasting", "old");
    house.framed_turn("lasting", "older build");
    house.alter("UPDATE blob_refs SET newest = NULL");
    for _ in 0..50 {
        house.framed_turn("lasting", "new");
    }
    house.fold_before_turn(30);
    house.trim_as_previewed();
    let all = ["lasting", "old", "older build", "new"];
    assert_eq!(house.texts(&all), all, "their last use is not known");
    for _ in 0..50 {
        house.framed_turn("lasting", "new");
    }
    house.fold_before_turn(80);
    house.trim_as_previewed();
    assert_eq!(house.texts(&all), ["lasting", "new"]);
}

#[test]
fn output_files_are_named_for_removal_unless_a_task_still_has_them() {
    let mut house = House::new();
    house.turn_with(Some(result("task_gone")));
    house.turn_with(Some(result("task_kept")));
    house.scribe.task("kept", TaskStatus::Completed);
    house.commit();
    house.turns(HISTORY_MESSAGES_KEPT);
    let step = house.trim(NEEDS_SPACE).expect("a step");
    assert_eq!(step.outputs, ["task_gone"]);
}

#[test]
fn an_output_file_that_a_kept_turn_names_stays_until_that_turn_goes() {
    for is_of_earlier_build in [false, true] {
        let mut house = House::new();
        house.turn_of(vec![result("task_1"), result("task_2")]);
        house.turns(3);
        house.turn_of(vec![result("task_2"), answer("looked at it again")]);
        if is_of_earlier_build {
            house.alter("DELETE FROM output_refs");
        }
        house.turns(40);
        house.fold_all();
        let outputs = |house: &mut House, turns: u64| -> Vec<String> {
            let rule = OlderThan(super::second(turns + 1));
            let preview = house
                .db
                .reader()
                .history_step(&id("a"), &Default::default(), rule);
            let step = house.trim(rule).expect("a step");
            assert_eq!(preview.expect("plans").expect("a step"), step);
            step.outputs
        };
        assert_eq!(outputs(&mut house, 4), ["task_1"]);
        assert_eq!(outputs(&mut house, 5), ["task_2"]);
    }
}

#[test]
fn an_output_file_goes_when_its_task_is_forgotten_after_its_turn() {
    let mut house = House::new();
    house.turn_with(Some(result("task_kept")));
    house.scribe.task("kept", TaskStatus::Completed);
    house.commit();
    house.turns(60);
    house.fold_all();
    let rule = |turn| OlderThan(super::second(turn));
    let step = house.trim(rule(10)).expect("a step");
    assert!(step.outputs.is_empty(), "{step:?}");
    house.alter("DELETE FROM tasks");
    let step = house.trim(rule(20)).expect("a step");
    assert_eq!(step.outputs, ["task_kept"]);
    let step = house.trim(rule(30)).expect("a step");
    assert!(step.outputs.is_empty(), "{step:?}");
}

#[test]
fn a_brief_that_cannot_be_read_is_passed_over_and_named() {
    let mut house = House::new();
    house.turns(HISTORY_MESSAGES_KEPT + 20);
    house.alter("UPDATE briefs SET row = 'x' WHERE seq IN (1, 6, 10, 11, 140)");
    let preview = house.preview(NEEDS_SPACE);
    let step = house.trim(NEEDS_SPACE).expect("a step");
    assert_eq!(step.unreadable_briefs, [1, 6, 10, 11]);
    assert_eq!(step.removed, preview);
    assert_eq!(step.removed.turns, 20);
    for brief in [2, 7, 12, 20] {
        let found = house.db.reader().outcome(house.no, brief).expect("reads");
        assert!(found.is_none(), "its message is gone");
    }
    house.alter("DELETE FROM briefs WHERE row = 'x'");
    let words: Vec<String> = house.briefs().into_iter().map(|(_, text)| text).collect();
    assert!(words.contains(&"answer 2".to_owned()), "{words:?}");
    assert!(words.contains(&"answer 20".to_owned()), "{words:?}");
}

impl House {
    /// Completes an item in a turn of its own, with the words of its round as the report. Returns the turn.
    fn completes(&mut self, name: &str) -> u64 {
        let turn = self.turn();
        let mut item = work_item(&id("a"), name);
        let round = self.scribe.record.counters.log;
        let summary = delivery_summary(&item, ReportText::Round(round));
        item.state = WorkItemState::Completed;
        item.delivery_summary_id = Some(summary.id.clone());
        self.scribe
            .brief_of(turn, BriefText::Report(summary.id.clone()))
            .fact(Fact::DeliverySummaryWritten(Box::new(summary)))
            .fact(Fact::WorkItemWritten(Box::new(item)));
        self.commit();
        turn
    }

    /// Returns the text of a report, and true if the delivery summary holds it itself.
    fn report(&self, name: &str) -> Option<(String, bool)> {
        let summary_id = DeliverySummaryId::from_stored(format!("dsum_{name}"));
        let reader = self.db.reader().passing_over();
        let row = reader.delivery_summary(self.no, &summary_id);
        let row = row.expect("reads")?;
        let is_own = matches!(row.text, ReportText::Words(_));
        let text = reader.report_text(self.no, row.text).expect("reads");
        Some((text?, is_own))
    }
}

#[test]
fn a_report_gets_a_copy_of_its_words_when_its_round_goes_and_outlives_its_brief() {
    let mut house = House::new();
    house.turns(3);
    let turn = house.completes("old");
    house.turns(HISTORY_MESSAGES_KEPT + 20);
    let newer = house.completes("new");
    let words = |turn| format!("answer {turn}");
    assert_eq!(house.report("old"), Some((words(turn), false)));
    let preview = house.preview(NEEDS_SPACE);
    assert_eq!(house.trim_all(NEEDS_SPACE), preview);
    assert_eq!(house.report("old"), Some((words(turn), true)));
    assert_eq!(house.report("new"), Some((words(newer), false)));
    let told: Vec<String> = house.briefs().into_iter().map(|(_, text)| text).collect();
    // The outcome of the turn and the brief about the item.
    assert_eq!(told.iter().filter(|text| **text == words(turn)).count(), 2);
    house.turns(1_010);
    house.trim_all(NEEDS_SPACE);
    let told: Vec<String> = house.briefs().into_iter().map(|(_, text)| text).collect();
    assert!(!told.contains(&words(turn)), "its briefs are gone");
    assert_eq!(house.report("old"), Some((words(turn), true)));
}

#[test]
fn a_report_that_cannot_be_read_keeps_no_history() {
    let mut house = House::new();
    house.completes("damaged");
    house.completes("wordless");
    house.turns(HISTORY_MESSAGES_KEPT + 20);
    house.alter("UPDATE delivery_summaries SET row = 'x' WHERE summary_id = 'dsum_damaged'");
    house.alter("UPDATE log SET entry = 'x' WHERE seq = 4");
    let removed = house.trim_all(NEEDS_SPACE);
    assert_eq!(removed.turns, 22);
    assert_eq!(house.report("damaged"), None);
    assert_eq!(house.report("wordless"), None);
}

#[test]
fn unreadable_briefs_among_the_oldest_of_many_go_with_their_neighbours() {
    let mut house = House::new();
    house.turns(1_010);
    house.alter("UPDATE briefs SET row = 'x' WHERE seq IN (1, 5, 10)");
    let preview = house.preview(NEEDS_SPACE);
    let removed = house.trim_all(NEEDS_SPACE);
    assert_eq!(removed, preview);
    assert_eq!(removed.briefs, 10);
    let (_, brief) = house.db.reader().oldest_history(house.no).expect("reads");
    assert_eq!(brief, Some(11));
}
