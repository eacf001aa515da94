//! Reads of turns: outcomes, briefs, history and the transcript.

use crate::samples::{Scribe, at, took};
use crate::{apply, with_agent};
use holon_domain::attempt::{RoundAttempts, TokenUsage};
use holon_domain::block::{Block, ToolCall};
use holon_domain::brief::BriefText;
use holon_domain::decision::Fact;
use holon_domain::log::{FrameRecord, InterjectionBoundary, LogEntry};
use holon_domain::message::Priority;
use holon_domain::model::StopReason;
use holon_domain::needs::{Needs, Part};
use holon_domain::provider::ContextReduction;
use holon_domain::queue::QueueStatus::{Dequeued, Processed, Queued};
use holon_domain::tool::{ToolEnvelope, ToolError, ToolErrorKind};
use holon_domain::transcript::TranscriptKind;
use holon_domain::{CallId, Timestamp, limits};
use holon_store::{AgentNo, Db, Ledger};
use serde_json::json;

fn frame(key: &str) -> LogEntry {
    LogEntry::Frame(FrameRecord {
        prompt_cache_key: key.to_owned(),
        context_fingerprint: format!("print-{key}"),
        stable: "s".to_owned(),
        agent_scoped: "a".to_owned(),
        ..FrameRecord::default()
    })
}

fn said(round: u32, blocks: Vec<Block>) -> LogEntry {
    let tries = RoundAttempts {
        model_ref: "scripted/x".to_owned(),
        requested_model_ref: None,
        started_at: Timestamp::from_millis(5),
        duration_ms: 2,
        max_attempts: 3,
        failed: Vec::new(),
        context_management: None,
        implausible_usage: None,
        overlap: None,
    };
    LogEntry::AssistantRound {
        round,
        blocks: blocks.into(),
        intents: Default::default(),
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage::new(10, 20),
        tries,
    }
}

fn words(text: &str) -> Block {
    Block::Text {
        text: text.to_owned(),
    }
}

/// Writes `turns` finished turns of one message, one frame and one round each. The brief quotes the round.
fn finished_turns(turns: u64) -> (Db, AgentNo, Scribe) {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    for turn in 1..=turns {
        scribe
            .admit(&format!("question {turn}"))
            .shift(turn, Queued, Dequeued);
        scribe
            .log(turn, took(turn))
            .log(turn, frame(&format!("key-{turn}")));
        scribe.log(turn, said(1, vec![words(&format!("answer {turn}"))]));
        let round = scribe.record.counters.log;
        scribe
            .brief(BriefText::Round(round))
            .shift(turn, Dequeued, Processed);
        let brief = scribe.record.counters.briefs;
        scribe.fact(Fact::MessageSettled { seq: turn, brief });
        apply(&mut db, no, &scribe.decide()).expect("writes");
    }
    (db, no, scribe)
}

#[test]
fn briefs_quote_the_round_they_refer_to_and_come_oldest_first() {
    let (db, no, _) = finished_turns(4);
    let texts: Vec<String> = db
        .reader()
        .briefs(no, 2)
        .expect("reads")
        .into_iter()
        .map(|brief| brief.text)
        .collect();
    assert_eq!(texts, ["answer 3", "answer 4"]);
}

#[test]
fn a_brief_that_quotes_no_round_is_an_error_not_an_empty_text() {
    let (mut db, no, mut scribe) = finished_turns(1);
    apply(&mut db, no, &scribe.brief(BriefText::Round(1)).decide()).expect("writes");
    let error = db.reader().briefs(no, 1).expect_err("cannot be read");
    assert!(error.to_string().contains("no assistant round"), "{error}");
}

#[test]
fn an_outcome_is_there_once_its_message_is_settled() {
    let (mut db, no, mut scribe) = finished_turns(1);
    apply(&mut db, no, &scribe.admit("open").decide()).expect("writes");
    let outcome = |seq| {
        db.reader()
            .outcome(no, seq)
            .expect("reads")
            .map(|brief| brief.text)
    };
    assert_eq!(
        (outcome(1), outcome(2), outcome(3)),
        (Some("answer 1".to_owned()), None, None)
    );
}

