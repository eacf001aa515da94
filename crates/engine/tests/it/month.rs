//! A month of one agent: what was agreed at its beginning is shown at its end, word for word, and the disk stays within
//! its budget.

use crate::house::{House, agent, at_rest, create, prompt, status};
use crate::talk::results;
use holon_domain::WorkItemId;
use holon_domain::intent::WorkItemFilter;
use holon_domain::model::{
    ConversationItem, ModelFailure, ModelFailureKind, ModelReply, ModelRequest,
};
use holon_domain::work_item::{TodoItem, WorkItemRecord};
use holon_engine::{Conduct, HistoryTerms};
use holon_testkit::ports::{calls, failure, says_and_calls};
use serde_json::{Value, json};

const TURNS: u64 = 500;
/// A turn in so many is long enough to be folded.
const LONG_TURN: u64 = 9;
/// The host crashes after so many turns.
const CRASH: u64 = 24;
/// Commands of a long turn, each of which prints ten kilobytes.
const COMMANDS: usize = 8;
/// Tokens that the provider accepts.
const WINDOW: u64 = 15_000;
const HISTORY_BYTES: u64 = 5 << 20;
const EVENT_BYTES: u64 = 1 << 20;
/// Thirty days, divided among the turns.
const TURN_MS: u64 = 30 * 86_400_000 / TURNS;

const CONSTRAINT: &str =
    "Never touch `schema.sql`, and ask before you push to «main» — 合意なしに公開しない.";
const OBJECTIVES: [&str; 3] = [
    "Move the billing service to the new ledger without losing a cent",
    "Keep the nightly build green & report what broke it",
    "Write the guide for operators in English and 中文",
];
const OPEN_STEPS: [&str; 3] = [
    "compare the totals of March with the bank's \"MT940\" file",
    "bisect the flaky test `storm::kills`",
    "translate the page on back-ups",
];

fn conduct() -> Conduct {
    Conduct {
        event_budget_bytes: EVENT_BYTES,
        history: HistoryTerms {
            budget_bytes: HISTORY_BYTES,
            days: 0,
        },
        ..Conduct::default()
    }
}

fn plan(number: usize) -> String {
    format!("# Plan {number}\n\nThe operator said: {CONSTRAINT}\n")
}

/// The checklist of an item, whose first step is done after the first half of the month.
fn todo(number: usize, is_begun: bool) -> Value {
    let first = if is_begun { "completed" } else { "pending" };
    json!([
        { "text": "read what there is", "state": first },
        { "text": OPEN_STEPS[number], "state": "pending" },
    ])
}

async fn items(house: &House) -> Vec<WorkItemRecord> {
    let read = house.readers().read(|reader| {
        let (no, _) = reader.agent(&agent("main"))?.expect("an agent");
        reader.work_items(no, WorkItemFilter::All, 100)
    });
    read.await.expect("items").0
}

fn is_shown(request: &ModelRequest, words: &str) -> bool {
    let mut blocks = request.frame.context_blocks.iter();
    blocks.any(|block| block.text.contains(words))
}

/// The model of the month, and what it has seen.
#[derive(Debug, Default)]
struct Month {
    items: Vec<WorkItemId>,
    /// Items whose checklist was changed.
    changed: [bool; 3],
    /// Turns that were answered.
    turns: u64,
    refused: u64,
    folded: u64,
    /// Rounds of the open turn that were answered, and whether it has recaps.
    round: usize,
    is_folded: bool,
}

impl Month {
    fn current(&self) -> usize {
        usize::try_from(self.turns % 3).expect("a number")
    }

    /// Answers one request. The rounds of a turn are: pick an item, run commands or change its checklist, and wait.
    fn answer(&mut self, request: &ModelRequest) -> Result<ModelReply, ModelFailure> {
        if request.estimated_tokens() > WINDOW {
            self.refused += 1;
            return Err(failure(ModelFailureKind::ContextLengthExceeded));
        }
        let said = results(request);
        let is_recap = |item: &ConversationItem| matches!(item, ConversationItem::User { text } if text.contains("Recap of rounds"));
        let is_folded = request.conversation.iter().any(is_recap);
        if request.conversation.is_empty() {
            self.round = 0;
        }
        self.round += 1;
        self.is_folded |= is_folded;
        if self.items.len() < OBJECTIVES.len() {
            return self.create(&said);
        }
        let number = self.current();
        let id = &self.items[number];
        let commands = match self.turns % LONG_TURN {
            0 => COMMANDS,
            _ => 0,
        };
        let is_due = self.turns > TURNS / 2 && !self.changed[number];
        match self.round {
            1 => calls(&[("PickWorkItem", json!({ "work_item_id": id }))]),
            2 if is_due => {
                self.changed[number] = true;
                let change = json!({ "work_item_id": id, "todo_list": todo(number, true) });
                calls(&[("UpdateWorkItem", change)])
            }
            round if round <= 1 + commands => {
                let command = json!({ "cmd": format!("work {round}") });
                says_and_calls("going on", &[("ExecCommand", command)])
            }
            _ => {
                self.turns += 1;
                self.folded += u64::from(std::mem::take(&mut self.is_folded));
                let wait = json!({ "reason": "the operator looks at it", "wake_on": ["operator"] });
                calls(&[("WaitFor", wait)])
            }
        }
    }

