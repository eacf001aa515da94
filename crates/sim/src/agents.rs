//! Creates, configures, stops, starts and removes the agents of a run.

use crate::act::name_of;
use crate::keys::home_of;
use crate::letter;
use crate::violation::{Verdict, ensure};
use crate::world::{InputResult, World, room_for_sends};
use holon_core::input::NewAgent;
use holon_core::{Input, Rejection};
use holon_domain::AgentId;
use holon_domain::agent::{
    AgentIdentity, AgentKind, Lifecycle, Ownership, ProfilePreset, RunTerms, Visibility,
};
use holon_domain::model::{ModelChoice, ModelOptions, ModelRef};
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::kernel::Refusal;

impl World {
    pub(crate) fn stop_or_start(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let input = match self.dice.below(20) {
            0 => Input::Archive,
            1..=9 => Input::Stop,
            _ => Input::Start,
        };
        self.control(&id, &input)
    }

    pub(crate) fn control(&mut self, id: &AgentId, input: &Input) -> Verdict<()> {
        self.trace.note(|| format!("{id} {}", name_of(input)));
        let sent = self.send(id, input)?;
        self.check_start(id, input, &sent)?;
        match sent {
            InputResult::Handled(_)
            | InputResult::Aside
            | InputResult::Died
            | InputResult::Panicked
            | InputResult::Failed => Ok(()),
            InputResult::Unknown(touched) => self.recover_doubtful_agents(touched),
            InputResult::Refused(
                Refusal::Rejected(Rejection::Deleting { .. }) | Refusal::NotFound,
            ) => Ok(()),
            InputResult::Refused(Refusal::Rejected(Rejection::Archived { .. })) => ensure(
                self.is_archived(id),
                "only an archived agent refuses as one",
                || format!("{id} {}", name_of(input)),
            ),
            InputResult::Refused(refusal) => {
                ensure(false, "controls are not refused", || format!("{refusal:?}"))
            }
        }
    }

    /// Returns true if an operator archived the agent.
    pub(crate) fn is_archived(&self, id: &AgentId) -> bool {
        let known = self.model.agent(id);
        known.is_some_and(|known| known.record.archived_at.is_some())
    }

    pub(crate) fn configure(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent() else {
            return Ok(());
        };
        let own = ModelRef::parse("sim/other").ok();
        let choice = own.filter(|_| self.dice.percent(70));
        let model = Some(
            choice.map_or(ModelChoice::Inherit, |model| ModelChoice::Use {
                model,
                options: ModelOptions::default(),
            }),
        );
        let workspace = Some(WorkspaceEntry::agent_home(&format!(
            "/w/{}",
            self.dice.below(3)
        )));
        self.control(&id, &Input::Configure { workspace, model })
    }

    /// Creates a named agent.
    pub(crate) fn make_named(&mut self, number: u64) -> Verdict<()> {
        let Ok(agent_id) = AgentId::parse(&format!("agent-{number}")) else {
            return Ok(());
        };
        self.create(&new_agent(AgentIdentity {
            agent_id,
            kind: AgentKind::Named,
            visibility: Visibility::Public,
            ownership: Ownership::SelfOwned,
            profile_preset: ProfilePreset::PublicNamed,
            lineage_parent_agent_id: None,
            root_agent_id: None,
        }))
    }

    pub(crate) fn make_temporary(&mut self) -> Verdict<()> {
        if self.model.names().len() > 6 {
            return Ok(());
        }
        let agent_id = AgentId::temporary("run", &mut self.dice);
        let new = new_agent(AgentIdentity {
            agent_id,
            kind: AgentKind::Child,
            visibility: Visibility::Private,
            ownership: Ownership::ParentSupervised,
            profile_preset: ProfilePreset::PrivateChild,
            lineage_parent_agent_id: None,
            root_agent_id: None,
        });
        self.create(&NewAgent {
            run: Some(RunTerms::temporary(None)),
            ..new
        })
    }

    pub(crate) fn delete_any(&mut self) -> Verdict<()> {
        let mut names = self.model.public_names();
        // Mostly temporary ones, as in a real host: a run without agents tests nothing.
        if self.dice.percent(90) {
            names.retain(|id| id.as_str().starts_with(AgentId::TEMPORARY_PREFIX));
        }
        match names.get(self.dice.index(names.len())).cloned() {
            Some(id) => self.control(&id, &Input::Delete),
            None => Ok(()),
        }
    }

    /// Lists the agents that a model may message: its own first, then all others in any state.
    pub(crate) fn agents_to_name(&self, id: &AgentId) -> Vec<AgentId> {
        let others = self.model.names().into_iter().filter(|other| other != id);
        std::iter::once(id.clone()).chain(others).collect()
    }

    /// Defers sends of some agent, as if its commit had no room, so that later commits deliver them.
    pub(crate) fn defer_any(&mut self) -> Verdict<()> {
        let Some(id) = self.any_agent().filter(|id| self.takes_messages(id)) else {
            return Ok(());
        };
        let names = self.agents_to_name(&id);
        // At most as many as one commit delivers: the kernel keeps no more in one effect.
        let some = (1 + self.dice.below(4)).min(room_for_sends(self.plan.seed) as u64);
        let sends = (0..some).filter_map(|_| {
            let to = names.get(self.dice.index(names.len()))?.clone();
            Some((to, letter::sent(&id, &mut self.dice)))
        });
        let sends = sends.collect();
        self.control(&id, &Input::Defer { sends })
    }

    /// Returns true if an agent accepts messages.
    pub(crate) fn takes_messages(&self, id: &AgentId) -> bool {
        self.model.agent(id).is_some_and(|known| {
            matches!(
                known.record.lifecycle,
                Lifecycle::Booting | Lifecycle::Runnable
            )
        })
    }
}

fn new_agent(identity: AgentIdentity) -> NewAgent {
    let agent_home = home_of(&identity.agent_id);
    NewAgent {
        workspace: WorkspaceEntry::agent_home(&agent_home),
        agent_home,
        identity,
        model: None,
        run: None,
    }
}
