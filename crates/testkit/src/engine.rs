//! A real engine on its own database, for tests of the layers above it: routes, streams, refusals.
//!
//! Only the ports are scripted (see `ports`): models answer at once, homes exist without directories, and the clock
//! stands still until the test moves it.

mod archives;
mod ports;

use crate::ports::{
    CountingEntropy, InstantPorts, ManualClock, MemoryGuidance, MemoryPlans, ScriptedWorkspaces,
};
use futures_util::future::try_join_all;
use holon_domain::AgentId;
use holon_domain::agent::Lifecycle;
use holon_domain::model::{ModelChain, ModelChoice, ModelOptions, ModelRef};
use holon_domain::trigger::CapabilityKey;
use holon_engine::ports::Ports;
use holon_engine::request::CreateAgent;
use holon_engine::{Conduct, ControlHandle, Host, HostConfig, ReadHandle};
use holon_store::Db;
pub use ports::ENDLESS;
use ports::{ObligingModel, TrustedHomes};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tempfile::TempDir;

/// Inputs that are sent together, so that they share commits.
const TOGETHER: u64 = 256;

/// A host whose agents `main` and `dev` are ready.
#[derive(Debug)]
pub struct TestEngine {
    host: Host,
    clock: Arc<ManualClock>,
    /// Number of models set so far. Each is a new one, so that each change is an event.
    models_set: AtomicU64,
    dir: TempDir,
}

/// Parses an agent name.
///
/// # Panics
/// When the name is invalid.
#[must_use]
pub fn agent(name: &str) -> AgentId {
    AgentId::parse(name).unwrap()
}

impl TestEngine {
    /// Starts a host whose agents use the model `test/model`.
    pub async fn start() -> Self {
        Self::start_as(ModelChain::only(model("test/model")), Conduct::default()).await
    }

    /// Starts a host without any model.
    pub async fn start_without_model() -> Self {
        Self::start_as(ModelChain::none(), Conduct::default()).await
    }

    /// Starts a host that removes all removable events once the clock has moved by a minute.
    pub async fn start_forgetful() -> Self {
        let conduct = Conduct {
            event_budget_bytes: 0,
            ..Conduct::default()
        };
        Self::start_as(ModelChain::only(model("test/model")), conduct).await
    }

    async fn start_as(models: ModelChain, conduct: Conduct) -> Self {
        let dir = TempDir::new().unwrap();
        let db_path = dir.path().join("holon.sqlite3");
        let clock = Arc::new(ManualClock::default());
        let ports = Ports {
            model: Arc::new(ObligingModel),
            command: Arc::new(InstantPorts),
            file: Arc::new(InstantPorts),
            plan: Arc::new(MemoryPlans::default()),
            guidance: Arc::new(MemoryGuidance::default()),
            home: Arc::new(TrustedHomes),
            workspace: Arc::new(ScriptedWorkspaces::default()),
            outbound: Arc::new(crate::outbound::ScriptedOutbound::default()),
            web: Arc::new(holon_engine::ports::NoWeb),
            memory: Arc::new(holon_engine::ports::NoMemoryFiles),
            clock: Arc::clone(&clock) as Arc<_>,
            entropy: Arc::new(CountingEntropy::default()),
        };
        let config = HostConfig {
            db_path: db_path.clone(),
            agents_dir: "/agents".to_owned(),
            default_agent: agent("main"),
            models,
            conduct: Conduct {
                capability_key: CapabilityKey::new("a key of tests"),
                ..conduct
            },
        };
        let host = Host::start(config, ports, Db::open(&db_path).unwrap()).await;
        let engine = Self {
            host: host.unwrap(),
            clock,
            models_set: AtomicU64::new(0),
            dir,
        };
        for name in ["main", "dev"] {
            engine.create(name).await;
        }
        engine
    }

    /// The engine's interface for reading.
    #[must_use]
    pub fn reads(&self) -> ReadHandle {
        self.host.reads()
    }

    /// The engine's interface for changes.
    #[must_use]
    pub fn control(&self) -> ControlHandle {
        self.host.control()
    }

    /// Number of commits; a refused request adds none. Starts a running agent again, which changes nothing and returns
    /// after all earlier commits are counted.
    ///
    /// # Panics
    /// When `main` is gone.
    pub async fn commits(&self) -> u64 {
        self.control().start_agent(&agent("main")).await.unwrap();
        self.host.commits()
    }

    /// Creates an agent and waits until it can run.
    ///
    /// # Panics
    /// When it cannot be created.
    pub async fn create(&self, name: &str) {
        let request = CreateAgent {
            agent_id: agent(name),
            workspace: Default::default(),
            home: Default::default(),
            model: None,
        };
        self.control().create_agent(request).await.unwrap();
        loop {
            let status = self.reads().status(&agent(name)).await.unwrap();
            if status.agent.lifecycle == Lifecycle::Runnable {
                return;
            }
        }
    }

    /// Records this many events of an agent, many per commit, by setting its model repeatedly.
    ///
    /// # Panics
    /// When a model cannot be set.
    pub async fn record_events(&self, name: &str, count: u64) {
        let (control, id) = (self.control(), agent(name));
        let mut left = count;
        while left > 0 {
            let together = left.min(TOGETHER);
            let settings = (0..together).map(|_| {
                let number = self.models_set.fetch_add(1, Ordering::Relaxed);
                let choice = ModelChoice::Use {
                    model: model(&format!("test/model-{number}")),
                    options: ModelOptions::default(),
                };
                control.set_model(&id, choice)
            });
            try_join_all(settings).await.unwrap();
            left -= together;
        }
    }

    /// Number of an agent's newest event.
    ///
    /// # Panics
    /// When there is no such agent.
    pub async fn newest(&self, name: &str) -> u64 {
        self.reads().status(&agent(name)).await.unwrap().newest_seq
    }

    /// Makes an agent private behind the host's back: clients do not see it any more.
    ///
    /// # Panics
    /// When there is no such agent.
    pub fn hide(&self, name: &str) {
        let set = "UPDATE agents SET settings = replace(settings, '\"visibility\":\"public\"', '\"visibility\":\"private\"')";
        let sql = format!("{set} WHERE agent_id = '{name}' AND settings LIKE '%\"public\"%'");
        let db_path = self.dir.path().join("holon.sqlite3");
        assert_eq!(crate::damage::sql(&db_path, &sql), 1, "{name}");
    }

    /// Returns the bytes of the database and its journal, to look for what must not be stored.
    ///
    /// # Panics
    /// When a file cannot be read.
    #[must_use]
    pub fn stored_bytes(&self) -> Vec<u8> {
        let files = std::fs::read_dir(self.dir.path()).unwrap();
        let bytes = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
        bytes.flatten().collect()
    }

    /// Moves both clocks forward.
    pub fn advance(&self, millis: u64) {
        self.clock.advance(millis);
    }
}

fn model(text: &str) -> ModelRef {
    ModelRef::parse(text).unwrap()
}