    /// Creates the items, one in each round of the first turn.
    fn create(&mut self, said: &[String]) -> Result<ModelReply, ModelFailure> {
        if let Some(result) = said.last() {
            let id = crate::talk::id_in(result, "work_");
            self.items.push(WorkItemId::from_stored(id));
        }
        let number = self.items.len();
        match OBJECTIVES.get(number) {
            Some(objective) => {
                let new = json!({
                    "objective": objective, "plan": plan(number), "plan_status": "ready",
                    "todo_list": todo(number, false),
                });
                calls(&[("CreateWorkItem", new)])
            }
            None => calls(&[("PickWorkItem", json!({ "work_item_id": self.items[0] }))]),
        }
    }
}

/// Answers the next request, or ends the next command.
async fn go_on(house: &House, month: &mut Month) {
    tokio::select! {
        biased;
        call = house.model.next() => {
            let answer = month.answer(&call.request);
            call.answer(answer);
        }
        command = house.commands.next() => command.ends(&"done some of it\n".repeat(640)),
    }
}

#[tokio::test]
async fn what_was_agreed_is_shown_word_for_word_after_a_month() {
    let mut house = House::new();
    let mut host = house.start_as(conduct()).await;
    create(&host, "main").await;
    let mut month = Month::default();
    prompt(&host, "main", CONSTRAINT).await;
    let mut crashes = 0;
    while month.turns < TURNS {
        let before = month.turns;
        go_on(&house, &mut month).await;
        if month.turns == before {
            continue;
        }
        house.clock.advance(TURN_MS);
        if status(&host, "main").await.agent.pending == 0 {
            let asked = format!("How is it on day {}?", month.turns * 30 / TURNS);
            prompt(&host, "main", &asked).await;
        }
        if month.turns.is_multiple_of(CRASH) {
            house = house.after_crash();
            drop(host);
            host = house.start_as(conduct()).await;
            crashes += 1;
        }
    }
    assert!(crashes >= 20, "{crashes} crashes");
    assert!(month.folded >= 50, "{} turns were folded", month.folded);
    let record = house.record(&agent("main")).await.expect("an agent");
    assert!(record.counters.turns >= TURNS, "{:?}", record.counters);

    loop {
        tokio::select! {
            biased;
            () = go_on(&house, &mut month) => {}
            _ = at_rest(&host, "main") => break,
        }
    }
    prompt(&host, "main", "What is left to do?").await;
    let call = house.model.next().await;
    for words in ["What is left to do?", CONSTRAINT] {
        assert!(is_shown(&call.request, words), "{words}");
    }
    for objective in OBJECTIVES {
        assert!(is_shown(&call.request, objective), "{objective}");
    }
    let focus = items(&house).await.remove(0);
    let number = month.items.iter().position(|id| *id == focus.id);
    let number = number.expect("an item of the month");
    assert!(is_shown(&call.request, OPEN_STEPS[number]));

    for item in items(&house).await {
        let number = month.items.iter().position(|id| *id == item.id);
        let number = number.expect("an item of the month");
        assert_eq!(item.objective, OBJECTIVES[number]);
        let steps: Vec<TodoItem> = serde_json::from_value(todo(number, true)).expect("a list");
        assert_eq!(item.todo_list, steps);
        assert_eq!(house.plans.all()[&item.id], plan(number));
    }
    drop(call);
    house.clock.advance(60_000);
    let sizes = loop {
        let sizes = host.reads().storage().await.expect("sizes");
        if sizes.database.used_bytes() <= HISTORY_BYTES {
            break sizes;
        }
    };
    let kept = sizes.history.transcript.rows;
    assert!(kept < record.counters.log / 2, "{kept} entries are kept");
    host.shut_down().await.expect("a shutdown");
    let stored = house.stored_bytes();
    assert!(stored <= HISTORY_BYTES, "{stored} bytes");
    house.is_sound("main").await;
}
