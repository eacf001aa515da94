//! The console: the time of a frame with a long history, and the memory after a flood of events.

use crate::memory;
use crate::stats::{Sample, round};
use holon_api::{EventEnvelope, Projection};
use holon_domain::AgentId;
use holon_domain::event::Event;
use holon_domain::feed::EventRecord;
use holon_domain::time::Timestamp;
use holon_presentation::DisplayMode;
use holon_tui::{Model, Msg, News, Setup, Theme, start, update, view};
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use serde_json::{Value, json};
use std::error::Error;
use std::time::Instant;

/// Size of the terminal.
const COLUMNS: u16 = 200;
const ROWS: u16 = 60;
/// Frames whose times make up the sample.
const FRAMES: usize = 500;
/// Number of the first feed of a console.
const FEED: u64 = 1;

/// Measures a frame of an empty console, of one with this many rows at its end, and in the middle of them.
pub(crate) fn frame(rows: u64) -> Result<Value, Box<dyn Error>> {
    let mut model = console()?;
    let empty = frames(&model)?;
    let mut taken = Sample::default();
    for seq in 1..=rows {
        let message = Msg::Feed {
            feed: FEED,
            news: News::Event(Box::new(event(seq)?)),
        };
        let began = Instant::now();
        update(&mut model, message);
        taken.add(began.elapsed());
    }
    let end = frames(&model)?;
    for _ in 0..20 {
        let key = KeyEvent::new(KeyCode::PageUp, KeyModifiers::NONE);
        update(&mut model, Msg::Key(key));
    }
    let middle = frames(&model)?;
    Ok(json!({
        "rows": rows,
        "empty": empty.report(),
        "newest": end.report(),
        "scrolled": middle.report(),
        "event": taken.report(),
        "p50_ratio": round(end.quantile(0.5) / empty.quantile(0.5)),
    }))
}

/// Measures the resident memory before and after this many events.
pub(crate) fn memory_after(events: u64) -> Result<Value, Box<dyn Error + Send + Sync>> {
    let words = |error: Box<dyn Error>| error.to_string();
    let pid = std::process::id();
    let mut model = console().map_err(words)?;
    let before = memory::kib(pid, memory::RESIDENT)?;
    for seq in 1..=events {
        let news = News::Event(Box::new(event(seq).map_err(words)?));
        update(&mut model, Msg::Feed { feed: FEED, news });
    }
    let after = memory::kib(pid, memory::RESIDENT)?;
    frames(&model).map_err(words)?;
    Ok(
        json!({ "events": events, "before_kib": before, "after_kib": after, "grown_kib": after - before }),
    )
}

fn console() -> Result<Model, Box<dyn Error>> {
    let mut model = Model::new(Setup {
        host: "bench".to_owned(),
        agent: agent()?,
        mode: DisplayMode::Debug,
        theme: Theme::new(true),
        columns: COLUMNS,
        rows: ROWS,
        history: Vec::new(),
        token_advice: None,
        key: "bench".to_owned(),
    });
    start(&mut model);
    Ok(model)
}

fn agent() -> Result<AgentId, Box<dyn Error>> {
    AgentId::parse("main").map_err(|error| error.to_string().into())
}

fn event(event_seq: u64) -> Result<EventEnvelope, Box<dyn Error>> {
    let text = format!("Step {event_seq}: I read `src/lib.rs`, and **mend** what I find there.");
    let data = json!({
        "turn_index": 1, "round": event_seq, "text_char_count": text.len(), "tool_names": ["ExecCommand"],
        "text_preview": text,
    });
    let record = EventRecord {
        event_seq,
        at: Timestamp::default(),
        event: Event::decode("assistant_round_recorded", 1, &data.to_string()),
        labels: None,
    };
    Ok(EventEnvelope::new(
        &agent()?,
        &record,
        Projection::Operator,
    )?)
}

fn frames(model: &Model) -> Result<Sample, Box<dyn Error>> {
    let mut terminal = Terminal::new(TestBackend::new(COLUMNS, ROWS))?;
    let mut sample = Sample::default();
    for _ in 0..FRAMES {
        let began = Instant::now();
        terminal.draw(|frame| view(model, frame))?;
        sample.add(began.elapsed());
    }
    Ok(sample)
}
