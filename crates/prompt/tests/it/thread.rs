//! The thread over whole lives of an agent: what each request begins with, what a fold keeps, and what a day costs.
//!
//! A life is played as the runtime plays it: frames are built and rebuilt, answers are committed to a log, and an ended
//! turn is rendered from its log alone.

use crate::fixture::{Scene, at, channel, kept, later, operator, tick, tool};
use crate::long_turn::{Turn, command, queued};
use crate::work::busy;
use holon_domain::WorkItemId;
use holon_domain::attempt::TokenUsage;
use holon_domain::block::{Block, OpaqueData};
use holon_domain::log::{FrameRecord, LogEntry};
use holon_domain::message::MessageEnvelope;
use holon_domain::model::{ConversationItem, StopReason};
use holon_domain::text::estimate_tokens;
use holon_domain::thread::{FoldCause, ThreadBase, ThreadFold, ThreadState};
use holon_domain::tool_set::ToolSet;
use holon_prompt::thread::{FoldTarget, Marks, PastTurn, ShownTurn, Thread, render};
use holon_prompt::{BuiltFrame, build, rebuild};
use proptest::prelude::*;
use serde_json::json;
use std::collections::HashMap;
use std::sync::Arc;

/// Room of a turn's conversation, in estimated tokens.
const ROOM: usize = 50_000;

/// A request as a provider sees it behind the tools: texts and items in their order.
#[derive(Debug, Clone, PartialEq)]
struct Request {
    pieces: Vec<String>,
    is_folded: bool,
}

impl Request {
    fn text(&self) -> String {
        self.pieces.join("\n")
    }

    fn tokens(&self) -> usize {
        self.pieces.iter().map(|piece| estimate_tokens(piece)).sum()
    }

    /// Returns the tokens at the beginning that equal those of an earlier request.
    fn shared_with(&self, before: &Self) -> usize {
        let both = self.pieces.iter().zip(&before.pieces);
        let shared = both.take_while(|(now, then)| now == then);
        shared.map(|(piece, _)| estimate_tokens(piece)).sum()
    }

    fn extends(&self, before: &Self) -> bool {
        self.pieces.starts_with(&before.pieces)
    }
}

struct Ended {
    turn_index: u64,
    first_entry: u64,
    entries: Vec<Arc<LogEntry>>,
    messages: HashMap<u64, MessageEnvelope>,
}

/// One turn that is to be played.
#[derive(Debug, Clone)]
struct Plan {
    message: MessageEnvelope,
    /// Output of each command, a round for each.
    outputs: Vec<String>,
    /// Message of the operator that joins after the first round.
    joins: Option<MessageEnvelope>,
    answer: String,
}

fn plan(message: MessageEnvelope, outputs: &[&str], answer: &str) -> Plan {
    Plan {
        message,
        outputs: outputs.iter().map(|text| (*text).to_owned()).collect(),
        joins: None,
        answer: answer.to_owned(),
    }
}

/// An agent from its first turn on.
struct Life {
    scene: Scene,
    state: ThreadState,
    fold: Option<ThreadFold>,
    base: Option<ThreadBase>,
    ended: Vec<Ended>,
    log: u64,
    marks: Marks,
    focus: Option<WorkItemId>,
}

impl Life {
    fn new(scene: Scene, window: u32) -> Self {
        Self {
            scene,
            state: ThreadState::default(),
            fold: None,
            base: None,
            ended: Vec::new(),
            log: 0,
            marks: Marks::of(window, None),
            focus: None,
        }
    }

    fn thread(&self) -> Thread {
        let shown = self
            .ended
            .iter()
            .filter(|turn| turn.first_entry >= self.state.from_entry)
            .map(|turn| self.rendered(turn));
        Thread::new(&self.state, self.fold.clone(), shown.collect())
    }

    fn rendered(&self, turn: &Ended) -> ShownTurn {
        render(&PastTurn {
            agent: &self.scene.agent,
            turn_index: turn.turn_index,
            first_entry: turn.first_entry,
            began_at: at(0),
            entries: &turn.entries,
            messages: &turn.messages,
            receipt: holon_tools::receipt,
            entered_guidance: holon_tools::use_workspace::entered_guidance,
        })
    }

