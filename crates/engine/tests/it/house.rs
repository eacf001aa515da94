//! A host on a database of its own, with everything around it in the hands of the test.

use crate::ports::{Commands, Counting, Files, Homes, Model, VirtualClock};
use holon_domain::AgentId;
use holon_domain::brief::BriefRecord;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelRef};
use holon_domain::summary::AgentSummary;
use holon_engine::ports::Ports;
use holon_engine::request::{Admitted, CreateAgent, Ingress};
use holon_engine::{Conduct, Error, Host, HostConfig};
use holon_store::Db;
use std::path::PathBuf;
use std::sync::Arc;
use tempfile::TempDir;

/// The world around a host. Hosts come and go; it stays.
#[derive(Debug)]
pub(crate) struct House {
    dir: TempDir,
    pub(crate) model: Arc<Model>,
    pub(crate) commands: Arc<Commands>,
    pub(crate) files: Arc<Files>,
    pub(crate) homes: Arc<Homes>,
    pub(crate) clock: Arc<VirtualClock>,
    entropy: Arc<Counting>,
    models: ModelChain,
}

impl House {
    pub(crate) fn new() -> Self {
        let default = ModelRef::parse("test/model").expect("a model");
        Self::asking(ModelChain::only(default))
    }

    /// A house whose hosts ask these models.
    pub(crate) fn asking(models: ModelChain) -> Self {
        Self {
            dir: TempDir::new().expect("a temporary directory"),
            model: Arc::new(Model::new()),
            commands: Arc::new(Commands::new()),
            files: Arc::new(Files::new()),
            homes: Arc::default(),
            clock: Arc::new(VirtualClock::new()),
            entropy: Arc::default(),
            models,
        }
    }

    fn db_path(&self) -> PathBuf {
        self.dir.path().join("holon.sqlite3")
    }

    /// A host on this house's database.
    pub(crate) async fn start(&self) -> Host {
        self.start_with(u64::MAX).await
    }

    /// A host that keeps this many bytes of events.
    pub(crate) async fn start_with(&self, event_budget_bytes: u64) -> Host {
        self.start_as(Conduct {
            event_budget_bytes,
            ..Conduct::default()
        })
        .await
    }

    /// A host that behaves like this.
    pub(crate) async fn start_as(&self, conduct: Conduct) -> Host {
        let config = HostConfig {
            db_path: self.db_path(),
            agents_dir: "/agents".to_owned(),
            default_agent: agent("main"),
            models: self.models.clone(),
            conduct,
        };
        let ports = Ports {
            model: self.model.clone(),
            command: self.commands.clone(),
            file: self.files.clone(),
            home: self.homes.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        };
        let db = Db::open(&self.db_path()).expect("a database");
        Host::start(config, ports, db).await.expect("a host")
    }

    /// A host with agent `main`, whose home is made.
    pub(crate) async fn with_main(&self) -> Host {
        let host = self.start().await;
        create(&host, "main").await;
        host
    }

    /// A copy of the database as a crash at this moment would leave it, on which another host can start.
    pub(crate) fn after_crash(&self) -> Self {
        let copy = Self {
            dir: TempDir::new().expect("a temporary directory"),
            model: Arc::new(Model::new()),
            commands: Arc::new(Commands::new()),
            files: Arc::new(Files::new()),
            homes: Arc::default(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            models: self.models.clone(),
        };
        // The log first: what is checkpointed between the two copies is then in both.
        for name in ["holon.sqlite3-wal", "holon.sqlite3"] {
            let from = self.dir.path().join(name);
            if from.exists() {
                std::fs::copy(&from, copy.dir.path().join(name)).expect("a copy");
            }
        }
        copy
    }
}

pub(crate) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a name")
}

/// Makes an agent and waits until it can run.
pub(crate) async fn create(host: &Host, name: &str) {
    let request = CreateAgent {
        agent_id: agent(name),
        workspace: Default::default(),
        model: None,
    };
    host.acts().create_agent(request).await.expect("an agent");
    let runnable = holon_domain::agent::Lifecycle::Runnable;
    until(host, name, |status| status.agent.lifecycle == runnable).await;
}

/// How many commits there were, every one that can be seen by now among them: a reader sees a commit before it is
/// counted. A start of what runs already changes nothing, and is answered after all that came before it is counted.
pub(crate) async fn commits(host: &Host, name: &str) -> u64 {
    let started = host.acts().start_agent(&agent(name)).await;
    started.expect("nothing to start");
    host.commits()
}

/// Admits an operator's prompt.
pub(crate) async fn prompt(host: &Host, name: &str, text: &str) -> Admitted {
    try_prompt(host, name, text, Priority::Normal)
        .await
        .expect("admitted")
}

/// Admits an operator's prompt that enters the running turn.
pub(crate) async fn interject(host: &Host, name: &str, text: &str) -> Admitted {
    try_prompt(host, name, text, Priority::Interject)
        .await
        .expect("admitted")
}

pub(crate) async fn try_prompt(
    host: &Host,
    name: &str,
    text: &str,
    priority: Priority,
) -> Result<Admitted, Error> {
    let ingress = Ingress::operator_prompt(
        text.to_owned(),
        priority,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    );
    host.acts().admit(&agent(name), ingress).await
}

pub(crate) async fn status(host: &Host, name: &str) -> AgentSummary {
    host.reads().status(&agent(name)).await.expect("a status")
}

/// Looks until an agent's status is as wanted. Each look waits for a thread that reads, so the others get their turn.
pub(crate) async fn until(
    host: &Host,
    name: &str,
    wanted: impl Fn(&AgentSummary) -> bool,
) -> AgentSummary {
    loop {
        let status = status(host, name).await;
        if wanted(&status) {
            return status;
        }
    }
}

/// Looks until there are this many briefs, and returns them.
pub(crate) async fn briefs(host: &Host, name: &str, count: usize) -> Vec<BriefRecord> {
    loop {
        let told = host
            .reads()
            .briefs(&agent(name), 100)
            .await
            .expect("briefs");
        if told.len() >= count {
            return told;
        }
    }
}

/// Looks until no turn is open and nothing is queued.
pub(crate) async fn at_rest(host: &Host, name: &str) -> AgentSummary {
    until(host, name, |status| {
        status.agent.current_run_id.is_none() && status.agent.pending == 0
    })
    .await
}

/// Every event so far, oldest first.
pub(crate) async fn events(host: &Host, name: &str) -> Vec<Event> {
    let query = EventQuery {
        before_seq: None,
        after_seq: None,
        limit: 512,
        order: EventOrder::Ascending,
    };
    let page = host.reads().events(&agent(name), query).await;
    let records = page.expect("events").events;
    records.into_iter().map(|record| record.event).collect()
}

/// Looks until an event of this kind is there; returns how many there are.
pub(crate) async fn until_event(host: &Host, name: &str, kind: &str) -> usize {
    loop {
        let all = events(host, name).await;
        let count = all.iter().filter(|event| event.kind() == kind).count();
        if count > 0 {
            return count;
        }
    }
}
