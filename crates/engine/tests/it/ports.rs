//! Ports in the hands of the test: a call waits until the test answers it, and the clock moves when the test moves it.

use async_trait::async_trait;
use holon_domain::file_change::{ChangedFile, FileAction, PatchApplied};
use holon_domain::intent::ApplyPatch;
use holon_domain::model::{
    ModelFailure, ModelFailureKind, ModelRef, ModelReply, ModelRequest, ReplyBlock, RequestedCall,
    StopReason,
};
use holon_domain::provider::{ModelPolicy, PolicySource};
use holon_domain::tool::ToolError;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, Entropy, Timestamp};
use holon_engine::ports::{Clock, CommandContext, EntropySource, FileHost, HomeHost, ModelClient};
use holon_engine::request::WorkspaceChoice;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{Mutex, Notify, mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// A request that waits for the test to answer it.
#[derive(Debug)]
pub(crate) struct Asked<Q, A> {
    pub(crate) request: Q,
    answer: oneshot::Sender<A>,
}

impl<Q, A> Asked<Q, A> {
    pub(crate) fn answer(self, answer: A) {
        // One that nobody waits for any more is dropped, as the real ones are.
        drop(self.answer.send(answer));
    }

    /// Returns once nobody waits for the answer any more.
    pub(crate) async fn let_go(mut self) {
        self.answer.closed().await;
    }
}

/// A door requests come through, in order.
#[derive(Debug)]
pub(crate) struct Door<Q, A> {
    sender: mpsc::UnboundedSender<Asked<Q, A>>,
    receiver: Mutex<mpsc::UnboundedReceiver<Asked<Q, A>>>,
}

impl<Q: std::fmt::Debug, A: std::fmt::Debug> Door<Q, A> {
    pub(crate) fn new() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        Self {
            sender,
            receiver: Mutex::new(receiver),
        }
    }

    /// The next request.
    pub(crate) async fn next(&self) -> Asked<Q, A> {
        let next = self.receiver.lock().await.recv().await;
        next.expect("the door keeps a sender of its own")
    }

    /// Whether somebody stands at the door.
    pub(crate) async fn is_quiet(&self) -> bool {
        self.receiver.lock().await.is_empty()
    }

    /// Puts a request before the test; none when the caller gives up first.
    async fn ask(&self, request: Q, cancel: &CancellationToken) -> Option<A> {
        let (answer, waiting) = oneshot::channel();
        self.sender
            .send(Asked { request, answer })
            .expect("the test keeps the door");
        tokio::select! {
            answer = waiting => answer.ok(),
            () = cancel.cancelled() => None,
        }
    }
}

/// A model the test speaks for.
pub(crate) type Model = Door<ModelRequest, Result<ModelReply, ModelFailure>>;

#[async_trait]
impl ModelClient for Model {
    async fn call(
        &self,
        request: ModelRequest,
        cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let answer = self.ask(request, &cancel).await;
        answer.unwrap_or_else(|| Err(failure(ModelFailureKind::Connection)))
    }

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        ModelPolicy {
            context_window_tokens: 32_000,
            effective_context_window_percent: 90,
            max_output_tokens: 4_096,
            source: PolicySource::UnknownFallback,
            output_source: PolicySource::UnknownFallback,
            freeform_tools: false,
        }
    }
}

/// Patches the test applies, and what it can prove of them after a crash.
#[derive(Debug)]
pub(crate) struct Files {
    pub(crate) patches: Door<ApplyPatch, Result<PatchApplied, ToolError>>,
    pub(crate) proof: Mutex<Option<Result<PatchApplied, ToolError>>>,
    pub(crate) forgotten: watch::Sender<u32>,
}

impl Files {
    pub(crate) fn new() -> Self {
        Self {
            patches: Door::new(),
            proof: Mutex::default(),
            forgotten: watch::Sender::new(0),
        }
    }
}

#[async_trait]
impl FileHost for Files {
    async fn apply_patch(
        &self,
        _context: CommandContext,
        _call: CallId,
        patch: ApplyPatch,
    ) -> Result<PatchApplied, ToolError> {
        let answer = self.patches.ask(patch, &CancellationToken::new()).await;
        answer.expect("the test answers")
    }

    async fn settle_patch(
        &self,
        _agent_home: &str,
        _call: &CallId,
        _patch: &ApplyPatch,
    ) -> Option<Result<PatchApplied, ToolError>> {
        self.proof.lock().await.clone()
    }

    async fn forget_patch(&self, _agent_home: &str, _call: &CallId) {
        self.forgotten.send_modify(|count| *count += 1);
    }
}

/// A patch that added one file.
pub(crate) fn added(path: &str) -> PatchApplied {
    PatchApplied {
        changed_files: vec![ChangedFile {
            action: FileAction::Add,
            path: path.to_owned(),
        }],
        ..PatchApplied::default()
    }
}

