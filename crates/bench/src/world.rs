//! A host in process with instant or held models, for what is measured without HTTP.

use async_trait::async_trait;
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelRef};
use holon_domain::{AgentId, Timestamp};
use holon_engine::ports::{Clock, Ports};
use holon_engine::request::{CreateAgent, Ingress, WorkspaceChoice};
use holon_engine::{Host, HostConfig};
use holon_store::Db;
use holon_testkit::ports::{
    CountingEntropy, FixedModel, InstantPorts, MemoryGuidance, MemoryPlans, ScriptedHomes,
    ScriptedWorkspaces,
};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

#[derive(Debug)]
struct WallClock(Instant);

#[async_trait]
impl Clock for WallClock {
    fn now(&self) -> Timestamp {
        holon_daemon::wall_clock()
    }
    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
    async fn sleep_until(&self, elapsed: Duration) {
        tokio::time::sleep(elapsed.saturating_sub(self.elapsed())).await;
    }
}

/// Ports without a world behind them.
pub(crate) fn ports(model: FixedModel) -> Ports {
    Ports {
        model: Arc::new(model),
        command: Arc::new(InstantPorts),
        file: Arc::new(InstantPorts),
        plan: Arc::new(MemoryPlans::default()),
        guidance: Arc::new(MemoryGuidance::default()),
        home: Arc::new(ScriptedHomes::default()),
        workspace: Arc::new(ScriptedWorkspaces::default()),
        outbound: Arc::new(holon_engine::ports::NoOutbound),
        web: Arc::new(holon_engine::ports::NoWeb),
        memory: Arc::new(holon_engine::ports::NoMemoryFiles),
        clock: Arc::new(WallClock(Instant::now())),
        entropy: Arc::new(CountingEntropy::spread()),
    }
}

/// Starts a host on a database file.
pub(crate) async fn host(
    db_path: &Path,
    model: FixedModel,
) -> Result<Host, Box<dyn std::error::Error>> {
    let chain = ModelChain::only(ModelRef::parse("bench/instant")?);
    host_with(db_path, ports(model), chain).await
}

/// Starts a host with these ports, whose agents ask these models.
pub(crate) async fn host_with(
    db_path: &Path,
    ports: Ports,
    models: ModelChain,
) -> Result<Host, Box<dyn std::error::Error>> {
    let config = HostConfig {
        db_path: db_path.to_owned(),
        agents_dir: "/agents".to_owned(),
        default_agent: AgentId::parse("main")?,
        models,
        conduct: holon_engine::Conduct::default(),
    };
    Ok(Host::start(config, ports, Db::open(db_path)?).await?)
}

/// Makes an agent and waits until it may run.
pub(crate) async fn agent(host: &Host, name: &str) -> Result<AgentId, Box<dyn std::error::Error>> {
    let agent_id = AgentId::parse(name)?;
    let mut news = host.reads().subscribe();
    let request = CreateAgent {
        agent_id: agent_id.clone(),
        workspace: WorkspaceChoice::default(),
        home: Default::default(),
        model: None,
    };
    host.control().create_agent(request).await?;
    loop {
        let status = host.reads().status(&agent_id).await?;
        if status.agent.lifecycle == holon_domain::agent::Lifecycle::Runnable {
            return Ok(agent_id);
        }
        tokio::select! {
            _ = news.recv() => {}
            () = tokio::time::sleep(Duration::from_millis(5)) => {}
        }
    }
}

pub(crate) const SHORT_PROMPT: &str = "say hello to the operator";

/// A short operator prompt.
pub(crate) fn prompt() -> Ingress {
    prompt_of(SHORT_PROMPT.to_owned())
}

/// An operator prompt with this text.
pub(crate) fn prompt_of(text: String) -> Ingress {
    Ingress::operator_prompt(
        text,
        Priority::Normal,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    )
}
