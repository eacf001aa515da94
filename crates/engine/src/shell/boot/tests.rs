//! After an unconfirmed commit, its work is performed exactly once.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::conditions::SharedConditions;
use crate::kernel::Kernel;
use crate::ports::{
    AliveCommand, Clock, CommandContext, CommandHost, CommandKey, CommandOrder, CommandProbe,
    CommandRun, EntropySource, FileHost, GuidanceHost, HomeHost, InputRefusal, ModelClient,
    OutputRetention, PlanHost, Ports, WorkspaceHost,
};
use crate::request::{HomeChoice, Ingress, WorkspaceChoice};
use crate::shell::{Sender, Shell};
use crate::tool_run::ToolRun;
use async_trait::async_trait;
use holon_core::input::NewAgent;
use holon_core::{HostConditions, Input, Stamp};
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::attempt::TokenUsage;
use holon_domain::block::ToolCall;
use holon_domain::command::{CapturedStream, CommandFailure, RunningCommand, TaskStreams};
use holon_domain::consequence::Consequence;
use holon_domain::delta::TextSink;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::file_change::PatchResult;
use holon_domain::guidance::{Guidance, GuidanceRoots, InstalledSkill, SkillFault, SkillSource};
use holon_domain::intent::{ApplyPatch, HostAction, TaskInput, TaskOutput};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{
    ModelChain, ModelFailure, ModelRef, ModelReply, ModelRequest, ReplyBlock, RequestedCall,
    StopReason,
};
use holon_domain::provider::{ModelPolicy, PolicySource, ReasoningPolicy};
use holon_domain::task::{CommandTaskSpec, TaskReport};
use holon_domain::tool::{ToolEnvelope, ToolError};
use holon_domain::work_item::PlanArtifact;
use holon_domain::workspace::{
    AttachedWorkspace, SelectedWorkspace, WorkspaceEntry, WorkspaceErrorKind, WorkspaceFailure,
    WorkspaceOrder, WorkspaceSet, WorktreeReport, WorktreeUser,
};
use holon_domain::{AgentId, CallId, Entropy, Timestamp, WorkItemId};
use holon_store::{Db, Readers, SqliteStore, commit};
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::{mpsc, oneshot, watch};
use tokio_util::sync::CancellationToken;

/// A model request and the sender for its reply.
type PendingRequest = (ModelRequest, oneshot::Sender<ModelReply>);

/// Ports that do almost nothing: model requests are handed to the test, and commands run forever.
#[derive(Debug)]
struct QuietPorts {
    asked: mpsc::UnboundedSender<PendingRequest>,
    numbers: AtomicU64,
    /// Number of watchers of each command, by the command's name.
    followed: watch::Sender<BTreeMap<String, usize>>,
}

impl QuietPorts {
    fn new() -> (Arc<Self>, mpsc::UnboundedReceiver<PendingRequest>) {
        let (asked, requests) = mpsc::unbounded_channel();
        let quiet = Self {
            asked,
            numbers: AtomicU64::new(1),
            followed: watch::Sender::default(),
        };
        (Arc::new(quiet), requests)
    }

    fn follow(&self, key: &CommandKey) -> Watcher<'_> {
        let name = key.name.clone();
        self.followed
            .send_modify(|counts| *counts.entry(name.clone()).or_default() += 1);
        Watcher { quiet: self, name }
    }

    /// Returns once exactly these commands are watched, each by one watcher.
    async fn follows(&self, names: &[&str]) {
        let wanted: BTreeMap<String, usize> =
            names.iter().map(|name| ((*name).to_owned(), 1)).collect();
        let mut followed = self.followed.subscribe();
        followed.wait_for(|counts| *counts == wanted).await.unwrap();
    }
}

/// A watcher of a command, counted until it is dropped.
struct Watcher<'a> {
    quiet: &'a QuietPorts,
    name: String,
}