#[test]
fn a_turn_is_read_from_its_first_entry_on() {
    let (db, no, _) = finished_turns(3);
    let entries = db.reader().turn_entries(no, 7).expect("reads");
    assert_eq!(
        entries.iter().map(|(seq, _)| *seq).collect::<Vec<_>>(),
        [7, 8, 9]
    );
    assert_eq!(entries[0].1, took(3));
    assert_eq!(db.reader().log_entry(no, 7), Ok(Some(took(3))));
    assert_eq!(db.reader().log_entry(no, 99), Ok(None));
}

#[test]
fn the_transcript_shows_every_entry_but_frames_whose_facts_stand_on_their_rounds() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    let call = CallId::from_stored("call_1");
    let asks = ToolCall {
        id: call.clone(),
        name: "ExecCommand".to_owned(),
        input: json!({}),
        provider_id: None,
    };
    scribe
        .admit("do it")
        .admit_as(Priority::Interject, "and this");
    scribe.log(1, took(1)).log(1, frame("key-1"));
    scribe.log(1, said(1, vec![words("I will"), Block::ToolCall(asks)]));
    let done = ToolEnvelope::success("ExecCommand", "ran", json!({ "exit_status": 0 }));
    scribe.log(
        1,
        LogEntry::ToolResult {
            round: 1,
            call_id: call.clone(),
            envelope: done,
            duration_ms: 5,
        },
    );
    let failed = ToolEnvelope::failure(
        "Sleep",
        ToolError::new(ToolErrorKind::SleepNotAlone, "not alone"),
    );
    scribe.log(
        1,
        LogEntry::ToolResult {
            round: 1,
            call_id: call,
            envelope: failed,
            duration_ms: 6,
        },
    );
    scribe.log(
        1,
        LogEntry::Interjection {
            message_seq: 2,
            boundary: InterjectionBoundary::AfterToolResults,
            waits: None,
        },
    );
    scribe.log(
        1,
        LogEntry::ContinuationPrompt {
            text: "go on".to_owned(),
            reason: "max_output_tokens".to_owned(),
        },
    );
    apply(&mut db, no, &scribe.decide()).expect("writes");

    let entries = db.reader().transcript(no, 99).expect("reads");
    let kinds: Vec<TranscriptKind> = entries.iter().map(|entry| entry.kind).collect();
    use TranscriptKind::{AssistantRound, ContinuationPrompt, IncomingMessage, ToolResults};
    assert_eq!(
        kinds,
        [
            IncomingMessage,
            AssistantRound,
            ToolResults,
            ToolResults,
            IncomingMessage,
            ContinuationPrompt
        ]
    );
    assert_eq!(
        entries.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
        [1, 3, 4, 5, 6, 7]
    );
    assert_eq!(entries[0].data["message"]["body"]["text"], "do it");
    assert_eq!(
        entries[0].related_message_id.as_ref().map(|id| id.as_str()),
        Some("msg_1")
    );
    let round = &entries[1];
    assert_eq!(
        (round.input_tokens, round.output_tokens, round.round),
        (Some(10), Some(20), Some(1))
    );
    assert_eq!(round.stop_reason.as_deref(), Some("end_turn"));
    assert_eq!(round.data["prompt_cache_key"], "key-1");
    assert_eq!(round.data["requested_model"], "scripted/x");
    assert_eq!(round.data["fallback_active"], false);
    assert_eq!(round.data.get("provider_cache_usage"), None);
    assert_eq!(round.data["blocks"][0]["text"], "I will");
    assert_eq!(entries[2].data["results"][0]["result"]["exit_status"], 0);
    assert_eq!(entries[2].data["results"][0]["status"], "success");
    assert_eq!(
        entries[3].data["results"][0]["error"]["kind"],
        "sleep_not_alone"
    );
    assert_eq!(entries[4].data["boundary"], "after_tool_results");
    assert_eq!(entries[5].data["reason"], "max_output_tokens");
    assert_eq!(entries[5].created_at, at(0));
}