    /// Plays a turn and returns its requests.
    fn play(&mut self, plan: &Plan) -> Vec<Request> {
        let turn_index = u64::try_from(self.ended.len()).unwrap() + 1;
        let first_entry = self.log + 1;
        let mut thread = self.thread();
        if thread.tokens() > self.marks.high {
            let target = FoldTarget {
                cause: FoldCause::HighMark,
                tokens: self.marks.low,
                recap_tokens: self.marks.recap_floor(),
                turn_index,
            };
            thread.fold(target, self.focus.as_ref());
        }
        self.scene.current = plan.message.clone();
        self.scene.base = self.base.clone().filter(|_| !thread.is_folded_now());
        let built = build(&self.scene.input());
        let mut turn = Turn::opened_by(turn_index * 10);
        turn.messages.insert(turn_index * 10, plan.message.clone());
        let mut requests = Vec::new();
        self.ask(&thread, &built, &mut turn, &mut requests);
        self.settle(thread, &built, &mut turn, turn_index, first_entry);
        for (round, output) in plan.outputs.iter().enumerate() {
            turn.round("I look.", command(output, ""));
            if round == 0
                && let Some(joins) = &plan.joins
            {
                turn.queued.push(queued(turn_index * 10 + 1, joins.clone()));
            }
            let again = rebuild(&later(&self.scene, &built), kept(&built));
            assert_eq!(again.frame, built.frame, "later requests repeat the frame");
            let thread = self.thread();
            self.ask(&thread, &again, &mut turn, &mut requests);
        }
        turn.rounds += 1;
        let answer = Block::Text {
            text: plan.answer.clone(),
        };
        turn.entries.push(Arc::new(answered(turn.rounds, answer)));
        self.log += u64::try_from(turn.entries.len()).unwrap();
        self.ended.push(Ended {
            turn_index,
            first_entry,
            entries: turn.entries,
            messages: turn.messages,
        });
        requests
    }

    fn ask(
        &self,
        thread: &Thread,
        built: &BuiltFrame,
        turn: &mut Turn,
        requests: &mut Vec<Request>,
    ) {
        let conversation = turn.built(ROOM);
        assert_eq!(conversation.compaction, None, "the room is ample");
        turn.commit(&conversation);
        let json = |item: &ConversationItem| serde_json::to_string(item).unwrap();
        let user = |text: &str| {
            json(&ConversationItem::User {
                text: text.to_owned(),
            })
        };
        let system = built
            .frame
            .system_blocks
            .iter()
            .map(|block| user(&block.text));
        let earlier = thread.shown_turns();
        let earlier = earlier.iter().flat_map(|turn| turn.items.iter().map(json));
        let context = built
            .frame
            .context_blocks
            .iter()
            .map(|block| user(&block.text));
        requests.push(Request {
            pieces: system
                .chain(earlier)
                .chain(context)
                .chain(conversation.items.iter().map(json))
                .collect(),
            is_folded: thread.is_folded_now(),
        });
    }

    /// Commits what the first request of a turn was the first to hold.
    fn settle(
        &mut self,
        thread: Thread,
        built: &BuiltFrame,
        turn: &mut Turn,
        turn_index: u64,
        first_entry: u64,
    ) {
        if let Some(mut fold) = thread.into_new_fold() {
            fold.from_entry = fold.from_entry.min(first_entry);
            self.state.fold = Some(self.log + 2);
            self.state.from_entry = fold.from_entry;
            self.state.sealed_from = turn_index;
            turn.entries
                .push(Arc::new(LogEntry::ThreadFold(fold.clone())));
            self.fold = Some(fold);
        }
        self.base = Some(ThreadBase {
            agent_scoped: built.agent_scoped.clone(),
            agent_parts: built.agent_parts.clone(),
            surroundings: built.surroundings.clone(),
            told: built.told.clone(),
        });
        turn.entries.push(Arc::new(LogEntry::Frame(FrameRecord {
            work: built.work.clone(),
            waits: self.scene.current.waits.clone(),
            cuts: built.cuts.clone(),
            opened_at: Some(self.scene.now),
            changes: built.changes.clone(),
            now: built.now.clone(),
            tasks: built.tasks.clone(),
            told: built.told.clone(),
            ..FrameRecord::default()
        })));
    }
}