impl Drop for Watcher<'_> {
    fn drop(&mut self) {
        self.quiet.followed.send_modify(|counts| {
            let count = counts.get_mut(&self.name).expect("it was counted");
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.name);
            }
        });
    }
}

#[async_trait]
impl ModelClient for QuietPorts {
    async fn call(
        &self,
        request: &ModelRequest,
        _text: TextSink<'_>,
        _cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let (answer, waiting) = oneshot::channel();
        drop(self.asked.send((request.clone(), answer)));
        match waiting.await {
            Ok(reply) => Ok(reply),
            Err(_) => std::future::pending().await,
        }
    }

    fn policy(&self, _model: &ModelRef) -> ModelPolicy {
        ModelPolicy {
            context_window_tokens: 32_000,
            effective_context_window_percent: 90,
            max_output_tokens: 4_096,
            source: PolicySource::UnknownFallback,
            output_source: PolicySource::UnknownFallback,
            freeform_tools: false,
            reasoning: ReasoningPolicy::NONE,
        }
    }

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }
}

#[async_trait]
impl CommandHost for QuietPorts {
    async fn was_begun(&self, _: &CommandKey) -> bool {
        false
    }

    async fn run(
        &self,
        order: CommandOrder,
        cancel: CancellationToken,
    ) -> Result<CommandRun, CommandFailure> {
        if order.command.yield_time_ms == 0 {
            return Ok(CommandRun::Running(RunningCommand {
                workdir: order.context.workspace.cwd,
                started_at: self.now(),
                stdout: CapturedStream::default(),
                stderr: CapturedStream::default(),
            }));
        }
        let _following = self.follow(&order.key);
        cancel.cancelled().await;
        Err(CommandFailure::Cancelled)
    }

    async fn probe(&self, _: &CommandKey) -> CommandProbe {
        CommandProbe::Running(AliveCommand {
            started_at: Timestamp::from_millis(0),
            output_path: None,
            stderr_path: None,
        })
    }

    async fn watch(&self, key: &CommandKey) -> TaskReport {
        let _following = self.follow(key);
        std::future::pending().await
    }

    async fn stop(&self, key: &CommandKey, _: u64) -> TaskReport {
        let _following = self.follow(key);
        std::future::pending().await
    }

    async fn input(&self, _: &CommandKey, _: &TaskInput) -> Result<u64, InputRefusal> {
        std::future::pending().await
    }

    async fn printed(
        &self,
        _: &CommandKey,
        _: &TaskOutput,
        _: usize,
    ) -> Result<TaskStreams, String> {
        Ok(TaskStreams::default())
    }

    async fn forget(&self, _: &CommandKey, _: OutputRetention) {}

    async fn sweep(&self, _: &str, _: &[String]) {}
}

#[async_trait]
impl FileHost for QuietPorts {
    async fn apply_patch(
        &self,
        _: CommandContext,
        _: CallId,
        _: String,
    ) -> Result<PatchResult, ToolError> {
        Ok(PatchResult::default())
    }
    async fn settle_patch(
        &self,
        _: &str,
        _: &CallId,
        _: &str,
    ) -> Option<Result<PatchResult, ToolError>> {
        None
    }
    async fn forget_patch(&self, _: &str, _: &CallId) {}
    async fn finish_patch(&self, _: &str, _: &CallId) -> Result<(), String> {
        Ok(())
    }
}

#[async_trait]
impl PlanHost for QuietPorts {
    async fn write(
        &self,
        _: &str,
        _: &WorkItemId,
        text: String,
        _: CancellationToken,
    ) -> Result<PlanArtifact, String> {
        Ok(PlanArtifact::of_content(
            text.as_bytes(),
            Timestamp::default(),
        ))
    }
    async fn read(&self, _: &str, _: &WorkItemId) -> Option<PlanArtifact> {
        None
    }
    async fn list(&self, _: &str) -> Result<Vec<WorkItemId>, String> {
        Ok(Vec::new())
    }
    async fn remove(&self, _: &str, _: &WorkItemId) -> Result<(), String> {
        Ok(())
    }
}

