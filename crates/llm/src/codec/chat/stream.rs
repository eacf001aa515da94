//! Assembles the chunks of a Chat Completions stream into one completion.
//!
//! Servers differ: calls without an index, every call under index 0, a whole message in the last chunk, no `[DONE]`, no
//! reason to stop. A stream is complete after `[DONE]`, or after its reason to stop if it simply ends there.

use super::decode::{content, stated_error};
use crate::codec::stream::{Budget, Progress, parsed};
use crate::codec::{Fault, reported};
use serde_json::{Map, Value, json};

/// Collects the first choice of a completion.
#[derive(Debug)]
pub(crate) struct Assembler {
    budget: Budget,
    /// Members of the message that are text, in the order in which they first came.
    words: Map<String, Value>,
    calls: Vec<Call>,
    /// Pieces of reasoning that OpenRouter wants back, merged by their index.
    details: Vec<Value>,
    finish_reason: Option<Value>,
    usage: Option<Value>,
}

/// A call that chunks extend.
#[derive(Debug, Default)]
struct Call {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    /// Other members, such as a signature that must be returned.
    others: Map<String, Value>,
}

/// Members of a delta that are text and are appended.
const TEXTS: [&str; 4] = ["reasoning_content", "reasoning", "thinking", "refusal"];

impl Assembler {
    /// Creates an assembler for a completion of at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            budget: Budget::new(most),
            words: Map::new(),
            calls: Vec::new(),
            details: Vec::new(),
            finish_reason: None,
            usage: None,
        }
    }

    pub(crate) fn event(
        &mut self,
        name: Option<&str>,
        data: &str,
        text: &mut dyn FnMut(&str),
    ) -> Result<Progress, Fault> {
        let chunk = parsed(data)?;
        let Some(members) = chunk.as_object() else {
            return Err(Fault::malformed("a chunk of the stream is no object"));
        };
        if let Some(error) = stated_error(members) {
            return Err(reported::fault(&error));
        }
        if name == Some("error") {
            return Err(reported::fault(&chunk));
        }
        let before = (self.budget.left(), self.finish_reason.is_some());
        if let Some(usage) = members.get("usage").filter(|usage| usage.is_object()) {
            self.usage = Some(usage.clone());
        }
        let choices = members.get("choices").and_then(Value::as_array);
        let index = |choice: &Value| choice.get("index").and_then(Value::as_u64);
        let is_first = |choice: &&Value| index(choice).is_none_or(|index| index == 0);
        for choice in choices.into_iter().flatten().filter(is_first) {
            self.choice(choice, text)?;
        }
        // Some servers send chunks without content while the model thinks.
        let after = (self.budget.left(), self.finish_reason.is_some());
        Ok(if before == after {
            Progress::Idle
        } else {
            Progress::More
        })
    }

    /// Returns true if the completion has its reason to stop. It is whole then, and the end mark may be missing.
    pub(crate) const fn has_reason_to_stop(&self) -> bool {
        self.finish_reason.is_some()
    }

    /// Returns the completion. Only for a stream that was not cut off.
    pub(crate) fn finish(self) -> Value {
        let mut message = self.words;
        if !self.calls.is_empty() {
            let calls = self.calls.into_iter().map(Call::into_value).collect();
            message.insert("tool_calls".into(), calls);
        }
        if !self.details.is_empty() {
            message.insert("reasoning_details".into(), Value::Array(self.details));
        }
        let choice = json!({"message": message, "finish_reason": self.finish_reason});
        json!({"choices": [choice], "usage": self.usage})
    }

    fn choice(&mut self, choice: &Value, text: &mut dyn FnMut(&str)) -> Result<(), Fault> {
        if let Some(error) = choice.get("error").filter(|error| !error.is_null()) {
            return Err(reported::fault(error));
        }
        let delta = choice.get("delta").or_else(|| choice.get("message"));
        if let Some(delta) = delta.and_then(Value::as_object) {
            self.delta(delta, text)?;
        }
        if let Some(reason) = choice
            .get("finish_reason")
            .filter(|reason| !reason.is_null())
        {
            self.finish_reason = Some(reason.clone());
        }
        Ok(())
    }

    fn delta(
        &mut self,
        delta: &Map<String, Value>,
        text: &mut dyn FnMut(&str),
    ) -> Result<(), Fault> {
        let (thoughts, words) = content(delta.get("content"));
        if let Some(words) = words.filter(|words| !words.is_empty()) {
            self.append("content", &words)?;
            text(&words);
        }
        if let Some(thoughts) = thoughts {
            self.append("thinking", &thoughts)?;
        }
        for member in TEXTS {
            if let Some(piece) = delta.get(member).and_then(Value::as_str) {
                self.append(member, piece)?;
            }
        }
        let calls = delta.get("tool_calls").and_then(Value::as_array);
        for piece in calls.into_iter().flatten() {
            self.call(piece, piece.get("function").unwrap_or(&Value::Null))?;
        }
        if let Some(function) = delta.get("function_call").filter(|call| call.is_object()) {
            self.call(&json!({"index": 0}), function)?;
        }
        let details = delta.get("reasoning_details").and_then(Value::as_array);
        for piece in details.into_iter().flatten() {
            self.detail(piece)?;
        }
        Ok(())
    }

    fn append(&mut self, member: &str, piece: &str) -> Result<(), Fault> {
        self.budget.take(piece.len())?;
        match self.words.get_mut(member) {
            Some(Value::String(words)) => words.push_str(piece),
            Some(_) | None => {
                self.words
                    .insert(member.to_owned(), Value::String(piece.to_owned()));
            }
        }
        Ok(())
    }

    /// Adds a piece to the call that it belongs to, or begins a call.
    fn call(&mut self, piece: &Value, function: &Value) -> Result<(), Fault> {
        self.budget
            .take(piece.to_string().len() + function.to_string().len())?;
        let index = piece.get("index").and_then(Value::as_u64);
        let id = piece.get("id").and_then(Value::as_str).unwrap_or_default();
        let call = match self.position(index, id) {
            Some(known) => self.calls.get_mut(known),
            None => {
                let index = index.filter(|_| self.calls.iter().all(|call| call.index != index));
                let begun = Call {
                    index,
                    id: id.to_owned(),
                    ..Call::default()
                };
                self.calls.push(begun);
                self.calls.last_mut()
            }
        };
        if let Some(call) = call {
            call.extend(piece, function);
        }
        Ok(())
    }

    /// Finds the call of a piece: by its id unless the indexes disagree, else by its index if the ids do not disagree,
    /// else the last one.
    fn position(&self, index: Option<u64>, id: &str) -> Option<usize> {
        if !id.is_empty()
            && let Some(same) = self.calls.iter().position(|call| {
                let other_index = index.is_some() && call.index.is_some() && call.index != index;
                call.id == id && !other_index
            })
        {
            return Some(same);
        }
        let agrees = |call: &Call| id.is_empty() || call.id.is_empty();
        match index {
            // A server that gives every call index 0 tells them apart by their ids; a piece without one adds to the
            // call that was begun last.
            Some(_) => self
                .calls
                .iter()
                .rposition(|call| (call.index == index || call.index.is_none()) && agrees(call)),
            None if id.is_empty() => self.calls.len().checked_sub(1),
            None => None,
        }
    }

    /// Adds a piece of reasoning to the one with the same index and type.
    fn detail(&mut self, piece: &Value) -> Result<(), Fault> {
        self.budget.take(piece.to_string().len())?;
        let same = |known: &&mut Value| {
            piece.get("index").is_some_and(|index| !index.is_null())
                && known.get("index") == piece.get("index")
                && known.get("type") == piece.get("type")
        };
        let Some(Value::Object(known)) = self.details.iter_mut().find(same) else {
            self.details.push(piece.clone());
            return Ok(());
        };
        for (member, value) in piece.as_object().into_iter().flatten() {
            match (member.as_str(), known.get_mut(member), value) {
                ("text" | "summary" | "data", Some(Value::String(words)), Value::String(more)) => {
                    words.push_str(more);
                }
                (_, _, Value::Null) => {}
                _ => {
                    known.insert(member.clone(), value.clone());
                }
            }
        }
        Ok(())
    }
}

impl Call {
    fn extend(&mut self, piece: &Value, function: &Value) {
        if let Some(id) = piece.get("id").and_then(Value::as_str)
            && self.id.is_empty()
        {
            id.clone_into(&mut self.id);
        }
        if let Some(name) = function.get("name").and_then(Value::as_str)
            && self.name.is_empty()
        {
            name.clone_into(&mut self.name);
        }
        match function.get("arguments") {
            Some(Value::String(more)) => self.arguments.push_str(more),
            Some(whole @ (Value::Object(_) | Value::Array(_))) => {
                self.arguments = whole.to_string();
            }
            Some(_) | None => {}
        }
        for (member, value) in piece.as_object().into_iter().flatten() {
            if !matches!(member.as_str(), "index" | "id" | "type" | "function") {
                self.others.insert(member.clone(), value.clone());
            }
        }
    }

    fn into_value(self) -> Value {
        let mut call = self.others;
        call.insert("id".into(), Value::String(self.id));
        call.insert("type".into(), json!("function"));
        let function = json!({"name": self.name, "arguments": self.arguments});
        call.insert("function".into(), function);
        Value::Object(call)
    }
}
