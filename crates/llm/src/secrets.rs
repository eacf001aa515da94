//! The secrets a host knows, and their removal from the outcomes of model calls.
//!
//! A provider may send a key back: in text, in the arguments of a call, in an error. The router cleans every outcome
//! here before its caller sees it, so no key is stored, shown or sent on. A key is found if it is whole, behind JSON
//! escapes of any depth, or split over consecutive text blocks or paragraphs of reasoning. A changed key (encoded,
//! reversed, split by other words) is not found.

use crate::search::{self, Needle};
use holon_domain::delta::TextSink;
use holon_domain::limits::KNOWN_SECRETS;
use holon_domain::model::{ModelFailure, ModelReply, ReplyBlock, RequestedCall};
use secrecy::{ExposeSecret as _, SecretString};
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::mem;
use std::sync::{Arc, Mutex, PoisonError, RwLock};

/// Text that replaces a secret.
pub(crate) const PLACEHOLDER: &str = "[secret]";

/// Text that separates two paragraphs.
const PARAGRAPH: &str = "\n\n";
/// A text of at least this many bytes is always treated as a secret.
const LONG: usize = 16;
/// A text of at least this many bytes is treated as a secret if it contains a digit. Local servers are given words such
/// as `ollama`, `lm-studio` or `not-needed` as a key; replacing these in every answer would damage what models write.
const SHORT: usize = 8;

/// Every secret a host knows. Clones share one set.
#[derive(Clone, Default)]
pub struct Secrets(Arc<RwLock<Inner>>);

#[derive(Default)]
struct Inner {
    /// The host's own secrets; never evicted.
    own: Vec<SecretString>,
    /// Credentials fetched for attempts; the most recent one is last.
    fetched: Vec<SecretString>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets(..)")
    }
}

impl Secrets {
    /// Adds a secret of the host itself, such as its control token.
    pub fn keep(&self, secret: SecretString) {
        if is_searched(&secret) {
            self.change(|inner| inner.own.push(secret));
        }
    }

    /// Adds a credential that was fetched for an attempt. The number is bounded and the oldest is evicted, because a
    /// credential command may print a new one every few minutes.
    pub(crate) fn learn(&self, secret: &SecretString) {
        if !is_searched(secret) {
            return;
        }
        self.change(|inner| {
            inner.fetched.retain(|known| !is_same(known, secret));
            inner.fetched.push(secret.clone());
            let surplus = inner.fetched.len().saturating_sub(KNOWN_SECRETS);
            inner.fetched.drain(..surplus);
        });
    }

    /// Returns a set of its own with these secrets added. Later changes of either set do not reach the other.
    #[must_use]
    pub fn with(&self, more: Vec<SecretString>) -> Self {
        let inner = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let more = more.into_iter().filter(is_searched);
        Self(Arc::new(RwLock::new(Inner {
            own: inner.own.iter().cloned().chain(more).collect(),
            fetched: inner.fetched.clone(),
        })))
    }