#[async_trait]
impl GuidanceHost for QuietPorts {
    async fn read(&self, _roots: GuidanceRoots) -> Guidance {
        Guidance::default()
    }

    async fn installed_skills(&self, _agent_home: &str) -> Vec<InstalledSkill> {
        Vec::new()
    }

    async fn install_skill(
        &self,
        _agent_home: &str,
        _source: SkillSource,
    ) -> Result<String, SkillFault> {
        let message = "no skill can be installed here".to_owned();
        Err(SkillFault::Refused { message })
    }

    async fn uninstall_skill(&self, _agent_home: &str, name: &str) -> Result<(), SkillFault> {
        let message = format!("skill {name:?} is not installed");
        Err(SkillFault::NotInstalled { message })
    }
}

#[async_trait]
impl HomeHost for QuietPorts {
    async fn prepare(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }
    async fn seed(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }
    async fn make_from_template(&self, _home: &str, _choice: &HomeChoice) -> Result<(), String> {
        Ok(())
    }
    async fn remove(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
        Ok(())
    }
    async fn workspace(
        &self,
        _choice: &WorkspaceChoice,
        home: &str,
    ) -> Result<WorkspaceEntry, String> {
        Ok(WorkspaceEntry::agent_home(home))
    }
}

#[async_trait]
impl WorkspaceHost for QuietPorts {
    async fn select(&self, order: WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure> {
        Err(unknown_workspace(&order))
    }
    async fn attach(&self, order: WorkspaceOrder) -> Result<AttachedWorkspace, WorkspaceFailure> {
        Err(unknown_workspace(&order))
    }
    async fn clean(&self, _: Vec<WorktreeUser>, _: bool) -> Result<WorktreeReport, String> {
        Ok(WorktreeReport::default())
    }
}

fn unknown_workspace(order: &WorkspaceOrder) -> WorkspaceFailure {
    let named = format!("{:?} is not there", order.request.selector);
    WorkspaceFailure::new(WorkspaceErrorKind::InvalidPath, named)
}

#[async_trait]
impl Clock for QuietPorts {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
    async fn sleep_until(&self, _elapsed: Duration) {
        std::future::pending().await
    }
}

#[derive(Debug)]
struct Counter(u128);

impl Entropy for Counter {
    fn next(&mut self) -> u128 {
        self.0 += 1;
        self.0
    }
}

impl EntropySource for QuietPorts {
    fn source(&self) -> Box<dyn Entropy + Send> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Box::new(Counter(u128::from(number) << 40))
    }
}

fn shell(dir: &std::path::Path, quiet: &Arc<QuietPorts>) -> Shell {
    let path = dir.join("holon.sqlite3");
    let db = Db::open(&path).unwrap();
    let ports = Ports {
        model: quiet.clone(),
        command: quiet.clone(),
        file: quiet.clone(),
        plan: quiet.clone(),
        guidance: quiet.clone(),
        home: quiet.clone(),
        workspace: quiet.clone(),
        clock: quiet.clone(),
        entropy: quiet.clone(),
    };
    let facts = HostConditions::new(ModelChain::only(ModelRef::parse("test/model").unwrap()));
    let readers = Readers::open(&path).unwrap();
    Shell::new(
        Arc::new(SqliteStore::start(db, readers)),
        Kernel::new(SharedConditions::new(facts)),
        ports,
        crate::Conduct::default(),
    )
}

fn new_agent(id: &AgentId) -> NewAgent {
    NewAgent {
        identity: AgentIdentity {
            agent_id: id.clone(),
            kind: AgentKind::Default,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
        },
        agent_home: "/agents/main".to_owned(),
        workspace: WorkspaceEntry::agent_home("/agents/main"),
        model: None,
        run: None,
    }
}

