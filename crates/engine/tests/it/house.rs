//! A host on its own database, with all ports controlled by the test.

use holon_core::invariant::{self, StoredRows, StoredWork};
use holon_domain::AgentId;
use holon_domain::agent::AgentRecord;
use holon_domain::brief::BriefRecord;
use holon_domain::event::Event;
use holon_domain::feed::{EventOrder, EventQuery};
use holon_domain::message::{AdmissionContext, DeliverySurface, Priority};
use holon_domain::model::{ModelChain, ModelRef};
use holon_domain::summary::AgentSummary;
use holon_domain::task::{TaskRecord, TaskStatus};
use holon_engine::ports::{MemoryFiles, ModelClient, NoMemoryFiles, Ports};
use holon_engine::request::{AdmittedMessage, CreateAgent, Ingress};
use holon_engine::{Conduct, Error, Host, HostConfig, Scope};
use holon_store::{Db, Occupant, Readers};
use holon_testkit::ports::{
    CountingEntropy, FakeCommandHost, FakeCommands, ManualClock, MemoryGuidance, MemoryPlans,
    ScriptedFiles, ScriptedHomes, ScriptedModel, ScriptedWeb, ScriptedWorkspaces,
};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The ports and files around a host. They outlive every host of a test.
#[derive(Debug)]
pub(crate) struct House {
    dir: TempDir,
    pub(crate) model: Arc<ScriptedModel>,
    pub(crate) commands: Arc<FakeCommands>,
    pub(crate) files: Arc<ScriptedFiles>,
    pub(crate) plans: Arc<MemoryPlans>,
    pub(crate) guidance: Arc<MemoryGuidance>,
    pub(crate) homes: Arc<ScriptedHomes>,
    pub(crate) workspaces: Arc<ScriptedWorkspaces>,
    pub(crate) outbound: Arc<holon_testkit::outbound::ScriptedOutbound>,
    pub(crate) web: Arc<ScriptedWeb>,
    /// Without files, unless a test sets another.
    pub(crate) memory: Arc<dyn MemoryFiles>,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) entropy: Arc<CountingEntropy>,
    models: ModelChain,
    /// Cancelled when the process of this house crashes.
    gone: CancellationToken,
    readers: OnceLock<Readers>,
}

impl Drop for House {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.commands.check();
        }
    }
}

impl House {
    pub(crate) fn new() -> Self {
        let default = ModelRef::parse("test/model").expect("a model");
        Self::asking(ModelChain::only(default))
    }

    /// A house that starts with this compressed database.
    pub(crate) fn with_store(compressed: &[u8]) -> Self {
        let house = Self::new();
        let mut file = std::fs::File::create(house.db_path()).expect("a file");
        let mut store = flate2::read::GzDecoder::new(compressed);
        std::io::copy(&mut store, &mut file).expect("a database");
        house
    }

    /// A house whose hosts use these models.
    pub(crate) fn asking(models: ModelChain) -> Self {
        let clock = Arc::<ManualClock>::default();
        Self {
            dir: TempDir::new().expect("a temporary directory"),
            model: Arc::default(),
            commands: FakeCommands::new(Arc::clone(&clock)),
            files: Arc::default(),
            plans: Arc::default(),
            guidance: Arc::default(),
            homes: Arc::default(),
            workspaces: Arc::default(),
            outbound: Arc::default(),
            web: Arc::default(),
            memory: Arc::new(NoMemoryFiles),
            clock,
            entropy: Arc::default(),
            models,
            gone: CancellationToken::new(),
            readers: OnceLock::new(),
        }
    }

    fn db_path(&self) -> PathBuf {
        self.dir.path().join("holon.sqlite3")
    }

    /// Size of the database file, in bytes. After a shutdown it holds everything that was committed.
    pub(crate) fn stored_bytes(&self) -> u64 {
        let file = std::fs::metadata(self.db_path());
        file.expect("a database").len()
    }

    /// Returns true if a file of the store holds this text.
    pub(crate) fn files_hold(&self, text: &str) -> bool {
        let files = std::fs::read_dir(self.dir.path()).expect("a directory");
        files.flatten().any(|file| {
            let bytes = std::fs::read(file.path()).unwrap_or_default();
            bytes
                .windows(text.len())
                .any(|part| part == text.as_bytes())
        })
    }

    /// Executes SQL on the database beside the host.
    pub(crate) fn damage(&self, sql: &str) {
        let changed = holon_testkit::damage::sql(&self.db_path(), sql);
        assert!(changed > 0, "{sql}");
    }

    /// Reads the number that a query finds.
    pub(crate) fn number(&self, sql: &str) -> u64 {
        let found = self.query(sql);
        let first = found.first().expect("a row");
        first
            .parse()
            .unwrap_or_else(|_| panic!("{sql} found {first}"))
    }

