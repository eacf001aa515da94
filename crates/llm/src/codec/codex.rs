//! Responses as the Codex backend speaks it: always streamed, never stored, with members that must be present.
//!
//! Owns what differs from `responses` in a request, and assembles stream events into one answer. Splitting bytes into
//! frames happens in the HTTP layer. Invariants: only a terminal event makes an answer, and events after it are
//! ignored.

#[cfg(test)]
mod tests;

use super::responses::{answer, cache_key, effort, failed, input, instructions, told, tools};
use super::{Decoded, Fault, json};
use holon_domain::model::ModelRequest;
use holon_domain::provider::ProviderSpec;
use holon_domain::tool::OfferedTool;
use serde_json::{Map, Value, json};

/// Sent if the frame has no system text, because the backend refuses a request without instructions.
const INSTRUCTIONS: &str = "Answer the message and use the tools where they help.";

/// Encodes a request in full.
pub(crate) fn encode(provider: &ProviderSpec, request: &ModelRequest) -> Value {
    let effort = effort(provider, request);
    let include: &[&str] = match effort {
        Some(_) => &["reasoning.encrypted_content"],
        None => &[],
    };
    // The backend accepts no output limit, and it requires the reasoning members even if they are empty.
    let mut body = json!({
        "model": request.model.model(),
        "instructions": instructions(&request.frame).unwrap_or_else(|| INSTRUCTIONS.to_owned()),
        "input": input(request),
        "tools": tools(&request.tools),
        "tool_choice": "auto",
        "parallel_tool_calls": true,
        "reasoning": effort.map(|effort| json!({"effort": effort.as_str()})),
        "include": include,
        "store": false,
        "stream": true,
    });
    if let (Value::Object(body), Some(key)) = (&mut body, cache_key(provider, request)) {
        body.insert("prompt_cache_key".into(), json!(key));
    }
    body
}

/// Tells the reader of a stream whether to read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    More,
    /// The terminal event has been read.
    Done,
}

/// Assembles one answer from the events of its stream.
#[derive(Debug)]
pub(crate) struct Assembler {
    /// Bytes that all finished items may take together.
    most: usize,
    items: Vec<Finished>,
    terminal: Option<Value>,
}

/// A finished output item. It is kept as text, which takes far less memory than parsed JSON.
#[derive(Debug)]
struct Finished {
    /// The item's `output_index`.
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
            terminal: None,
        }
    }

    /// Takes the next event: its name, if the frame had one, and its data.
    pub(crate) fn event(&mut self, name: Option<&str>, data: &str) -> Result<Progress, Fault> {
        if self.terminal.is_some() {
            return Ok(Progress::Done);
        }
        if data.trim().is_empty() || data.trim() == "[DONE]" || name.is_some_and(is_idle) {
            return Ok(Progress::More);
        }
        let mut event = parsed(data)?;
        let kind = event.get("type").and_then(Value::as_str).or(name);
        let kind = kind.unwrap_or_default().to_owned();
        match kind.as_str() {
            "response.output_item.done" => self.keep(&mut event)?,
            "response.completed" | "response.done" => self.end(&mut event, "completed"),
            "response.incomplete" => self.end(&mut event, "incomplete"),
            "response.failed" => {
                return Err(failed(event.get("response").unwrap_or(&Value::Null)));
            }
            "response.cancelled" => self.end(&mut event, "cancelled"),
            "error" => return Err(error(&event)),
            _ => {}
        }
        Ok(match self.terminal {
            Some(_) => Progress::Done,
            None => Progress::More,
        })
    }

    /// Builds the answer after the stream has ended. `tools` are those the request offered.
    pub(crate) fn finish(mut self, tools: &[OfferedTool]) -> Result<Decoded, Fault> {
        let mut terminal = self.terminal.ok_or(Fault::CutOff)?;
        let told = terminal.get("output").and_then(Value::as_array);
        if told.is_none_or(Vec::is_empty)
            && let Value::Object(response) = &mut terminal
        {
            self.items.sort_by_key(|item| item.place);
            let items: Vec<&str> = self.items.iter().map(|item| item.text.as_str()).collect();
            let output = parsed(&format!("[{}]", items.join(",")))?;
            response.insert("output".into(), output);
        }
        Ok(Decoded {
            stored_id: None,
            ..answer(tools, &terminal)?
        })
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

fn parsed(data: &str) -> Result<Value, Fault> {
    json::parse(data.as_bytes()).map_err(|error| {
        let what = if error.is_data() {
            "is JSON that is too large to be one"
        } else {
            "is not JSON"
        };
        Fault::malformed(format!("an event of the stream {what}: {error}"))
    })
}

/// Returns true for events that carry pieces of what a later event carries whole. They are most of a stream, so they
/// are not even parsed.
fn is_idle(name: &str) -> bool {
    name.starts_with("response.") && name.ends_with(".delta")
}

/// Reads the fault of an `error` event: in a member of its own, or in the event itself.
fn error(event: &Value) -> Fault {
    match event.get("error") {
        Some(inner) if !inner.is_null() => told(inner),
        Some(_) | None => {
            // The event's own `type` is always "error" and must not be read as a code.
            let mut bare = event.clone();
            if let Value::Object(members) = &mut bare {
                members.remove("type");
            }
            told(&bare)
        }
    }
}