/// Commits an input without starting its work, as if the commit were unconfirmed.
async fn commit_unheard(shell: &Shell, id: &AgentId, input: Input) {
    let (inner, id) = (shell.clone(), id.clone());
    let handled = commit(shell.store.as_ref(), 0, move |ledger| {
        let mut entropy = inner.ports.entropy.source();
        let now = inner.ports.clock.now();
        inner
            .kernel
            .handle(ledger, &id, &input, now, entropy.as_mut())
    });
    handled.await.unwrap().unwrap();
}

fn prompt() -> Input {
    Input::Admit(Box::new(Ingress::operator_prompt(
        "hello".to_owned(),
        Priority::Normal,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    )))
}

fn calls(commands: &[serde_json::Value]) -> ModelReply {
    let call = |input: &serde_json::Value| {
        ReplyBlock::Call(RequestedCall {
            provider_id: None,
            name: "ExecCommand".to_owned(),
            input: input.clone(),
        })
    };
    ModelReply {
        blocks: commands.iter().map(call).collect(),
        stop_reason: StopReason::ToolUse,
        usage: TokenUsage::new(10, 2),
    }
}

async fn open_effects(shell: &Shell) -> Vec<EffectRecord> {
    let id = AgentId::parse("main").unwrap();
    shell.store.open_effects(&id, 0, 9).await.unwrap()
}

#[tokio::test]
async fn what_a_doubtful_commit_asked_for_is_done_and_what_is_in_hand_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (quiet, mut requests) = QuietPorts::new();
    let shell = shell(dir.path(), &quiet);
    let id = AgentId::parse("main").unwrap();
    shell.create(new_agent(&id)).await.unwrap();
    commit_unheard(&shell, &id, prompt()).await;
    shell.clear_up(&id).await;
    let (request, _) = requests.recv().await.expect("the model is asked");
    assert_eq!(request.round, 1);
    let commits = shell.store.commits();
    shell.clear_up(&id).await;
    assert_eq!(shell.store.commits(), commits, "it is in hand");
    assert!(requests.is_empty());
}

#[tokio::test]
async fn of_several_open_effects_one_that_nobody_holds_has_all_of_them_taken_up_once() {
    let dir = tempfile::tempdir().unwrap();
    let (quiet, mut requests) = QuietPorts::new();
    let shell = shell(dir.path(), &quiet);
    let id = AgentId::parse("main").unwrap();
    shell.create(new_agent(&id)).await.unwrap();
    shell.submit(&id, Sender::Runtime, prompt()).await.unwrap();
    let (_, answer) = requests.recv().await.expect("the model is asked");
    answer
        .send(calls(&[
            json!({ "cmd": "one", "yield_time_ms": 0 }),
            json!({ "cmd": "two" }),
        ]))
        .unwrap();
    let (stamp, run) = loop {
        // The first command has become a task; the call waits for the second.
        let open = open_effects(&shell).await;
        if let [_, second] = &open[..]
            && let Some(run) = shell.find_tool_run(second).await
        {
            break (Stamp::of(second), run);
        }
    };
    let (call, HostAction::ExecCommand(command)) = (run.call, run.action) else {
        panic!("the second call is a command");
    };
    let one = match &open_effects(&shell).await[0].effect {
        Effect::WatchTask { task_id } => task_id.to_string(),
        other => panic!("the first command is a task: {other:?}"),
    };
    let two = holon_domain::TaskId::of_call(&call.id).to_string();
    quiet.follows(&[&one, &two]).await;
    // The second command continues as a task too, without a confirmed commit.
    let workspace = WorkspaceEntry::agent_home("/agents/main");
    let goes_on = CommandTaskSpec::of(&call.id, &command, &workspace);
    let finished = Input::ToolFinished {
        stamp,
        consequence: Consequence::Task {
            result: ToolEnvelope::success("ExecCommand", "goes on", json!({})),
            spec: Box::new(goes_on),
        },
        duration_ms: 0,
    };
    commit_unheard(&shell, &id, finished).await;
    let held: Vec<u64> = shell.lock_running().keys().map(|(_, id)| *id).collect();
    let open = open_effects(&shell).await;
    let unheld = open.iter().filter(|effect| !held.contains(&effect.id));
    assert_eq!((open.len(), unheld.count()), (3, 2), "{open:?}");

    shell.clear_up(&id).await;
    let (request, _) = requests.recv().await.expect("the turn goes on");
    assert_eq!(request.round, 2);
    let names = open_effects(&shell).await;
    assert_eq!(names.len(), 3);
    let held: Vec<u64> = shell.lock_running().keys().map(|(_, id)| *id).collect();
    assert!(names.iter().all(|effect| held.contains(&effect.id)));
    let commits = shell.store.commits();
    shell.clear_up(&id).await;
    assert_eq!(shell.store.commits(), commits, "all is in hand");
    assert!(requests.is_empty());
}

