//! Delegation and budgets in process: children in worktrees of a large repository, many children at once, and the
//! reservation of a call.

use crate::admission::turn;
use crate::stats::{Sample, round};
use crate::workspace::{git, make_repository};
use crate::world;
use async_trait::async_trait;
use holon_domain::AgentId;
use holon_domain::budget::{Budget, BudgetKey, BudgetPeriod, BudgetScope};
use holon_domain::delta::TextSink;
use holon_domain::model::{ModelChain, ModelFailure, ModelRef, ModelReply, ModelRequest};
use holon_domain::provider::ModelPolicy;
use holon_domain::workspace::{
    AttachedWorkspace, CleanVerdict, ReservedDirs, SelectedWorkspace, UseMode, UseWorkspace,
    WorkspaceFailure, WorkspaceOrder, WorkspaceSelector, WorktreeReport,
};
use holon_engine::Host;
use holon_engine::ports::{ModelClient, WorkspaceHost, WorktreeUsers};
use holon_testkit::ports::{FixedModel, calls, says};
use holon_workspace::{Git, ManagedWorktrees, WorkspaceSelection};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::error::Error;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use tokio_util::sync::CancellationToken;

/// Blocks of baseline and subject, in alternation.
const BLOCKS: usize = 8;

/// Children that one agent makes in one round, which is as many as a tree may have at a time.
const CHILDREN_EACH: usize = 8;

/// A limit that is never reached.
const NO_LIMIT: u64 = 1_000_000_000_000;

/// Answers every request with text, except the next ones of the agents that are to make children.
#[derive(Debug, Default)]
struct SpawningModel {
    /// Number of children and their place, by agent.
    spawns: Mutex<BTreeMap<String, (usize, &'static str)>>,
}

impl SpawningModel {
    fn spawn_next(&self, agent: &AgentId, children: usize, workspace_mode: &'static str) {
        let mut spawns = self.spawns.lock().unwrap_or_else(PoisonError::into_inner);
        spawns.insert(agent.to_string(), (children, workspace_mode));
    }
}

#[async_trait]
impl ModelClient for SpawningModel {
    async fn call(
        &self,
        request: &ModelRequest,
        _text: TextSink<'_>,
        _cancel: CancellationToken,
    ) -> Result<ModelReply, ModelFailure> {
        let agent = &request.frame.cache.agent_id;
        let mut spawns = self.spawns.lock().unwrap_or_else(PoisonError::into_inner);
        match spawns.remove(agent) {
            Some((children, workspace_mode)) => {
                let task = json!({ "initial_message": "work", "workspace_mode": workspace_mode });
                calls(&vec![("SpawnAgent", task); children])
            }
            None => says("done"),
        }
    }

    async fn check(&self, _model: &ModelRef) -> Result<(), ModelFailure> {
        Ok(())
    }

    fn policy(&self, model: &ModelRef) -> ModelPolicy {
        FixedModel::Text.policy(model)
    }
}

/// Workspaces of a real file system, without the locks of a host.
#[derive(Debug)]
struct RealWorkspaces(Arc<WorkspaceSelection>);

#[async_trait]
impl WorkspaceHost for RealWorkspaces {
    async fn select(&self, order: WorkspaceOrder) -> Result<SelectedWorkspace, WorkspaceFailure> {
        let selection = Arc::clone(&self.0);
        let done = tokio::task::spawn_blocking(move || selection.select(&order)).await;
        done.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()))
    }

    async fn attach(&self, order: WorkspaceOrder) -> Result<AttachedWorkspace, WorkspaceFailure> {
        Ok(self.select(order).await?.attached())
    }

    async fn clean(&self, _: &dyn WorktreeUsers, _: bool) -> Result<WorktreeReport, String> {
        Ok(WorktreeReport::default())
    }

    /// Keeps it: the row removes what it has measured.
    async fn changed_files(&self, _: &str) -> Result<Vec<String>, String> {
        Ok(Vec::new())
    }

    async fn clean_one(&self, _: &dyn WorktreeUsers, _: &str) -> Result<CleanVerdict, String> {
        Ok(CleanVerdict::Kept {
            reasons: Vec::new(),
        })
    }
}