fn answered(round: u32, answer: Block) -> LogEntry {
    LogEntry::AssistantRound {
        round,
        blocks: Arc::new(vec![answer]),
        intents: Arc::default(),
        stop_reason: StopReason::EndTurn,
        usage: TokenUsage::new(1, 1),
        tries: serde_json::from_value(json!({
            "model_ref": "a/b", "started_at": at(0), "duration_ms": 1,
        }))
        .unwrap(),
    }
}

fn with_tools(mut scene: Scene) -> Scene {
    let tools = (0..20).map(|n| {
        let mut tool = tool(&format!("Tool{n}"));
        tool.description = words(n, 120);
        tool
    });
    scene.tools = ToolSet::new(tools.collect());
    scene
}

/// Text of about so many tokens that differs by its number.
fn words(number: u32, tokens: usize) -> String {
    let sentence = format!("Part {number} of the module reads its settings once. ");
    sentence.repeat(tokens * 4 / sentence.len() + 1)
}

#[test]
fn the_output_of_a_command_is_in_the_request_of_the_next_turn() {
    let mut life = Life::new(Scene::new(), 200_000);
    let failed = "test parser::empty ... FAILED\n3 passed; 1 failed";
    life.play(&plan(
        operator(1, "Run the tests."),
        &[failed],
        "One test fails.",
    ));
    let requests = life.play(&plan(operator(2, "Which test failed?"), &[], "It is."));
    let text = requests[0].text();
    for shown in [
        "Run the tests.",
        "parser::empty ... FAILED",
        "One test fails.",
        "Which test failed?",
    ] {
        assert_eq!(text.matches(shown).count(), 1, "{shown} once in {text}");
    }
}

#[test]
fn every_request_begins_with_the_one_before_it_whatever_changes() {
    let mut life = Life::new(with_tools(busy()), 200_000);
    let mut before: Option<Request> = None;
    for turn in 1..=12 {
        let message = match turn % 3 {
            0 => channel(turn, &words(turn, 30)),
            1 => operator(turn, &words(turn, 40)),
            _ => tick(turn, "Go on."),
        };
        if turn == 4 {
            life.scene.agent.settings.workspace.cwd = "/project/sub".into();
        }
        if turn == 7 {
            life.scene.guidance.instructions.files = crate::instructions::three();
        }
        if turn % 2 == 0 {
            let item = life.scene.work.current.as_mut().unwrap();
            item.objective.push_str(" and more");
        }
        let outputs = vec![words(turn, 200); (turn % 4) as usize];
        let plan = Plan {
            message,
            outputs,
            joins: (turn % 5 == 1).then(|| operator(turn + 100, "Mind the docs.")),
            answer: words(turn, 60),
        };
        for request in life.play(&plan) {
            if let Some(before) = &before {
                assert!(request.extends(before), "turn {turn}");
            }
            before = Some(request);
        }
    }
    let last = before.unwrap().text();
    assert_eq!(last.matches("cwd: /project/sub").count(), 1, "told once");
    assert_eq!(last.matches("Mind the docs.").count(), 3, "as it arrived");
}

#[test]
fn most_of_a_days_input_is_a_prefix_of_the_request_before() {
    for rounds in [0, 4] {
        let mut life = Life::new(with_tools(busy()), 200_000);
        let (mut input, mut cached) = (0, 0);
        let mut before: Option<Request> = None;
        for turn in 1..=50_u32 {
            let item = life.scene.work.current.as_mut().unwrap();
            item.objective = format!("Do part {turn}");
            let message = match turn % 5 {
                0 => tick(turn, "Go on."),
                1 => channel(turn, &words(turn, 60)),
                _ => operator(turn, &words(turn, 40 + turn as usize % 7 * 30)),
            };
            let outputs = vec![words(turn, 400); rounds];
            let plan = Plan {
                message,
                outputs,
                joins: None,
                answer: words(turn, 120),
            };
            for request in life.play(&plan) {
                if let Some(before) = &before {
                    input += request.tokens();
                    cached += request.shared_with(before);
                }
                before = Some(request);
            }
        }
        let percent = cached * 100 / input;
        assert!(percent >= 90, "{percent} % with {rounds} rounds");
    }
}