    /// Executes SQL on the database beside the host, which may change nothing. Returns the number of changed rows.
    pub(crate) fn try_damage(&self, sql: &str) -> usize {
        holon_testkit::damage::sql(&self.db_path(), sql)
    }

    /// Reads the first column of what a query finds.
    pub(crate) fn query(&self, sql: &str) -> Vec<String> {
        holon_testkit::damage::rows(&self.db_path(), sql)
    }

    /// Changes the schema of the database beside the host.
    pub(crate) fn alter(&self, sql: &str) {
        holon_testkit::damage::sql(&self.db_path(), sql);
    }

    /// Starts a host on this house's database.
    pub(crate) async fn start(&self) -> Host {
        self.start_with(u64::MAX).await
    }

    /// Starts a host that keeps this many bytes of events.
    pub(crate) async fn start_with(&self, event_budget_bytes: u64) -> Host {
        self.start_as(Conduct {
            event_budget_bytes,
            ..Conduct::default()
        })
        .await
    }

    /// Starts a host with this conduct.
    pub(crate) async fn start_as(&self, conduct: Conduct) -> Host {
        self.start_on(conduct, self.model.clone()).await
    }

    /// Starts a host with this conduct that asks another model than the house's own.
    pub(crate) async fn start_on(&self, conduct: Conduct, model: Arc<dyn ModelClient>) -> Host {
        let config = HostConfig {
            db_path: self.db_path(),
            agents_dir: "/agents".to_owned(),
            default_agent: agent("main"),
            models: self.models.clone(),
            conduct,
        };
        let ports = Ports {
            model,
            command: Arc::new(FakeCommandHost::new(
                self.commands.clone(),
                self.gone.clone(),
            )),
            file: self.files.clone(),
            plan: self.plans.clone(),
            guidance: self.guidance.clone(),
            home: self.homes.clone(),
            workspace: self.workspaces.clone(),
            outbound: self.outbound.clone(),
            memory: self.memory.clone(),
            web: self.web.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
        };
        let occupant = match &config.conduct.scope {
            Scope::All => Occupant::Host,
            Scope::Run(agent_id) => Occupant::Run(agent_id.clone()),
        };
        let db = Db::open_for(&self.db_path(), occupant).expect("a database");
        Host::start(config, ports, db).await.expect("a host")
    }

    /// Starts a host with agent `main`, whose home is prepared.
    pub(crate) async fn with_main(&self) -> Host {
        let host = self.start().await;
        create(&host, "main").await;
        host
    }

    /// The row of an agent, if it exists and can be read.
    pub(crate) async fn record(&self, id: &AgentId) -> Option<AgentRecord> {
        let id = id.clone();
        let read = self.readers().read(move |reader| reader.agent(&id));
        read.await.ok().flatten().map(|(_, agent)| agent)
    }

    /// The agents that a boot would recover.
    pub(crate) async fn to_recover(&self) -> Vec<AgentId> {
        let read = self
            .readers()
            .read(|reader| reader.agents_to_recover(None, 100));
        read.await.expect("agents").agents
    }

    /// Waits until no row of an agent is left, readable or not.
    pub(crate) async fn is_gone(&self, id: &AgentId) {
        loop {
            let wanted = id.clone();
            let read = self.readers().read(move |reader| reader.settings(&wanted));
            if read.await == Ok(None) {
                return;
            }
        }
    }

    /// The rows of an agent's tasks, oldest first.
    pub(crate) async fn tasks(&self, name: &str) -> Vec<TaskRecord> {
        let id = agent(name);
        let read = self.readers().read(move |reader| {
            let (no, _) = reader.agent(&id)?.expect("an agent");
            reader.tasks(no, 1_000)
        });
        let mut tasks = read.await.expect("tasks");
        tasks.reverse();
        tasks
    }

    /// Waits until the one task of an agent has this status, and returns it.
    pub(crate) async fn task_is(&self, name: &str, status: TaskStatus) -> TaskRecord {
        loop {
            let tasks = self.tasks(name).await;
            if let [task] = tasks.as_slice()
                && task.status == status
            {
                return task.clone();
            }
        }
    }