    /// Replaces every secret in a text.
    #[must_use]
    pub fn hide<'a>(&self, text: &'a str) -> Cow<'a, str> {
        hide(text, &self.needles())
    }

    /// Returns the length up to which a cut-off text may be read. Its end may be the beginning of a secret, which a
    /// search does not find.
    pub(crate) fn readable_len(&self, text: &str) -> usize {
        readable_len(text, &self.needles())
    }

    /// Removes the secrets from the outcome of an attempt.
    pub(crate) fn clean(
        &self,
        answer: Result<ModelReply, ModelFailure>,
    ) -> Result<ModelReply, ModelFailure> {
        match answer {
            Ok(reply) => Ok(self.clean_reply(reply)),
            Err(failure) => Err(self.clean_failure(failure)),
        }
    }

    /// Removes the secrets from an answer.
    fn clean_reply(&self, mut reply: ModelReply) -> ModelReply {
        let needles = self.needles();
        if needles.is_empty() {
            return reply;
        }
        clean_texts(&mut reply.blocks, &needles);
        clean_reasoning(&mut reply.blocks, &needles);
        for block in &mut reply.blocks {
            if let ReplyBlock::Call(call) = block {
                clean_call(call, &needles);
            }
        }
        reply
    }

    /// Removes the secrets from a failure.
    pub(crate) fn clean_failure(&self, mut failure: ModelFailure) -> ModelFailure {
        let needles = self.needles();
        replace(&mut failure.message, &needles);
        if let Some(diagnostics) = &mut failure.diagnostics {
            let causes = diagnostics.source_chain.iter_mut();
            for text in causes.chain(&mut diagnostics.url) {
                replace(text, &needles);
            }
        }
        failure
    }

    fn needles(&self) -> Vec<Needle> {
        let inner = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let all = inner.own.iter().chain(&inner.fetched);
        all.map(|secret| Needle::new(secret.expose_secret().trim()))
            .collect()
    }

    fn change(&self, change: impl FnOnce(&mut Inner)) {
        // A panic cannot leave a list half-written, so a poisoned lock is safe to use.
        change(&mut self.0.write().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Removes the secrets from a text that arrives in pieces. The end of what has arrived is held back while it may be the
/// beginning of a secret.
pub(crate) struct TextScreen<'a> {
    secrets: &'a Secrets,
    held: Mutex<String>,
    sink: TextSink<'a>,
}

impl<'a> TextScreen<'a> {
    /// Starts a text that is passed on to `sink`.
    pub(crate) const fn new(secrets: &'a Secrets, sink: TextSink<'a>) -> Self {
        Self {
            secrets,
            held: Mutex::new(String::new()),
            sink,
        }
    }

    /// Adds a piece and passes on what is certain.
    pub(crate) fn push(&self, piece: &str) {
        let needles = self.secrets.needles();
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        held.push_str(piece);
        let certain_len = readable_len(&held, &needles);
        let rest = held.split_off(certain_len);
        let certain = mem::replace(&mut *held, rest);
        self.pass(&certain, &needles);
    }

    /// Passes on the rest of a text that is complete.
    pub(crate) fn finish(self) {
        let rest = self.held.into_inner();
        let rest = rest.unwrap_or_else(PoisonError::into_inner);
        if !rest.is_empty() {
            (self.sink)(&self.secrets.hide(&rest));
        }
    }

    fn pass(&self, text: &str, needles: &[Needle]) {
        if !text.is_empty() {
            (self.sink)(&hide(text, needles));
        }
    }
}

/// Returns the length of a text without an end that may be the beginning of a secret.
fn readable_len(text: &str, needles: &[Needle]) -> usize {
    if needles.is_empty() {
        return text.len();
    }
    let begins = |needle: &Needle| search::find_partial_at_end(text, needle);
    let begun = needles.iter().filter_map(begins);
    begun
        .chain([search::whole_escapes(text)])
        .min()
        .unwrap_or(text.len())
}

/// Returns true if a text is long enough to be searched for in answers.
fn is_searched(secret: &SecretString) -> bool {
    let text = secret.expose_secret().trim();
    let has_digit = text.bytes().any(|byte| byte.is_ascii_digit());
    text.len() >= LONG || (text.len() >= SHORT && has_digit)
}

fn is_same(one: &SecretString, other: &SecretString) -> bool {
    one.expose_secret().trim() == other.expose_secret().trim()
}

fn hide<'a>(text: &'a str, needles: &[Needle]) -> Cow<'a, str> {
    let spans = search::spans(text, needles);
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(search::remove_spans(text, 0, &spans, PLACEHOLDER))
}

/// Returns true if the text changed.
fn replace(text: &mut String, needles: &[Needle]) -> bool {
    let Cow::Owned(hidden) = hide(text, needles) else {
        return false;
    };
    *text = hidden;
    true
}

/// Cleans text blocks as one text, because two blocks may share a secret.
fn clean_texts(blocks: &mut Vec<ReplyBlock>, needles: &[Needle]) {
    let texts = blocks.iter_mut().filter_map(|block| match block {
        ReplyBlock::Text { text } => Some(text),
        ReplyBlock::Reasoning { .. } | ReplyBlock::Call(_) => None,
    });
    if clean_joined(texts.collect(), needles).contains(&true) {
        // A block that held only the rest of a secret is empty now.
        blocks.retain(|block| !matches!(block, ReplyBlock::Text { text } if text.is_empty()));
    }
}