#[test]
fn a_fold_keeps_what_was_asked_and_answered_and_marks_it_as_done() {
    let mut life = Life::new(Scene::new(), 20_000);
    let mut folds = 0;
    for turn in 1..=30_u32 {
        let asked = format!("Question {turn}: {}", words(turn, 80));
        let output = format!("detail-{turn} {}", words(turn, 900));
        let plan = plan(
            operator(turn, &asked),
            &[output.as_str()],
            &format!("Answer {turn}."),
        );
        let requests = life.play(&plan);
        let first = &requests[0];
        folds += u32::from(first.is_folded);
        let text = first.text();
        assert!(text.contains(&asked), "the newest words are whole");
        if turn > 1 {
            let last = turn - 1;
            assert!(text.contains(&format!("Answer {last}.")), "{turn}");
            assert!(text.contains(&format!("Question {last}:")), "{turn}");
        }
        let thread = life.thread().tokens();
        assert!(thread <= life.marks.high + 2_500, "{thread} tokens");
    }
    assert!((3..15).contains(&folds), "{folds} folds");
    let fold = life.fold.clone().unwrap();
    assert!(fold.tokens_after < fold.tokens_before, "{fold:?}");
    let recap = holon_prompt::thread::fold_text(&fold);
    assert!(
        recap.contains(": done") && recap.contains("Did:\n- round 1:"),
        "{recap}"
    );
    assert!(recap.contains("do not do it again"), "{recap}");
}

#[test]
fn a_fold_that_leaves_turns_no_room_still_tells_what_an_operator_asked_for() {
    let mut life = Life::new(Scene::new(), 200_000);
    for turn in 1..=8 {
        let asked = format!("Standing order {turn}: never push.");
        life.play(&plan(
            operator(turn, &asked),
            &[&words(turn, 900)],
            "Noted.",
        ));
    }
    let mut thread = life.thread();
    let target = FoldTarget {
        cause: FoldCause::Room,
        tokens: 0,
        recap_tokens: life.marks.recap_floor(),
        turn_index: 9,
    };
    assert!(thread.fold(target, None));
    let text = serde_json::to_string(&thread.shown_turns()).unwrap();
    for turn in 1..=8 {
        let order = format!("Standing order {turn}: never push.");
        assert!(text.contains(&order), "{text}");
    }
}

#[test]
fn room_that_a_large_turn_leaves_is_filled_with_long_recaps() {
    let mut life = Life::new(Scene::new(), 200_000);
    for turn in 1..=6 {
        let long = format!("It is done, because reason-{turn}. {}", words(turn, 300));
        life.play(&plan(operator(turn, "Go on."), &[], &long));
    }
    // As large as the whole target, so that it is folded too.
    life.play(&plan(
        operator(7, "Print it."),
        &[&words(7, 9_000)],
        "Printed.",
    ));
    let mut thread = life.thread();
    let target = FoldTarget {
        cause: FoldCause::Operator,
        tokens: 6_000,
        recap_tokens: 0,
        turn_index: 8,
    };
    assert!(thread.fold(target, None));
    let fold = thread.into_new_fold().expect("a fold");
    let whole = fold.turns.iter().filter(|turn| turn.text.is_some());
    assert_eq!(whole.count(), 7, "{fold:?}");
}