    /// The names of an agent's open effects, in the order they were opened.
    pub(crate) async fn open_effects(&self, name: &str) -> Vec<&'static str> {
        self.open_effects_of(agent(name)).await
    }

    async fn open_effects_of(&self, id: AgentId) -> Vec<&'static str> {
        let read = self
            .readers()
            .read(move |reader| reader.open_effects(&id, 0, 100));
        let open = read.await.expect("effects");
        open.iter().map(|record| record.effect.name()).collect()
    }

    /// Waits until one agent has open effects, and these are exactly one of this name.
    pub(crate) async fn is_left_with(&self, effect: &str) {
        loop {
            let read = self
                .readers()
                .read(|reader| reader.agents_to_recover(None, 100));
            if let [id] = read.await.expect("agents").agents.as_slice()
                && self.open_effects_of(id.clone()).await == [effect]
            {
                return;
            }
        }
    }

    /// Waits until an agent has no open effects.
    pub(crate) async fn has_no_effects(&self, name: &str) {
        while !self.open_effects(name).await.is_empty() {}
        self.is_sound(name).await;
    }

    /// Checks that every open effect is one that the agent's state waits for, and that none is missing.
    pub(crate) async fn is_sound(&self, name: &str) {
        let id = agent(name);
        let read = self.readers().read(move |reader| {
            let (no, agent) = reader.agent(&id)?.expect("an agent");
            Ok((agent, reader.queue(no)?, reader.outstanding(no)?))
        });
        let (agent, queue, outstanding) = read.await.expect("an agent");
        let work = StoredWork {
            items: outstanding.items,
            summaries: outstanding.summaries,
            waits: outstanding.waits,
            timers: outstanding.timers,
            hints: outstanding.hints.len(),
        };
        let stored = StoredRows {
            work,
            effects: outstanding.effects,
            due: outstanding.due,
            tasks: outstanding.tasks,
            dequeued: outstanding.dequeued,
            held: outstanding.held,
            attempts: outstanding.attempts,
            occupancy: outstanding.occupancy,
        };
        let broken = invariant::check(&agent, &queue, &stored);
        assert!(broken.is_empty(), "{broken:?}");
    }

    pub(crate) fn readers(&self) -> &Readers {
        self.readers
            .get_or_init(|| Readers::open(&self.db_path()).expect("a database"))
    }

    /// Copies the database as a crash at this moment would leave it, for another host. The commands continue; the
    /// crashed host does nothing more to them.
    pub(crate) fn after_crash(&self) -> Self {
        self.gone.cancel();
        let copy = Self {
            dir: TempDir::new().expect("a temporary directory"),
            model: Arc::default(),
            commands: self.commands.clone(),
            files: Arc::default(),
            plans: self.plans.clone(),
            guidance: self.guidance.clone(),
            homes: Arc::default(),
            workspaces: Arc::default(),
            outbound: Arc::default(),
            web: Arc::default(),
            memory: self.memory.clone(),
            clock: self.clock.clone(),
            entropy: self.entropy.clone(),
            models: self.models.clone(),
            gone: CancellationToken::new(),
            readers: OnceLock::new(),
        };
        // The WAL is copied first: a checkpoint between the two copies is then in both.
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
    AgentId::parse_stored(name).expect("a name")
}

/// Creates an agent and waits until it can run.
pub(crate) async fn create(host: &Host, name: &str) {
    let request = CreateAgent {
        agent_id: agent(name),
        workspace: Default::default(),
        home: Default::default(),
        model: None,
    };
    host.control()
        .create_agent(request)
        .await
        .expect("an agent");
    let runnable = holon_domain::agent::Lifecycle::Runnable;
    until(host, name, |status| status.agent.lifecycle == runnable).await;
}

/// Number of commits, including every one that a reader can see. A reader sees a commit before it is counted, so this
/// first starts the agent again, which changes nothing and returns after all earlier commits are counted.
pub(crate) async fn commits(host: &Host, name: &str) -> u64 {
    let started = host.control().start_agent(&agent(name)).await;
    started.expect("nothing to start");
    host.commits()
}

/// Admits an operator's prompt.
pub(crate) async fn prompt(host: &Host, name: &str, text: &str) -> AdmittedMessage {
    try_prompt(host, name, text, Priority::Normal)
        .await
        .expect("admitted")
}

/// Admits an operator's prompt that enters the running turn.
pub(crate) async fn interject(host: &Host, name: &str, text: &str) -> AdmittedMessage {
    try_prompt(host, name, text, Priority::Interject)
        .await
        .expect("admitted")
}

pub(crate) async fn try_prompt(
    host: &Host,
    name: &str,
    text: &str,
    priority: Priority,
) -> Result<AdmittedMessage, Error> {
    let ingress = Ingress::operator_prompt(
        text.to_owned(),
        priority,
        DeliverySurface::HttpControlPrompt,
        AdmissionContext::ControlAuthenticated,
    );
    host.control().admit(&agent(name), ingress).await
}

pub(crate) async fn status(host: &Host, name: &str) -> AgentSummary {
    host.reads().status(&agent(name)).await.expect("a status")
}

/// Waits until an agent's status satisfies the condition. Each read waits for a reader thread, so other tasks can
/// proceed.
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

/// Waits until there are this many briefs, and returns them.
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

/// Waits until no turn is open and nothing is queued.
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

/// Waits for an event of this kind and returns the number of them.
pub(crate) async fn until_event(host: &Host, name: &str, kind: &str) -> usize {
    loop {
        let all = events(host, name).await;
        let count = all.iter().filter(|event| event.kind() == kind).count();
        if count > 0 {
            return count;
        }
    }
}