/// Cleans reasoning blocks as one text. A block's sealed form is dropped if it holds a secret or no longer matches the
/// changed text.
fn clean_reasoning(blocks: &mut [ReplyBlock], needles: &[Needle]) {
    let (mut texts, mut seals) = (Vec::new(), Vec::new());
    for block in blocks {
        if let ReplyBlock::Reasoning { text, opaque } = block {
            texts.push(text);
            seals.push(opaque);
        }
    }
    let changed = clean_paragraphs(texts, needles);
    for (seal, changed) in seals.into_iter().zip(changed) {
        if seal.as_mut().is_some_and(|seal| replace(seal, needles)) || changed {
            *seal = None;
        }
    }
}

/// Cleans texts like [`clean_joined`], and looks also past the blank lines between paragraphs: a codec joins the parts
/// of a summary with them, and two parts may share a secret.
fn clean_paragraphs(mut texts: Vec<&mut String>, needles: &[Needle]) -> Vec<bool> {
    let whole = clean_joined(texts.iter_mut().map(|text| &mut **text).collect(), needles);
    let split =
        |text: &&mut String| -> Vec<String> { text.split(PARAGRAPH).map(str::to_owned).collect() };
    let mut paragraphs: Vec<Vec<String>> = texts.iter().map(split).collect();
    let parts = clean_joined(paragraphs.iter_mut().flatten().collect(), needles);
    let mut parts = parts.into_iter();
    let join = |((text, paragraphs), whole): ((&mut String, Vec<String>), bool)| {
        let touched: Vec<bool> = parts.by_ref().take(paragraphs.len()).collect();
        if !touched.contains(&true) {
            return whole;
        }
        // A paragraph that held only the rest of a secret is empty now.
        let kept = paragraphs.into_iter().zip(touched);
        let kept = kept.filter(|(paragraph, touched)| !(*touched && paragraph.is_empty()));
        let kept: Vec<String> = kept.map(|(paragraph, _)| paragraph).collect();
        *text = kept.join(PARAGRAPH);
        true
    };
    let all = texts.into_iter().zip(paragraphs).zip(whole);
    all.map(join).collect()
}

/// Cleans texts as if they were one, and returns a flag for each that changed.
fn clean_joined(texts: Vec<&mut String>, needles: &[Needle]) -> Vec<bool> {
    let joined: String = texts.iter().map(|text| text.as_str()).collect();
    let spans = search::spans(&joined, needles);
    let mut start = 0;
    let clean = |text: &mut String| {
        let (from, to) = (start, start + text.len());
        start = to;
        let touched = spans.iter().any(|span| span.start < to && from < span.end);
        if touched {
            *text = search::remove_spans(text, from, &spans, PLACEHOLDER);
        }
        touched
    };
    texts.into_iter().map(clean).collect()
}

fn clean_call(call: &mut RequestedCall, needles: &[Needle]) {
    replace(&mut call.name, needles);
    clean_value(&mut call.input, needles);
    // An id is sent back unchanged or not at all.
    if call
        .provider_id
        .as_mut()
        .is_some_and(|id| replace(id, needles))
    {
        call.provider_id = None;
    }
}

fn clean_value(value: &mut Value, needles: &[Needle]) {
    match value {
        Value::String(text) => {
            replace(text, needles);
        }
        Value::Array(items) => {
            for item in items {
                clean_value(item, needles);
            }
        }
        Value::Object(members) => {
            for (mut name, mut member) in mem::take(members) {
                replace(&mut name, needles);
                clean_value(&mut member, needles);
                insert(members, name, member);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Inserts a member unless the name is taken: two secret names become the same placeholder, and the first one stays.
fn insert(members: &mut Map<String, Value>, name: String, member: Value) {
    members.entry(name).or_insert(member);
}

#[cfg(test)]
mod tests;