/// Homes that are made by saying so.
#[derive(Debug, Default)]
pub(crate) struct Homes {
    pub(crate) removed: AtomicU64,
    /// Whether a home cannot be removed.
    pub(crate) stuck: AtomicBool,
    /// Whether whoever makes or removes one waits.
    held: watch::Sender<bool>,
}

impl Homes {
    /// Making and removing homes takes until the test lets it go on.
    pub(crate) fn hold(&self, hold: bool) {
        self.held.send_replace(hold);
    }

    async fn free(&self) {
        let mut held = self.held.subscribe();
        let free = held.wait_for(|held| !held).await;
        free.expect("the homes keep a sender of their own");
    }
}

#[async_trait]
impl HomeHost for Homes {
    async fn prepare(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        self.free().await;
        Ok(())
    }

    async fn remove(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        self.free().await;
        if self.stuck.load(Ordering::Relaxed) {
            return Err("a file in it belongs to somebody else".to_owned());
        }
        self.removed.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    async fn workspace(
        &self,
        _choice: &WorkspaceChoice,
        agent_home: &str,
    ) -> Result<WorkspaceEntry, String> {
        Ok(WorkspaceEntry::agent_home(agent_home))
    }
}

/// A clock that stands still until the test moves it.
#[derive(Debug)]
pub(crate) struct VirtualClock {
    now: AtomicI64,
    moved: Notify,
    /// Every time somebody ever slept towards.
    awaited: watch::Sender<BTreeSet<i64>>,
}

impl VirtualClock {
    pub(crate) fn new() -> Self {
        Self {
            now: AtomicI64::new(1_800_000_000_000),
            moved: Notify::new(),
            awaited: watch::Sender::default(),
        }
    }

    /// Returns once somebody sleeps until this many milliseconds from now.
    pub(crate) async fn slept_towards(&self, millis: u64) {
        let at = self.now().plus_millis(millis).as_millis();
        let mut awaited = self.awaited.subscribe();
        awaited
            .wait_for(|times| times.contains(&at))
            .await
            .expect("the clock keeps a sender of its own");
    }

    /// Moves the clock and wakes everyone whose time has come.
    pub(crate) fn advance(&self, millis: i64) {
        self.now.fetch_add(millis, Ordering::SeqCst);
        self.moved.notify_waiters();
    }
}

#[async_trait]
impl Clock for VirtualClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(self.now.load(Ordering::SeqCst))
    }

    fn elapsed(&self) -> Duration {
        Duration::from_millis(self.now.load(Ordering::SeqCst).unsigned_abs())
    }

    async fn sleep_until(&self, at: Timestamp) {
        self.awaited.send_modify(|times| {
            times.insert(at.as_millis());
        });
        loop {
            let moved = self.moved.notified();
            if self.now() >= at {
                return;
            }
            moved.await;
        }
    }
}

/// Numbers that never come twice, in a fixed order.
#[derive(Debug, Default)]
pub(crate) struct Counting {
    next: AtomicU64,
    fails: AtomicBool,
}

impl Counting {
    /// The next decision comes to nothing: it panics inside its transaction, as a defect would.
    pub(crate) fn spoil_the_next_decision(&self) {
        self.fails.store(true, Ordering::SeqCst);
    }
}

#[derive(Debug)]
struct Numbers(u128);

impl Entropy for Numbers {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        self.0
    }
}

impl EntropySource for Counting {
    fn source(&self) -> Box<dyn Entropy + Send> {
        assert!(
            !self.fails.swap(false, Ordering::SeqCst),
            "the test wants this decision to fail"
        );
        let source = self.next.fetch_add(1, Ordering::Relaxed);
        Box::new(Numbers(u128::from(source) << 40))
    }
}

/// An answer in words.
pub(crate) fn says(text: &str) -> Result<ModelReply, ModelFailure> {
    reply(vec![words(text)], StopReason::EndTurn)
}

/// An answer that makes calls.
pub(crate) fn calls(of: &[(&str, Value)]) -> Result<ModelReply, ModelFailure> {
    let call = |(name, input): &(&str, Value)| {
        ReplyBlock::Call(RequestedCall {
            provider_id: None,
            name: (*name).to_owned(),
            input: input.clone(),
        })
    };
    reply(of.iter().map(call).collect(), StopReason::ToolUse)
}

pub(crate) fn reply(
    blocks: Vec<ReplyBlock>,
    stop_reason: StopReason,
) -> Result<ModelReply, ModelFailure> {
    Ok(ModelReply {
        blocks,
        stop_reason,
        usage: holon_domain::attempt::TokenUsage::new(10, 2),
    })
}

fn words(text: &str) -> ReplyBlock {
    ReplyBlock::Text {
        text: text.to_owned(),
    }
}

/// A provider failure.
pub(crate) fn failure(kind: ModelFailureKind) -> ModelFailure {
    ModelFailure::new(kind, "no answer")
}
