//! Starts the engine on a store and a set of ports, and shuts it down again.

use crate::conditions::SharedConditions;
use crate::conduct::{Conduct, Scope};
use crate::control::ControlHandle;
use crate::error::Error;
use crate::kernel::Kernel;
use crate::ports::Ports;
use crate::reads::{LiveFeeds, ReadHandle};
use crate::request::CreateAgent;
use crate::shell::{ClockWatch, Shell};
use holon_core::{HostConditions, Input};
use holon_domain::AgentId;
use holon_domain::model::ModelChain;
use holon_domain::summary::ExecutionProfile;
use holon_domain::usage::day_in;
use holon_store::{Db, LastExit, Readers, SqliteStore, StoreLost};
use std::path::PathBuf;
use std::sync::Arc;
use tokio::sync::watch;

/// The settings a host is started with.
#[derive(Debug, Clone)]
pub struct HostConfig {
    /// Database file, opened again by the readers.
    pub db_path: PathBuf,
    /// Directory that holds the agents' homes.
    pub agents_dir: String,
    /// Agent that is meant when a caller names none.
    pub default_agent: AgentId,
    /// Models for agents without an override, in the order they are tried.
    pub models: ModelChain,
    pub conduct: Conduct,
}

/// A running engine: its read and write interfaces and its lifecycle.
#[derive(Debug)]
pub struct Host {
    reads: ReadHandle,
    control: ControlHandle,
    last_exit: LastExit,
    lost: watch::Receiver<Option<StoreLost>>,
}