/// Measures a turn that makes a child in a worktree of a repository with this many files, against the same turn without a
/// worktree and against a bare `git worktree add`.
pub(crate) async fn spawn_in_worktree(
    files: usize,
    rounds: usize,
) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let root = dir.path().canonicalize()?;
    let (repo, worktrees) = (root.join("project"), root.join("worktrees"));
    make_repository(&repo, files)?;
    let model = Arc::new(SpawningModel::default());
    let selection = WorkspaceSelection {
        worktrees: ManagedWorktrees::new(worktrees.clone(), Git::default()),
        reserved: ReservedDirs::none(),
        agents_dir: "/agents".into(),
    };
    let mut ports = world::ports(FixedModel::Text);
    ports.model = Arc::clone(&model) as Arc<dyn ModelClient>;
    ports.workspace = Arc::new(RealWorkspaces(Arc::new(selection)));
    let chain = ModelChain::only(ModelRef::parse("bench/instant")?);
    let host = world::host_with(&root.join("holon.sqlite3"), ports, chain).await?;
    let (mut bare, mut inherit, mut subject) =
        (Sample::default(), Sample::default(), Sample::default());
    for number in 0..rounds {
        // Each round has an agent of its own, because a tree makes a bounded number of children in an hour.
        let agent = world::agent(&host, &format!("parent-{number}")).await?;
        enter(&host, &agent, &repo).await?;
        let (branch, target) = (
            format!("bare-{number}"),
            root.join(format!("bare-{number}")),
        );
        let path = target.to_str().ok_or("a path that is not UTF-8")?;
        let began = Instant::now();
        git(&repo, &["worktree", "add", "--quiet", "-b", &branch, path])?;
        bare.add(began.elapsed());
        git(&repo, &["worktree", "remove", "--force", path])?;
        model.spawn_next(&agent, 1, "inherit");
        inherit.add(turn(&host, &agent).await?);
        model.spawn_next(&agent, 1, "worktree");
        subject.add(turn(&host, &agent).await?);
    }
    host.shut_down().await?;
    let (bare_ms, ms) = (bare.quantile(0.5) / 1e3, subject.quantile(0.5) / 1e3);
    Ok(json!({
        "files": files,
        "git_worktree_add": bare.report(),
        "turn_with_child": inherit.report(),
        "turn_with_child_in_worktree": subject.report(),
        "p50_ms": round(ms),
        "added_p50_ms": round(ms - bare_ms),
        "ratio_of_p50": round(ms / bare_ms * 10.0) / 10.0,
    }))
}

async fn enter(host: &Host, agent: &AgentId, repo: &Path) -> Result<(), Box<dyn Error>> {
    let path = repo.to_str().ok_or("a path that is not UTF-8")?;
    let request = UseWorkspace {
        selector: WorkspaceSelector::Path(path.to_owned()),
        mode: UseMode::Direct,
        cwd: None,
        isolation_label: None,
    };
    host.control().use_workspace(agent, request).await?;
    Ok(())
}

/// Measures many children that are made, work and report at the same time, by as many trees as they need.
pub(crate) async fn children(count: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let model = Arc::new(SpawningModel::default());
    let mut ports = world::ports(FixedModel::Text);
    ports.model = Arc::clone(&model) as Arc<dyn ModelClient>;
    let chain = ModelChain::only(ModelRef::parse("bench/instant")?);
    let host = world::host_with(&dir.path().join("holon.sqlite3"), ports, chain).await?;
    let mut parents = Vec::new();
    for number in 0..count.div_ceil(CHILDREN_EACH) {
        let agent = world::agent(&host, &format!("parent-{number}")).await?;
        model.spawn_next(&agent, CHILDREN_EACH, "inherit");
        parents.push(agent);
    }
    let began = Instant::now();
    for agent in &parents {
        host.control().admit(agent, world::prompt()).await?;
    }
    let mut news = host.reads().subscribe();
    for agent in &parents {
        // The result of every child opens a turn or joins one. Nothing is left once all of them are answered.
        loop {
            let status = host.reads().status(agent).await?;
            if status.active_task_count == 0 && status.token_usage.total_model_rounds > 1 {
                break;
            }
            drop(news.recv().await);
        }
    }
    let took = began.elapsed();
    host.shut_down().await?;
    let made = parents.len() * CHILDREN_EACH;
    Ok(json!({
        "children": made,
        "all_reported_ms": round(took.as_secs_f64() * 1e3),
        "per_child_ms": round(took.as_secs_f64() * 1e3 / made as f64),
    }))
}

/// Measures turns whose calls reserve in a budget against turns without one, in alternation on one host.
pub(crate) async fn reservation(per_block: usize) -> Result<Value, Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    let host = world::host(&dir.path().join("holon.sqlite3"), FixedModel::Text).await?;
    let agent = world::agent(&host, "worker").await?;
    let key = BudgetKey {
        scope: BudgetScope::Host,
        period: BudgetPeriod::Total,
    };
    let (mut free, mut bound) = (Sample::default(), Sample::default());
    for _ in 0..BLOCKS {
        for _ in 0..per_block {
            free.add(turn(&host, &agent).await?);
        }
        let budget = Budget {
            key: key.clone(),
            limit_tokens: Some(NO_LIMIT),
            limit_micro_usd: None,
            set_at: host.control().now(),
        };
        host.control().set_budget(budget).await?;
        for _ in 0..per_block {
            bound.add(turn(&host, &agent).await?);
        }
        host.control().clear_budget(key.clone()).await?;
    }
    host.shut_down().await?;
    let (free_us, bound_us) = (free.quantile(0.5), bound.quantile(0.5));
    Ok(json!({
        "without_budget": free.report(),
        "with_budget": bound.report(),
        "added_p50_us": round(bound_us - free_us),
        "p50_ratio": round(bound_us / free_us * 100.0) / 100.0,
    }))
}
