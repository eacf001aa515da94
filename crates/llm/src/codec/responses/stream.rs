//! Assembles the events of a Responses stream into one response object.
//!
//! The terminal event usually carries the whole response. A backend that sends it without its output gets the finished
//! items of the stream put in.

use super::{error_fault, response_fault};
use crate::codec::Fault;
use crate::codec::stream::{Budget, Progress, parsed, parsed_with_kind};
use serde_json::{Map, Value, json};

/// Collects finished output items until the terminal event.
#[derive(Debug)]
pub(crate) struct Assembler {
    /// Bytes that all finished items may take together.
    most: usize,
    items: Vec<Finished>,
    /// Bytes of text that may still be passed on.
    text: Budget,
    terminal: Option<Value>,
}

/// A finished output item. It is kept as text, which takes far less memory than parsed JSON.
#[derive(Debug)]
struct Finished {
    /// Taken from the event's `output_index`; servers without one number items in order.
    place: u64,
    id: Option<String>,
    text: String,
}

impl Assembler {
    /// Creates an assembler for a stream whose items take at most `most` bytes together.
    pub(crate) const fn new(most: usize) -> Self {
        Self {
            most,
            items: Vec::new(),
            text: Budget::new(most),
            terminal: None,
        }
    }

    pub(crate) fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        text: &mut dyn FnMut(&str),
    ) -> Result<Progress, Fault> {
        if name.is_some_and(is_repeated_later) {
            return Ok(Progress::More);
        }
        let (kind, mut event) = parsed_with_kind(name, data)?;
        match kind.as_str() {
            TEXT_DELTA => {
                if let Some(piece) = event.get("delta").and_then(Value::as_str) {
                    self.text.take(piece.len())?;
                    text(piece);
                }
            }
            "response.output_item.done" => self.keep(&mut event)?,
            "response.completed" | "response.done" => self.end(&mut event, "completed"),
            "response.incomplete" => self.end(&mut event, "incomplete"),
            "response.failed" => {
                return Err(response_fault(
                    event.get("response").unwrap_or(&Value::Null),
                ));
            }
            "response.cancelled" => self.end(&mut event, "cancelled"),
            "error" => return Err(error(&event)),
            kind if is_content(kind) => {}
            // States such as `response.in_progress`, which some servers repeat while the model thinks.
            _ => return Ok(Progress::Idle),
        }
        Ok(match self.terminal {
            Some(_) => Progress::Done,
            None => Progress::More,
        })
    }

    /// Returns the response object, with the finished items if it has no output of its own.
    pub(crate) fn finish(mut self) -> Result<Value, Fault> {
        let mut terminal = self.terminal.ok_or(Fault::CutOff)?;
        let output = terminal.get("output").and_then(Value::as_array);
        if output.is_none_or(Vec::is_empty)
            && let Value::Object(response) = &mut terminal
        {
            self.items.sort_by_key(|item| item.place);
            let items: Vec<&str> = self.items.iter().map(|item| item.text.as_str()).collect();
            let output = parsed(&format!("[{}]", items.join(",")))?;
            response.insert("output".into(), output);
        }
        Ok(terminal)
    }

    /// Keeps a finished item; a repeated item replaces the first.
    fn keep(&mut self, event: &mut Value) -> Result<(), Fault> {
        let place = event.get("output_index").and_then(Value::as_u64);
        let Some(item) = event.get_mut("item").map(Value::take) else {
            return Ok(());
        };
        let id = item.get("id").and_then(Value::as_str).map(str::to_owned);
        let same = |kept: &Finished| match (&kept.id, &id) {
            (Some(kept), Some(new)) => kept == new,
            // Some servers give every item the same index, so the index identifies an item only where there are no ids.
            (Some(_) | None, _) => Some(kept.place) == place,
        };
        let text = item.to_string();
        if let Some(kept) = self.items.iter_mut().find(|kept| same(kept)) {
            kept.id = id;
            kept.text = text;
        } else {
            let next = self.items.iter().map(|kept| kept.place.saturating_add(1));
            let place = place.or_else(|| next.max()).unwrap_or(0);
            self.items.push(Finished { place, id, text });
        }
        let bytes: usize = self.items.iter().map(|kept| kept.text.len()).sum();
        if bytes > self.most {
            let most = self.most;
            return Err(Fault::malformed(format!(
                "the items of the stream take more than {most} bytes together"
            )));
        }
        Ok(())
    }

    /// Keeps the terminal response, with the status its event stands for.
    fn end(&mut self, event: &mut Value, status: &str) {
        let mut response = match event.get_mut("response").map(Value::take) {
            Some(Value::Object(response)) => response,
            Some(_) | None => Map::new(),
        };
        // For `response.done`, the status inside the response decides.
        let said = response.get("status").and_then(Value::as_str);
        let keep = matches!(said, Some("incomplete" | "failed" | "cancelled"));
        if !keep {
            response.insert("status".into(), json!(status));
        }
        self.terminal = Some(Value::Object(response));
    }
}

/// The event that carries a piece of the answer's text.
const TEXT_DELTA: &str = "response.output_text.delta";

/// Returns true for pieces of what a later event carries whole. They are most of a stream, so they are not even parsed.
fn is_repeated_later(name: &str) -> bool {
    name.starts_with("response.") && name.ends_with(".delta") && name != TEXT_DELTA
}

/// Returns true for events that bring a piece of the answer, or mark where a part of it begins or ends.
fn is_content(kind: &str) -> bool {
    let ends = [".delta", ".added", ".done"];
    kind.starts_with("response.") && ends.iter().any(|end| kind.ends_with(end))
}

/// Reads the fault of an `error` event: in a member of its own, or in the event itself.
fn error(event: &Value) -> Fault {
    match event.get("error") {
        Some(inner) if !inner.is_null() => error_fault(inner),
        Some(_) | None => {
            // The event's own `type` is always "error" and must not be read as a code.
            let mut bare = event.clone();
            if let Value::Object(members) = &mut bare {
                members.remove("type");
            }
            error_fault(&bare)
        }
    }
}
