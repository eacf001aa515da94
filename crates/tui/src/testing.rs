//! Models, events and replies for tests.

use crate::model::{Model, Setup};
use crate::msg::{Command, Msg, News, Question, Reply};
use crate::theme::Theme;
use crate::update::{start, update};
use crate::view::view;
use holon_api::{EventEnvelope, Projection};
use holon_client::Answer;
use holon_domain::AgentId;
use holon_domain::delta::AssistantDelta;
use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_domain::time::Timestamp;
use holon_presentation::DisplayMode;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};

/// Clears the screen in two ways, changes the writing direction, rings and deletes.
pub(crate) const STEERING: &str =
    "a\u{1b}[2Jb\u{9b}2Jc\u{202e}d\u{7}e\u{7f}\rf\u{200b}g\u{2028}h\u{e0069}i\u{200d}j";

pub(crate) fn agent() -> AgentId {
    AgentId::parse("main").unwrap()
}

/// A console that was just started.
pub(crate) fn model(columns: u16, rows: u16) -> Model {
    let mut model = Model::new(Setup {
        host: "/data/me/.holon/run/holon.sock".to_owned(),
        agent: agent(),
        mode: DisplayMode::Info,
        theme: Theme::new(false),
        columns,
        rows,
        history: Vec::new(),
        token_advice: None,
        key: "console".to_owned(),
    });
    start(&mut model);
    model
}

/// A console with a history and a status.
pub(crate) fn with_history(columns: u16, rows: u16, events: Vec<EventEnvelope>) -> Model {
    let mut model = model(columns, rows);
    feed(
        &mut model,
        News::History {
            events,
            has_older: false,
        },
    );
    answer(
        &mut model,
        &Question::Status,
        status("idle", "nothing is queued"),
    );
    model
        .conversation
        .learn_message("msg_1", "please look at the build");
    model
}

pub(crate) fn envelope(event_seq: u64, kind: &str, data: &Value) -> EventEnvelope {
    let event = Event::decode(kind, 1, &data.to_string());
    assert!(!matches!(event, Event::Unknown { .. }), "{kind}: {data}");
    let record = EventRecord {
        event_seq,
        at: Timestamp::from_millis(1_794_700_000_000).plus_millis(event_seq * 1_000),
        event,
        labels: None,
    };
    EventEnvelope::new(&agent(), &record, Projection::Operator).unwrap()
}

pub(crate) fn admitted(seq: u64, message: &str) -> EventEnvelope {
    let data = json!({
        "message_id": message, "message_seq": 1, "kind": "operator_prompt", "origin": {"kind": "operator"},
        "authority_class": "operator_instruction", "priority": "normal",
        "delivery_surface": "http_control_prompt", "admission_context": "control_authenticated",
        "trigger_kind": "operator_input",
    });
    envelope(seq, "message_admitted", &data)
}

pub(crate) fn started(seq: u64, turn: u64, message: &str) -> EventEnvelope {
    let data = json!({
        "message_id": message, "message_kind": "operator_prompt", "run_id": "run_1", "turn_index": turn,
        "requested_model": "a/1",
    });
    envelope(seq, "turn_started", &data)
}

pub(crate) fn round(seq: u64, turn: u64, text: &str, tools: &[&str]) -> EventEnvelope {
    let data = json!({
        "turn_index": turn, "round": 1, "text_char_count": text.len(), "tool_names": tools, "text_preview": text,
    });
    envelope(seq, "assistant_round_recorded", &data)
}

pub(crate) fn requested(seq: u64, turn: u64, cmd: &str) -> EventEnvelope {
    let data = json!({
        "tool_call_id": "c1", "surface": "ExecCommand", "cmd_preview": cmd,
        "authority_class": "operator_instruction", "turn_index": turn, "run_id": "run_1",
    });
    envelope(seq, "process_execution_requested", &data)
}

pub(crate) fn executed(seq: u64, turn: u64, tool: &str, summary: &str) -> EventEnvelope {
    let data = json!({
        "tool_call_id": "c1", "tool_name": tool, "turn_index": turn, "run_id": "run_1", "duration_ms": 1_234,
        "summary": summary,
    });
    envelope(seq, "tool_executed", &data)
}

pub(crate) fn brief(seq: u64, turn: u64, kind: &str, text: &str) -> EventEnvelope {
    let data = json!({
        "brief_id": format!("brief_{turn}"), "brief_seq": turn, "kind": kind, "turn_index": turn,
        "text_preview": text,
    });
    envelope(seq, "brief_created", &data)
}

pub(crate) fn terminal(seq: u64, turn: u64) -> EventEnvelope {
    let data = json!({
        "turn_index": turn, "run_id": "run_1", "kind": "completed", "reason": "finished", "duration_ms": 1_000,
        "rounds": 2, "token_usage": {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2},
    });
    envelope(seq, "turn_terminal", &data)
}