#[tokio::test]
async fn a_patch_whose_turn_was_called_off_before_it_began_never_begins() {
    let dir = tempfile::tempdir().unwrap();
    let (quiet, mut requests) = QuietPorts::new();
    let shell = shell(dir.path(), &quiet);
    let id = AgentId::parse("main").unwrap();
    shell.create(new_agent(&id)).await.unwrap();
    let action = ApplyPatch {
        digest: "f00d".to_owned(),
    };
    // Read while the call was running; the stop and the effect that finishes the patch have come and gone since.
    let run = ToolRun {
        agent_id: id.clone(),
        agent_home: "/agents/main".to_owned(),
        guidance_roots: GuidanceRoots {
            kind: AgentKind::Default,
            agent_home: "/agents/main".to_owned(),
            workspace_anchor: None,
        },
        effect: 1,
        call: ToolCall {
            id: CallId::from_stored("call_1"),
            name: "ApplyPatch".to_owned(),
            input: json!({}),
            provider_id: None,
        },
        action: HostAction::ApplyPatch(action.clone()),
        workspace: WorkspaceEntry::agent_home("/agents/main"),
        attached: WorkspaceSet::default(),
        may_attach: true,
    };
    let context = || CommandContext {
        agent_id: id.clone(),
        agent_home: run.agent_home.clone(),
        workspace: run.workspace.clone(),
    };
    let nothing_in_hand = shell.apply_patch(&run, context(), &action).await;
    assert!(nothing_in_hand.is_none());
    shell.submit(&id, Sender::Runtime, prompt()).await.unwrap();
    let (_, answer) = requests.recv().await.expect("the model is asked");
    answer.send(calls(&[json!({ "cmd": "make" })])).unwrap();
    while shell.call_in_hand(&id).await.unwrap().is_none() {}
    let another_in_hand = shell.apply_patch(&run, context(), &action).await;
    assert!(another_in_hand.is_none());
}

#[tokio::test]
async fn a_fault_that_was_found_before_a_start_does_not_put_the_agent_aside_after_it() {
    let dir = tempfile::tempdir().unwrap();
    let (quiet, _requests) = QuietPorts::new();
    let shell = shell(dir.path(), &quiet);
    let id = AgentId::parse("main").unwrap();
    shell.create(new_agent(&id)).await.unwrap();
    let is_aside = async || shell.store.home_of_aside(&id).await.unwrap().is_some();
    let found_before = shell.take_backs.of(&id);
    shell
        .put_aside(&id, "log 7: cut off".to_owned(), found_before)
        .await;
    assert!(is_aside().await);
    shell.take_back(&id).await.unwrap();
    assert!(!is_aside().await);
    // Another operation had met the same row and reports it only now.
    shell
        .put_aside(&id, "log 7: cut off".to_owned(), found_before)
        .await;
    assert!(!is_aside().await, "it was mended since");
    let found_now = shell.take_backs.of(&id);
    shell
        .put_aside(&id, "log 8: cut off".to_owned(), found_now)
        .await;
    assert!(is_aside().await);
}