#[test]
fn a_page_of_the_transcript_that_starts_inside_a_turn_still_knows_its_frame() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    scribe.admit("x").log(1, took(1)).log(1, frame("key-1"));
    for round in 1..=5 {
        scribe.log(1, said(round, vec![words("more")]));
    }
    apply(&mut db, no, &scribe.decide()).expect("writes");
    let page = db.reader().transcript(no, 2).expect("reads");
    assert_eq!(
        page.iter().map(|entry| entry.seq).collect::<Vec<_>>(),
        [6, 7]
    );
    assert!(
        page.iter()
            .all(|entry| entry.data["prompt_cache_key"] == "key-1")
    );
    assert_eq!(db.reader().transcript(no, 0), Ok(Vec::new()));
}

#[test]
fn private_agents_are_not_listed_and_the_rest_come_by_name_with_their_queues() {
    let mut db = Db::in_memory().expect("opens");
    for name in ["c", "a", "hidden", "b"] {
        let mut scribe = Scribe::new(name);
        if name == "hidden" {
            scribe.record.settings.identity.visibility = holon_domain::agent::Visibility::Private;
        }
        let no = db
            .write(|tx| tx.create_agent(&scribe.record))
            .expect("creates");
        apply(&mut db, no, &scribe.admit("x").decide()).expect("writes");
    }
    let listed = db.reader().agents().expect("reads");
    let names: Vec<(&str, u64)> = listed
        .iter()
        .map(|listed| (listed.agent_id.as_str(), listed.pending))
        .collect();
    assert_eq!(names, [("a", 1), ("b", 1), ("c", 1)]);
}

#[test]
fn a_round_that_a_fallback_answered_shows_the_model_that_was_asked_for_and_the_cache() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    let LogEntry::AssistantRound { tries, usage, .. } = said(1, vec![words("hi")]) else {
        panic!("a round");
    };
    let round = LogEntry::AssistantRound {
        round: 1,
        blocks: vec![words("hi")].into(),
        intents: Default::default(),
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage {
            cache_read_tokens: 6,
            cache_write_tokens: 2,
            ..usage
        },
        tries: RoundAttempts {
            requested_model_ref: Some("first/y".to_owned()),
            context_management: Some(ContextReduction {
                cleared_tool_uses: 3,
                cleared_input_tokens: 900,
                compactions: 0,
            }),
            ..tries
        },
    };
    scribe.admit("x").log(1, took(1)).log(1, round);
    apply(&mut db, no, &scribe.decide()).expect("writes");
    let shown = db.reader().transcript(no, 1).expect("reads");
    let data = &shown[0].data;
    assert_eq!(data["requested_model"], "first/y");
    assert_eq!(data["active_model"], "scripted/x");
    assert_eq!(data["fallback_active"], true);
    assert_eq!(data["provider_cache_usage"]["read_input_tokens"], 6);
    assert_eq!(data["provider_cache_usage"]["creation_input_tokens"], 2);
    assert_eq!(
        data["context_management"],
        json!({"cleared_tool_uses": 3, "cleared_input_tokens": 900})
    );
}

#[test]
fn the_labels_of_a_message_are_read_without_it_and_are_none_once_it_cannot_be_read() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    apply(&mut db, no, &scribe.admit("x").decide()).expect("writes");
    let labels = db.reader().message_labels(no, 1).expect("reads");
    let labels = labels.expect("there is one");
    assert_eq!(labels.message_id.as_str(), "msg_1");
    assert_eq!(labels.delivery_surface.transport(), "http");
    assert_eq!(db.reader().message_labels(no, 2), Ok(None));
}

#[test]
fn the_prompts_that_wait_are_found_in_the_order_they_are_taken_and_no_more_than_are_told_of() {
    let mut scribe = Scribe::new("a");
    let (mut db, no) = with_agent(&scribe.record);
    scribe.admit("first");
    scribe.admit_as(Priority::Next, "before it");
    for _ in 0..2 * limits::QUEUED_PROMPTS {
        scribe.admit("more");
    }
    apply(&mut db, no, &scribe.decide()).expect("writes");
    let needs = Needs {
        queued_prompts: true,
        ..Needs::default()
    };
    let loaded = db.write(|tx| tx.load(no, &needs)).expect("loads");
    let Part::Loaded(prompts) = loaded.queued_prompts else {
        panic!("they were asked for");
    };
    let seqs: Vec<u64> = prompts.iter().map(|prompt| prompt.seq).collect();
    assert_eq!(seqs[..3], [2, 1, 3]);
    assert_eq!(seqs.len(), limits::QUEUED_PROMPTS);
}
