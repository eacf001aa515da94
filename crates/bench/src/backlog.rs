//! Databases with a long backlog of one agent: work items, queued messages and timers, written by the kernel itself.

use crate::program::Fallible;
use crate::world;
use holon_core::input::{NewAgent, WorkCommand};
use holon_core::{HostConditions, Input, Stamp};
use holon_domain::agent::{AgentIdentity, AgentKind, Ownership, ProfilePreset, Visibility};
use holon_domain::intent::NewWorkItem;
use holon_domain::model::{ModelChain, ModelRef};
use holon_domain::timer::MissedSlotPolicy;
use holon_domain::work_item::PlanStatus;
use holon_domain::{AgentId, Timestamp};
use holon_engine::SharedConditions;
use holon_engine::kernel::Kernel;
use holon_engine::ports::Ports;
use holon_store::{Db, Tx};
use holon_testkit::ports::FixedModel;
use std::path::Path;
use std::time::{Duration, Instant};

/// Inputs of one commit while a database is filled.
const PER_COMMIT: usize = 500;
/// Large messages of one commit.
const LARGE_PER_COMMIT: usize = 64;
/// First slot of the filled timers, in milliseconds from now: none fires while it is measured.
const FAR_MS: u64 = 24 * 3_600_000;

/// Inputs for one agent, handed to the kernel without a host.
pub(crate) struct Backlog {
    db: Db,
    kernel: Kernel,
    ports: Ports,
    agent_id: AgentId,
}

impl Backlog {
    /// Creates a database with one agent of this name that may run.
    pub(crate) fn create(path: &Path, name: &str) -> Fallible<Self> {
        let models = ModelChain::only(ModelRef::parse("bench/instant")?);
        let mut backlog = Self {
            db: Db::open(path)?,
            kernel: Kernel::new(SharedConditions::new(HostConditions::new(models))),
            ports: world::ports(FixedModel::Text),
            agent_id: AgentId::parse(name)?,
        };
        backlog.create_agent()?;
        Ok(backlog)
    }

    fn create_agent(&mut self) -> Fallible<()> {
        let Self {
            db,
            kernel,
            ports,
            agent_id,
        } = self;
        db.write(|tx| {
            let mut entropy = ports.entropy.source();
            let now = holon_daemon::wall_clock();
            let work = kernel.create(tx, public_agent(agent_id), now, entropy.as_mut())?;
            for effect in work.effects.values() {
                let ready = Input::HomePrepared {
                    stamp: Stamp::of(effect),
                    result: Ok(()),
                };
                handle(kernel, tx, agent_id, &ready, ports)?;
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Hands the agent this many inputs.
    fn fill(&mut self, count: usize, input: impl Fn(usize) -> Input) -> Fallible<()> {
        let numbers: Vec<usize> = (0..count).collect();
        for group in numbers.chunks(PER_COMMIT) {
            let inputs: Vec<Input> = group.iter().map(|n| input(*n)).collect();
            self.hand_over(&inputs)?;
        }
        Ok(())
    }

    pub(crate) fn add_items(&mut self, count: usize) -> Fallible<()> {
        self.fill(count, |n| {
            Input::Work(Box::new(WorkCommand::Create(NewWorkItem {
                objective: format!("objective number {n}"),
                plan_status: PlanStatus::Ready,
                todo_list: Vec::new(),
            })))
        })
    }

    pub(crate) fn add_messages(&mut self, count: usize) -> Fallible<()> {
        self.fill(count, |_| message())
    }

    /// Queues messages of this size, a few for each commit.
    pub(crate) fn add_large_messages(&mut self, count: usize, bytes: usize) -> Fallible<()> {
        let numbers: Vec<usize> = (0..count).collect();
        for group in numbers.chunks(LARGE_PER_COMMIT) {
            let text = |n: &usize| format!("{n:>16}").repeat(bytes / 16);
            let inputs: Vec<Input> = group.iter().map(|n| message_of(text(n))).collect();
            self.hand_over(&inputs)?;
        }
        Ok(())
    }

    /// Stops the agent, so that a host keeps its queue as it is.
    pub(crate) fn stop(&mut self) -> Fallible<()> {
        self.hand_over(&[Input::Stop])?;
        Ok(())
    }

    pub(crate) fn add_timers(&mut self, count: usize) -> Fallible<()> {
        self.fill(count, |n| {
            Input::Work(Box::new(WorkCommand::CreateTimerAfter {
                delay_ms: FAR_MS + n as u64,
                interval_ms: None,
                missed: MissedSlotPolicy::Once,
                summary: Some(format!("timer number {n}")),
            }))
        })
    }

    /// Hands over inputs in one commit. Returns the time that the last decision took, without the commit.
    pub(crate) fn hand_over(&mut self, inputs: &[Input]) -> Fallible<Duration> {
        let Self {
            db,
            kernel,
            ports,
            agent_id,
        } = self;
        let took = db.write(|tx| {
            let mut took = Duration::ZERO;
            for input in inputs {
                let began = Instant::now();
                handle(kernel, tx, agent_id, input, ports)?;
                took = began.elapsed();
            }
            Ok(took)
        })?;
        Ok(took)
    }

    pub(crate) fn close(self) -> Fallible<()> {
        Ok(self.db.close()?)
    }
}

/// Builds a message of an operator.
pub(crate) fn message() -> Input {
    message_of("say hello to the operator".to_owned())
}

fn message_of(text: String) -> Input {
    Input::Admit(Box::new(holon_core::Ingress::operator_prompt(
        text,
        holon_domain::message::Priority::Normal,
        holon_domain::message::DeliverySurface::HttpControlPrompt,
        holon_domain::message::AdmissionContext::ControlAuthenticated,
    )))
}

fn handle(
    kernel: &Kernel,
    tx: &mut Tx<'_>,
    agent_id: &AgentId,
    input: &Input,
    ports: &Ports,
) -> Result<(), holon_store::Error> {
    let mut entropy = ports.entropy.source();
    let now: Timestamp = holon_daemon::wall_clock();
    let answer = kernel.handle(tx, agent_id, input, now, entropy.as_mut())?;
    if let Err(refusal) = answer {
        // A backlog that was refused would make the figures worthless.
        panic!("the kernel refused {input:?}: {refusal:?}");
    }
    Ok(())
}

/// A public agent whose home lies nowhere.
pub(crate) fn public_agent(agent_id: &AgentId) -> NewAgent {
    let agent_home = format!("/agents/{agent_id}");
    NewAgent {
        workspace: holon_domain::workspace::WorkspaceEntry::agent_home(&agent_home),
        agent_home,
        model: None,
        run: None,
        identity: AgentIdentity {
            agent_id: agent_id.clone(),
            kind: AgentKind::Named,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            root_agent_id: None,
        },
    }
}