impl Host {
    /// Starts a host: binds the ports, recovers the work of the last process, and starts the due loop.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn start(config: HostConfig, ports: Ports, db: Db) -> Result<Self, Error> {
        let host = Self::open(config, ports, db)?;
        host.recover().await?;
        Ok(host)
    }

    /// Binds the ports. Reads work from now on; inputs must wait until [`Host::recover`] has returned.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn open(config: HostConfig, ports: Ports, db: Db) -> Result<Self, Error> {
        let last_exit = db.last_exit().clone();
        let epoch = db.epoch().to_owned();
        let lost = db.lost();
        let today = day_in(ports.clock.now(), &config.conduct.zone);
        let budgets = db.reader().budgets(&today)?;
        for unreadable in &budgets.unreadable {
            let row = &unreadable.row;
            tracing::error!(
                row,
                "a budget cannot be read; what it may limit makes no call"
            );
        }
        let facts = SharedConditions::new(HostConditions {
            models: config.models,
            provider_patience_ms: config.conduct.provider_patience_ms,
            started_at: ports.clock.now(),
            reserved: config.conduct.reserved.clone(),
            execution: ExecutionProfile::default(),
            default_agent: Some(config.default_agent.clone()),
            delivery_targets: db.reader().delivery_targets()?.into(),
            callback_base: config.conduct.callback_base.clone(),
            budgets: Arc::default(),
            unreadable_budgets: Arc::default(),
            budget_defaults: config.conduct.budget_defaults,
            zone: config.conduct.zone.clone(),
            operator_zone: config.conduct.operator_zone.clone(),
            spawn_depth: config.conduct.spawn_depth,
        });
        facts.set_budgets(budgets);
        let readers = Readers::open(&config.db_path)?;
        let store = Arc::new(SqliteStore::start(db, readers.clone()));
        let kernel = Kernel::new(facts.clone());
        let shell = Shell::new(store, kernel, ports, config.conduct);
        let capability_key = shell.conduct.capability_key.clone();
        let (history_terms, tool_output) = (shell.conduct.history, shell.conduct.tool_output);
        let thread_terms = shell.conduct.thread;
        // Requests of clients do not wait for the performers of effects, nor these for them.
        let view_readers = readers.for_another_purpose();
        let reads = ReadHandle::new(
            view_readers.clone(),
            facts,
            &shell.ports,
            epoch,
            shell.stalled.clone(),
            LiveFeeds {
                notices: shell.store.feed(),
                deltas: shell.deltas.clone(),
            },
        )
        .with_capability_key(capability_key)
        .with_history_terms(history_terms)
        .with_thread_terms(thread_terms)
        .with_tool_output(tool_output)
        .with_memory(shell.memory.with_reads(Arc::new(view_readers.clone())));
        let control =
            ControlHandle::new(shell, view_readers, config.agents_dir, config.default_agent);
        Ok(Self {
            reads,
            control,
            last_exit,
            lost,
        })
    }

    /// Recovers the work of the last process and starts the due loop. Called once. While the disk is full it waits for
    /// space.
    ///
    /// # Errors
    /// When the store cannot be read or written.
    pub async fn recover(&self) -> Result<(), Error> {
        let shell = self.control.shell();
        let watch = ClockWatch::begin(shell.ports.clock.as_ref());
        shell.check_clock_at_boot().await?;
        shell.recover(&self.last_exit).await?;
        if shell.conduct.scope == Scope::All {
            shell.note_recovered().await;
        }
        shell.spawn(shell.clone().run_due_loop(watch));
        shell.spawn(shell.clone().run_retention_loop());
        match shell.conduct.scope {
            Scope::All => {
                let readers = self.control.readers().clone();
                shell.spawn(shell.clone().run_renewal_loop(readers));
                shell.spawn(shell.clone().run_memory_loop());
            }
            // A caller waits for the run, so its turn ends and is not suspended.
            Scope::Run(_) => {}
        }
        if !self.last_exit.was_clean() {
            let readers = self.control.readers().clone();
            shell.spawn(shell.clone().check_after_crash(readers));
        }
        if !self.last_exit.was_clean_for_all() {
            let readers = self.control.readers().clone();
            let last_exit = self.last_exit.clone();
            shell.spawn(shell.clone().sweep_all_plans(last_exit, readers));
            shell.spawn(self.control.clone().remove_leftover_homes());
        }
        shell.mark_up();
        Ok(())
    }

    /// Returns true once recovery is done and inputs are accepted.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.control.is_up()
    }

    /// Creates the default agent if it does not exist.
    ///
    /// # Errors
    /// Fails if the database cannot be read or written.
    pub async fn ensure_default_agent(&self, agent_id: AgentId) -> Result<(), Error> {
        match self.control.find(&agent_id).await {
            Ok(Some(found)) => {
                // The instructions of an agent that an earlier build made may be missing, or were deleted since.
                // It may have to wait for disk space, and the host must not.
                let shell = self.control.shell().clone();
                let agent_home = found.settings.agent_home;
                self.control.shell().spawn(async move {
                    shell.seed_home(&agent_id, &agent_home).await;
                });
                return Ok(());
            }
            Ok(None) => {}
            // The agent exists. One unreadable agent must not keep the host from starting.
            Err(Error::AgentAside { .. }) => return Ok(()),
            Err(error) => return Err(error),
        }
        let request = CreateAgent {
            agent_id,
            workspace: Default::default(),
            home: Default::default(),
            model: None,
        };
        self.control.create_agent(request).await.map(|_| ())
    }

    /// The interface for reading.
    #[must_use]
    pub fn reads(&self) -> ReadHandle {
        self.reads.clone()
    }

    /// The interface for changes.
    #[must_use]
    pub fn control(&self) -> ControlHandle {
        self.control.clone()
    }

    /// Replaces the models for turns that begin from now on. Suspended turns retry with them at once.
    pub fn set_models(&self, models: ModelChain) {
        let shell = self.control.shell();
        shell.kernel.conditions().set_models(models);
        let (shell, readers) = (shell.clone(), self.control.readers().clone());
        shell.clone().spawn(async move {
            shell
                .resume_suspended(&readers, &Input::ModelsChanged)
                .await;
        });
    }

    /// Number of commits since the start that changed something.
    #[must_use]
    pub fn commits(&self) -> u64 {
        self.control.shell().store.commits()
    }

    /// The missing file of the store, if one was deleted, moved or replaced.
    #[must_use]
    pub fn lost(&self) -> Option<StoreLost> {
        self.control.shell().store.lost()
    }

    /// Returns once the store is lost.
    pub async fn wait_until_lost(&self) -> StoreLost {
        let mut lost = self.lost.clone();
        match lost
            .wait_for(Option::is_some)
            .await
            .map(|lost| lost.clone())
        {
            Ok(Some(lost)) => lost,
            // A writer that was closed in order cannot lose its store any more.
            Ok(None) | Err(_) => std::future::pending().await,
        }
    }

    /// Stops everything at once because the store is lost. Writes nothing more.
    pub fn abandon(&self) {
        self.control.shell().abandon();
    }

    /// Shuts down within a bounded time. Agents are not stopped by it; the next start resumes their unfinished work.
    ///
    /// # Errors
    /// When the store could not be closed in order.
    pub async fn shut_down(&self) -> Result<(), Error> {
        self.control.shell().drain().await
    }
}