/// A whole turn: a message, a command and a result.
pub(crate) fn turn(first: u64, turn: u64, message: &str, result: &str) -> Vec<EventEnvelope> {
    vec![
        admitted(first, message),
        started(first + 1, turn, message),
        round(first + 2, turn, "I run the tests.", &["ExecCommand"]),
        requested(first + 3, turn, "cargo test"),
        executed(first + 4, turn, "ExecCommand", "exit 0"),
        brief(first + 5, turn, "result", result),
        terminal(first + 6, turn),
    ]
}

pub(crate) fn delta(turn: u64, offset: u64, text: &str) -> News {
    News::Delta(AssistantDelta {
        agent_id: agent(),
        turn_index: turn,
        round: 1,
        effect: 7,
        offset,
        text: text.to_owned(),
    })
}

pub(crate) fn feed(model: &mut Model, news: News) -> Vec<Command> {
    let feed = model.feed;
    update(model, Msg::Feed { feed, news })
}

pub(crate) fn push(model: &mut Model, event: EventEnvelope) -> Vec<Command> {
    feed(model, News::Event(Box::new(event)))
}

pub(crate) fn press(model: &mut Model, code: KeyCode) -> Vec<Command> {
    update(model, Msg::Key(KeyEvent::new(code, KeyModifiers::NONE)))
}

pub(crate) fn ctrl(model: &mut Model, c: char) -> Vec<Command> {
    update(
        model,
        Msg::Key(KeyEvent::new(KeyCode::Char(c), KeyModifiers::CONTROL)),
    )
}

/// Types a text key by key.
pub(crate) fn type_text(model: &mut Model, text: &str) {
    for c in text.chars() {
        press(model, KeyCode::Char(c));
    }
}

/// Types a line and presses enter.
pub(crate) fn enter(model: &mut Model, text: &str) -> Vec<Command> {
    type_text(model, text);
    press(model, KeyCode::Enter)
}

/// Returns the questions of commands.
pub(crate) fn questions(commands: &[Command]) -> Vec<&Question> {
    fn question(command: &Command) -> Option<&Question> {
        match command {
            Command::Ask { request, .. } => Some(&request.question),
            _ => None,
        }
    }
    commands.iter().filter_map(question).collect()
}

/// Returns the ticket of the command that asks this.
pub(crate) fn ticket_of(commands: &[Command], wanted: &Question) -> u64 {
    let ticket = |command: &Command| match command {
        Command::Ask { ticket, request } if request.question == *wanted => Some(*ticket),
        _ => None,
    };
    let found = commands.iter().find_map(ticket);
    found.unwrap_or_else(|| panic!("{wanted:?} is not asked: {commands:?}"))
}

/// Answers a command that asks this.
pub(crate) fn reply(
    model: &mut Model,
    commands: &[Command],
    question: &Question,
    reply: Reply,
) -> Vec<Command> {
    let ticket = ticket_of(commands, question);
    update(
        model,
        Msg::Reply {
            ticket,
            reply: Ok(reply),
        },
    )
}

/// Answers a request for the status that is under way.
pub(crate) fn answer(model: &mut Model, question: &Question, reply: Reply) -> Vec<Command> {
    assert_eq!(*question, Question::Status);
    let status = |(ticket, purpose): (&u64, &crate::model::Purpose)| {
        (*purpose == crate::model::Purpose::Status).then_some(*ticket)
    };
    let ticket = model
        .asked
        .iter()
        .find_map(status)
        .expect("the status is asked for");
    update(
        model,
        Msg::Reply {
            ticket,
            reply: Ok(reply),
        },
    )
}

pub(crate) fn agent_json(posture: &str, reason: &str) -> Value {
    json!({
        "identity": {"agent_id": "main"},
        "agent": {"status": "asleep", "pending": 0, "total_message_count": 3, "turn_index": 2},
        "scheduling_posture": {"posture": posture, "reason": reason},
        "model": {"source": "default", "effective_model": "anthropic/some-model"},
        "execution": {
            "cwd": "/src/project", "workspace_id": "ws_1", "access_mode": "exclusive_write",
            "projection_kind": "canonical_root",
            "attached_workspaces": [["ws_1", "/src/project"], ["ws_2", "/src/other"]],
        },
        "newest_seq": 7,
    })
}

pub(crate) fn status(posture: &str, reason: &str) -> Reply {
    Reply::Status(Box::new(Answer::new(agent_json(posture, reason)).unwrap()))
}

/// Returns the cells of the screen as text, one quoted line each.
pub(crate) fn screen(model: &Model) -> String {
    let mut terminal = Terminal::new(TestBackend::new(model.columns, model.rows)).unwrap();
    terminal.draw(|frame| view(model, frame)).unwrap();
    terminal.backend().to_string()
}

/// Draws the model and fails if a cell would steer a terminal or hold an unseen character that no script needs.
pub(crate) fn check_safe(model: &Model) {
    for line in screen(model).split('\n') {
        assert_eq!(holon_domain::visible::show_on_line(line), line);
    }
}
