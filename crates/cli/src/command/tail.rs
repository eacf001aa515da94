//! `holon tail`: what an agent does, as rows of a display mode, or its briefs as JSON.
//!
//! A listing reads events backwards until it has enough rows. Following opens the stream first and reads the history up
//! to the position at which the stream begins, so that no event is missed and none is shown twice. A read that fails
//! because the host is restarted is repeated, like the stream itself.

mod briefs;
mod history;

use crate::args::TailArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{Format, Output};
use crate::render::row;
use crate::target::Target;
use briefs::BriefTexts;
use holon_api::EventEnvelope;
use holon_client::view::Brief;
use holon_client::{EventStream, StreamItem};
use holon_domain::AgentId;
use holon_domain::feed::EventRecord;
use holon_domain::zone::UTC;
use holon_presentation::{DisplayMode, Item, Reducer};

/// Prints an agent's rows or briefs.
pub(super) async fn run(target: Target, args: TailArgs, output: &Output) -> Result<Exit, Failure> {
    let host = Host::find(target, args.agent.agent.clone(), output)?;
    if args.after.is_some() || args.before.is_some() {
        return briefs::print_page(&host, &args, output).await;
    }
    match (output.format(), args.display) {
        // The output that scripts read since before there were display modes.
        (Format::Json, None) => briefs::print(&host, args.limit, args.follow, output).await,
        (Format::Json | Format::Text, display) => {
            let agent_id = host.agent_id().await?;
            let mut tail = Tail {
                host: &host,
                agent_id,
                mode: display.unwrap_or_default(),
                output,
                texts: BriefTexts::default(),
                zone: UTC.to_owned(),
            };
            tail.print(args.limit, args.follow).await
        }
    }
}

/// Reports an absent host or agent at once, and returns the zone of the operator's clock. The reads that follow are
/// repeated over a restart of the host.
async fn check_agent(host: &Host, agent_id: Option<&AgentId>) -> Result<String, Failure> {
    let status = host.check_answer(host.client().status(agent_id).await)?;
    Ok(status.operator_time_zone.clone())
}

/// Opens a stream at the newest event.
async fn open_stream(host: &Host, agent_id: &AgentId) -> Result<EventStream, Failure> {
    let stream = host.client().events_stream(agent_id.clone(), None);
    // Asked for before the stream is opened: its first connection would carry none otherwise.
    let mut stream = stream.with_deltas();
    host.check_answer(stream.open().await)?;
    Ok(stream)
}

/// Decodes an event for the reducer.
pub(super) fn to_record(envelope: &EventEnvelope) -> EventRecord {
    EventRecord {
        event_seq: envelope.event_seq,
        at: envelope.ts,
        event: envelope.event(),
        labels: None,
    }
}

/// The rows of one agent in one display mode.
struct Tail<'a> {
    host: &'a Host,
    agent_id: AgentId,
    mode: DisplayMode,
    output: &'a Output,
    texts: BriefTexts,
    /// Zone in which times are shown.
    zone: String,
}

impl Tail<'_> {
    async fn print(&mut self, limit: u64, follow: bool) -> Result<Exit, Failure> {
        self.zone = check_agent(self.host, Some(&self.agent_id)).await?;
        let stream = if follow {
            Some(open_stream(self.host, &self.agent_id).await?)
        } else {
            None
        };
        let until = stream.as_ref().and_then(EventStream::cursor);
        let history = history::load(self.host, &self.agent_id, self.mode, until, limit).await?;
        self.texts = BriefTexts::load(self.host, &self.agent_id, limit).await?;
        match stream {
            None => {
                self.print_listing(history, limit);
                Ok(Exit::Done)
            }
            Some(stream) => {
                let reducer = self.print_begin(history, limit);
                self.follow(stream, reducer).await
            }
        }
    }

    /// Prints a finite listing.
    fn print_listing(&self, mut history: history::History, limit: u64) {
        let held = history.reducer.finish();
        history.rows.extend(held);
        let rows = newest(history.rows, limit);
        if self.output.format() == Format::Json {
            self.output.json(&rows);
            return;
        }
        let older = self.texts.older_than(history.oldest_at, &rows, limit);
        if rows.is_empty() && older.is_empty() {
            self.output.say("nothing yet; wait for it with --follow");
        }
        for brief in older {
            self.print_brief(brief);
        }
        for item in &rows {
            self.print_row(item);
        }
        if let Some(live) = history.reducer.live_item() {
            self.output
                .aside(&format!("now: {}", live.presentation.summary));
        }
    }

    /// Prints the rows before the stream, and returns the reducer that goes on with it.
    fn print_begin(&self, history: history::History, limit: u64) -> Reducer {
        let rows = newest(history.rows, limit);
        if self.output.format() == Format::Text {
            for brief in self.texts.older_than(history.oldest_at, &rows, limit) {
                self.print_brief(brief);
            }
        }
        for item in &rows {
            self.print_row(item);
        }
        history.reducer
    }

    async fn follow(
        &mut self,
        mut stream: EventStream,
        mut reducer: Reducer,
    ) -> Result<Exit, Failure> {
        let mut ended = std::pin::pin!(self.output.ended());
        loop {
            let received = tokio::select! {
                received = stream.next_item() => received,
                () = &mut ended => return Ok(Exit::Done),
            };
            match self.host.check_answer(received)? {
                StreamItem::Delta(delta) => reducer.push_delta(&delta),
                StreamItem::Event(envelope) => {
                    for item in reducer.push(&to_record(&envelope)) {
                        if self.output.format() == Format::Text {
                            self.texts.learn(self.host, &self.agent_id, &item).await?;
                        }
                        self.output.clear_progress();
                        self.print_row(&item);
                    }
                }
            }
            self.show_activity(&reducer);
        }
    }

    fn print_row(&self, item: &Item) {
        match self.output.format() {
            Format::Json => self.output.json_line(item),
            Format::Text => {
                let row = match self.texts.of(item) {
                    Some(brief) => row::brief(brief).with_details(item, self.mode),
                    None => row::item(item, self.mode),
                };
                self.output.row(&row.in_zone(&self.zone));
            }
        }
    }

    fn print_brief(&self, brief: &Brief) {
        self.output.row(&row::brief(brief).in_zone(&self.zone));
    }

    /// Shows what the agent does right now on the last line of a terminal.
    fn show_activity(&self, reducer: &Reducer) {
        if !self.output.shows_progress() {
            return;
        }
        match reducer.live_item() {
            Some(live) => self.output.progress(&live.presentation.summary),
            None => self.output.clear_progress(),
        }
    }
}

/// Keeps the newest rows.
fn newest(mut rows: Vec<Item>, limit: u64) -> Vec<Item> {
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    rows.split_off(rows.len().saturating_sub(limit))
}