#[test]
fn a_fold_drops_sealed_blocks_and_no_text() {
    let mut life = Life::new(Scene::new(), 200_000);
    let sealed = Block::Reasoning {
        text: String::new(),
        opaque: Some(OpaqueData {
            lineage: "a/b".to_owned(),
            data: "sealed-data".to_owned(),
        }),
    };
    for turn in 1..=4_u32 {
        life.play(&plan(
            operator(turn, &words(turn, 50)),
            &[],
            &format!("Answer {turn}."),
        ));
        let ended = life.ended.last_mut().unwrap();
        let LogEntry::AssistantRound { blocks, .. } =
            Arc::make_mut(ended.entries.last_mut().unwrap())
        else {
            panic!("an answer");
        };
        Arc::make_mut(blocks).insert(0, sealed.clone());
    }
    let shown = |life: &Life| serde_json::to_string(&life.thread().shown_turns()).unwrap();
    assert_eq!(shown(&life).matches("sealed-data").count(), 4);
    life.state.sealed_from = 4;
    let text = shown(&life);
    assert_eq!(text.matches("sealed-data").count(), 1);
    assert!((1..=4).all(|turn| text.contains(&format!("Answer {turn}."))));
}

#[test]
fn a_lost_or_refused_turn_is_one_line() {
    let mut life = Life::new(Scene::new(), 200_000);
    life.play(&plan(operator(1, "Poisonous words."), &["out"], "Done."));
    life.play(&plan(operator(2, "Next."), &[], "Done too."));
    life.ended[0].entries.clear();
    life.ended[1].messages.clear();
    let text = life.play(&plan(operator(3, "And now?"), &[], "Yes."))[0].text();
    assert!(
        text.contains("[Turn 1 began with a message that is not shown"),
        "{text}"
    );
    assert!(
        text.contains("[Turn 2 began with a message that is not shown"),
        "{text}"
    );
    assert!(
        !text.contains("Poisonous") && text.contains("Done too."),
        "{text}"
    );
}

#[test]
fn a_pinned_turn_stays_whole_and_a_cleared_thread_says_so() {
    let mut life = Life::new(Scene::new(), 12_000);
    life.play(&plan(
        operator(1, "Remember 4711."),
        &["secret-output"],
        "I will.",
    ));
    life.state.pins = vec![holon_domain::thread::PinnedTurn {
        turn_index: 1,
        first_entry: 1,
        ..Default::default()
    }];
    let mut thread = life.thread();
    let target = FoldTarget {
        cause: FoldCause::Operator,
        tokens: 0,
        recap_tokens: 0,
        turn_index: 2,
    };
    assert!(!thread.fold(target, None), "a pin does not give way");
    for turn in 2..=12 {
        life.play(&plan(
            operator(turn, &words(turn, 300)),
            &[],
            &words(turn, 300),
        ));
    }
    let mut thread = life.thread();
    assert!(thread.fold(
        FoldTarget {
            turn_index: 13,
            ..target
        },
        None
    ));
    let text = serde_json::to_string(&thread.shown_turns()).unwrap();
    assert!(text.contains("secret-output"), "{text}");
    thread.clear(13);
    let text = serde_json::to_string(&thread.shown_turns()).unwrap();
    assert!(
        text.contains("began an empty conversation") && !text.contains("4711"),
        "{text}"
    );
}

