//! After a commit nobody could be sure of: what it asked for is done, once.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

use crate::facts::SharedFacts;
use crate::kernel::Kernel;
use crate::ports::{
    Clock, CommandContext, CommandHost, EntropySource, FileHost, HomeHost, ModelClient, Ports,
};
use crate::request::{Ingress, WorkspaceChoice};
use crate::shell::Shell;
use async_trait::async_trait;
use holon_core::input::NewAgent;
use holon_core::{HostFacts, Input};
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::command::{CommandFailure, CommandOutput};
use holon_domain::file_change::PatchApplied;
use holon_domain::intent::{ApplyPatch, ExecCommand};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::{ModelPolicy, PolicySource};
use holon_domain::tool::ToolError;
use holon_domain::workspace::WorkspaceEntry;
use holon_domain::{AgentId, CallId, Entropy, Timestamp};
use holon_store::{Db, Readers, Writer};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

/// Everything outside, as quiet as it can be: requests to the model are shown and never answered.
#[derive(Debug)]
struct Quiet {
    asked: mpsc::UnboundedSender<ModelRequest>,
    numbers: AtomicU64,
}

#[async_trait]
impl ModelClient for Quiet {
    async fn call(
        &self,
        request: ModelRequest,
        _cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        drop(self.asked.send(request));
        std::future::pending().await
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

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }
}

#[async_trait]
impl CommandHost for Quiet {
    async fn run(
        &self,
        _context: CommandContext,
        _command: ExecCommand,
        _cancel: CancellationToken,
    ) -> Result<CommandOutput, CommandFailure> {
        Err(CommandFailure::Cancelled)
    }
}

#[async_trait]
impl FileHost for Quiet {
    async fn apply_patch(
        &self,
        _: CommandContext,
        _: CallId,
        _: ApplyPatch,
    ) -> Result<PatchApplied, ToolError> {
        Ok(PatchApplied::default())
    }
    async fn settle_patch(
        &self,
        _: &str,
        _: &CallId,
        _: &ApplyPatch,
    ) -> Option<Result<PatchApplied, ToolError>> {
        None
    }
    async fn forget_patch(&self, _: &str, _: &CallId) {}
}

#[async_trait]
impl HomeHost for Quiet {
    async fn prepare(&self, _agent_id: &AgentId, _agent_home: &str) -> Result<(), String> {
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
impl Clock for Quiet {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_800_000_000_000)
    }
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
    async fn sleep_until(&self, _at: Timestamp) {
        std::future::pending().await
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

impl EntropySource for Quiet {
    fn source(&self) -> Box<dyn Entropy + Send> {
        let number = self.numbers.fetch_add(1, Ordering::Relaxed);
        Box::new(Numbers(u128::from(number) << 40))
    }
}

fn shell(dir: &std::path::Path, quiet: &Arc<Quiet>) -> Shell {
    let path = dir.join("holon.sqlite3");
    let db = Db::open(&path).unwrap();
    let ports = Ports {
        model: quiet.clone(),
        command: quiet.clone(),
        file: quiet.clone(),
        home: quiet.clone(),
        clock: quiet.clone(),
        entropy: quiet.clone(),
    };
    let facts = HostFacts {
        models: ModelChain::only(ModelRef::parse("test/model").unwrap()),
    };
    let readers = Readers::open(&path).unwrap();
    Shell::new(
        Writer::start(db),
        readers,
        Kernel::new(SharedFacts::new(facts)),
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
            temporary: false,
        },
        agent_home: "/agents/main".to_owned(),
        workspace: WorkspaceEntry::agent_home("/agents/main"),
        model: None,
    }
}

/// Commits an input as one whose work nobody hears of.
async fn commit_unheard(shell: &Shell, id: &AgentId, input: Input) {
    let (inner, id) = (shell.clone(), id.clone());
    let handled = shell.writer.write(0, move |tx| {
        let mut entropy = inner.ports.entropy.source();
        let now = inner.ports.clock.now();
        inner
            .kernel
            .handle(tx, &id, input.clone(), now, entropy.as_mut())
    });
    handled.await.unwrap().unwrap();
}

#[tokio::test]
async fn what_a_doubtful_commit_asked_for_is_done_and_what_is_in_hand_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (asked, mut requests) = mpsc::unbounded_channel();
    let quiet = Arc::new(Quiet {
        asked,
        numbers: AtomicU64::new(1),
    });
    let shell = shell(dir.path(), &quiet);
    let id = AgentId::parse("main").unwrap();
    shell.create(new_agent(&id)).await.unwrap();
    let prompt = Ingress::operator_prompt(
        "hello".to_owned(),
        Priority::Normal,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    );
    commit_unheard(&shell, &id, Input::Admit(Box::new(prompt))).await;
    shell.clear_up(&id).await;
    let request = requests.recv().await.expect("the model is asked");
    assert_eq!(request.round, 1);
    let commits = shell.writer.commits();
    shell.clear_up(&id).await;
    assert_eq!(shell.writer.commits(), commits, "it is in hand");
    assert!(requests.is_empty());
}
