//! After an unconfirmed commit, its work is performed exactly once.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

pub(in crate::shell) mod ports;

use crate::conditions::SharedConditions;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::ports::{CommandContext, Ports};
use crate::request::Ingress;
use crate::shell::{Sender, Shell};
use crate::tool_run::ToolRun;
use holon_core::input::NewAgent;
use holon_core::{HostConditions, Input, Stamp};
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::attempt::TokenUsage;
use holon_domain::block::ToolCall;
use holon_domain::consequence::Consequence;
use holon_domain::effect::{Effect, EffectRecord};
use holon_domain::guidance::{CallingTurn, GuidanceRoots};
use holon_domain::intent::{ApplyPatch, HostAction};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{
    ModelChain, ModelRef, ModelReply, ReplyBlock, RequestedCall, StopReason,
};
use holon_domain::task::CommandTaskSpec;
use holon_domain::tool::ToolEnvelope;
use holon_domain::workspace::{WorkspaceEntry, WorkspaceSet};
use holon_domain::{AgentId, CallId, RunId};
use holon_store::{Db, Readers, SqliteStore, WriteOrder, commit};
use ports::QuietPorts;
use serde_json::json;
use std::sync::Arc;

pub(in crate::shell) fn quiet_ports(quiet: &Arc<QuietPorts>) -> Ports {
    Ports {
        model: quiet.clone(),
        command: quiet.clone(),
        file: quiet.clone(),
        plan: quiet.clone(),
        guidance: quiet.clone(),
        home: quiet.clone(),
        workspace: quiet.clone(),
        outbound: Arc::new(crate::ports::NoOutbound),
        memory: Arc::new(crate::ports::NoMemoryFiles),
        web: Arc::new(crate::ports::NoWeb),
        clock: quiet.clone(),
        entropy: quiet.clone(),
    }
}

pub(in crate::shell) fn shell(dir: &std::path::Path, quiet: &Arc<QuietPorts>) -> Shell {
    let path = dir.join("holon.sqlite3");
    let db = Db::open(&path).unwrap();
    let facts = HostConditions::new(ModelChain::only(ModelRef::parse("test/model").unwrap()));
    let readers = Readers::open(&path).unwrap();
    Shell::new(
        Arc::new(SqliteStore::start(db, readers)),
        Kernel::new(SharedConditions::new(facts)),
        quiet_ports(quiet),
        crate::Conduct::default(),
    )
}

pub(in crate::shell) fn new_agent(id: &AgentId) -> NewAgent {
    NewAgent {
        identity: AgentIdentity {
            agent_id: id.clone(),
            kind: AgentKind::Default,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            root_agent_id: None,
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
    let handled = commit(
        shell.store.as_ref(),
        WriteOrder::runtime(0),
        move |ledger| {
            let mut entropy = inner.ports.entropy.source();
            let now = inner.ports.clock.now();
            inner
                .kernel
                .handle(ledger, &id, &input, now, entropy.as_mut())
        },
    );
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
        context_management: None,
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
async fn a_look_from_before_an_agent_was_brought_back_does_not_put_it_aside_again() {
    let dir = tempfile::tempdir().unwrap();
    let (quiet, _requests) = QuietPorts::new();
    let shell = shell(dir.path(), &quiet);
    let id = AgentId::parse("main").unwrap();
    shell.create(new_agent(&id)).await.unwrap();
    let seen = shell.take_backs.of(&id);
    shell.put_aside(&id, "a torn row".to_owned(), seen).await;
    shell.take_back(&id).await.unwrap();
    // The count is raised inside the commit, so a look during it has the new count and still meets the mark.
    let marked = holon_store::Error::Aside {
        agent_id: id.clone(),
        reason: "a torn row".to_owned(),
    };
    let late = shell.read_or_put_aside(&id, async { Err::<(), _>(marked) });
    let late = late.await;
    assert!(matches!(late, Err(Error::AgentAside { .. })), "{late:?}");
    assert!(shell.store.agent(&id).await.unwrap().is_some());
    shell.submit(&id, Sender::Runtime, prompt()).await.unwrap();
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
        Effect::StartTask { task_id } | Effect::WatchTask { task_id } => task_id.to_string(),
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
        turn: CallingTurn {
            turn_index: 1,
            run_id: RunId::from_stored("run_1"),
            message_seq: 1,
        },
        call: ToolCall {
            id: CallId::from_stored("call_1"),
            name: "ApplyPatch".to_owned(),
            input: json!({}),
            provider_id: None,
        },
        model: None,
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

#[tokio::test]
async fn a_task_that_waits_for_a_removal_is_woken_by_that_of_its_own_agent() {
    let (sender, mut removed) = tokio::sync::broadcast::channel(4);
    let name = |name: &str| AgentId::parse(name).unwrap();
    sender.send(name("other")).unwrap();
    sender.send(name("main")).unwrap();
    sender.send(name("last")).unwrap();
    assert!(super::is_removed(&mut removed, &name("main")).await);
    assert_eq!(
        removed.try_recv(),
        Ok(name("last")),
        "the other was passed over"
    );
    for _ in 0..6 {
        sender.send(name("other")).unwrap();
    }
    let missed = super::is_removed(&mut removed, &name("main")).await;
    assert!(missed, "removals were missed, so it looks again");
    drop(sender);
    assert!(!super::is_removed(&mut removed, &name("main")).await);
}