#[test]
fn a_turn_whose_pin_was_taken_back_gives_way_to_the_next_fold() {
    let mut life = Life::new(Scene::new(), 60_000);
    for turn in 1..=8 {
        let said = format!("Word-{turn} {}", words(turn, 900));
        life.play(&plan(operator(turn, &said), &[], "Done."));
    }
    let first_entry = |turn: usize| life.ended[turn - 1].first_entry;
    let pinned = |turn: usize, released_in| holon_domain::thread::PinnedTurn {
        turn_index: turn as u64,
        first_entry: first_entry(turn),
        released_in,
        ..Default::default()
    };
    life.fold = Some(ThreadFold {
        last_turn: 4,
        from_entry: first_entry(5),
        ..empty_fold()
    });
    life.state.from_entry = first_entry(5);
    life.state.pins = vec![pinned(1, Some(8)), pinned(2, None), pinned(3, Some(7))];
    let shown = [1, 2, 3, 5, 6, 7, 8].map(|turn: usize| life.rendered(&life.ended[turn - 1]));
    let mut thread = Thread::new(&life.state, life.fold.clone(), shown.to_vec());
    // Turn 1 was released while turn 8 was the newest, so turn 8 itself still keeps it.
    let target = |turn_index| FoldTarget {
        cause: FoldCause::Operator,
        tokens: 1_000_000,
        recap_tokens: 0,
        turn_index,
    };
    let whole = |thread: &Thread| -> Vec<u64> {
        let shown = thread.shown_turns();
        shown.iter().filter_map(|turn| turn.turn_index).collect()
    };
    assert!(thread.fold(target(8), None));
    assert_eq!(whole(&thread), [1, 2, 5, 6, 7, 8]);
    let fold = thread.clone().into_new_fold().expect("a fold");
    assert_eq!(
        (fold.from_entry, fold.last_turn),
        (first_entry(5), 4),
        "the thread begins where it began"
    );
    assert!(thread.fold(target(9), None));
    assert_eq!(whole(&thread), [2, 5, 6, 7, 8]);
    let fold = thread.into_new_fold().expect("a fold");
    let listed: Vec<u64> = fold.turns.iter().map(|turn| turn.turn_index).collect();
    assert_eq!(listed, [1, 3], "the recap lists them in their order");
    assert_eq!((fold.from_entry, fold.last_turn), (first_entry(5), 4));
}

fn empty_fold() -> ThreadFold {
    ThreadFold {
        cause: FoldCause::HighMark,
        from_entry: 0,
        last_turn: 0,
        turns: Vec::new(),
        omitted: 0,
        episodes: Vec::new(),
        kept_messages: 0,
        tokens_before: 0,
        tokens_after: 0,
    }
}

fn step() -> impl Strategy<Value = Plan> {
    let body = prop_oneof![
        3 => "[a-z .\n]{1,200}",
        1 => (1_usize..800).prop_map(|tokens| words(1, tokens)),
    ];
    let outputs = prop::collection::vec("[a-z \n=<>]{0,600}", 0..4);
    (
        0_u8..3,
        1_u32..1_000,
        body,
        outputs,
        any::<bool>(),
        "[a-z \n]{0,300}",
    )
        .prop_map(|(kind, n, body, outputs, joins, answer)| {
            let body = format!("x{body}");
            let message = match kind {
                0 => operator(n, &body),
                1 => channel(n, &body),
                _ => tick(n, &body),
            };
            Plan {
                message,
                outputs,
                joins: joins.then(|| operator(n + 1_000, "Also this.")),
                answer: format!("a{answer}"),
            }
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases()))]

    #[test]
    fn a_thread_only_grows_between_folds_and_stays_within_its_marks(
        plans in prop::collection::vec(step(), 2..14),
        window in 4_000_u32..40_000,
    ) {
        let mut life = Life::new(Scene::new(), window);
        let mut before: Option<Request> = None;
        for plan in &plans {
            for request in life.play(plan) {
                if let Some(before) = before.as_ref().filter(|_| !request.is_folded) {
                    let is_new_base = request.pieces[..3] != before.pieces[..3];
                    prop_assert!(is_new_base || request.extends(before), "{request:?} after {before:?}");
                    prop_assert!(!is_new_base, "only a fold renews the base");
                }
                prop_assert!(request.text().contains("Current input:"));
                before = Some(Request { is_folded: false, ..request });
            }
        }
        let mut thread = life.thread();
        let size = thread.tokens();
        let target = FoldTarget { cause: FoldCause::Cold, tokens: size / 3, recap_tokens: 0, turn_index: 99 };
        let has_folded = thread.fold(target, None);
        prop_assert!(!has_folded || thread.tokens() <= size + 400, "{} of {size}", thread.tokens());
    }
}

/// Number of generated lives.
#[expect(
    clippy::disallowed_methods,
    reason = "the size of a long run, read by a test"
)]
fn cases() -> u32 {
    let asked = std::env::var("HOLON_HISTORIES").ok();
    asked
        .and_then(|number| number.parse().ok())
        .map_or(200, |number: u32| number / 5)
}
