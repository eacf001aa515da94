//! Tests of changes that an operator makes to an agent's skills.

use crate::states;
use holon_core::input::SkillCommand;
use holon_core::{Input, Rejection, Reply};
use holon_domain::event::Event;
use holon_domain::guidance::{
    ActivationState, ActiveSkill, FetchedFrom, SkillInstallation, SkillScope, SkillSourceKind,
};

fn installed() -> Input {
    Input::Skill(Box::new(SkillCommand::Installed(SkillInstallation {
        name: "pdf".to_owned(),
        kind: SkillSourceKind::Remote,
        fetched_from: Some(FetchedFrom {
            repository: "https://github.com/acme/tools".to_owned(),
            commit: "f".repeat(40),
            directory: "skills/pdf".to_owned(),
        }),
    })))
}

fn uninstalled() -> Input {
    Input::Skill(Box::new(SkillCommand::Uninstalled {
        name: "pdf".to_owned(),
        kind: Some(SkillSourceKind::Remote),
    }))
}

#[test]
fn a_change_of_skills_is_recorded_and_changes_nothing_else() {
    for mut world in [states::idle(), states::calling_model(), states::stopped()] {
        let (before, from) = (world.agent.clone(), world.events.len());
        assert_eq!(world.send(installed()).reply, Ok(Reply::Done));
        assert_eq!(world.send(uninstalled()).reply, Ok(Reply::Done));
        let [Event::SkillInstalled(new), Event::SkillUninstalled(gone)] = &world.events[from..]
        else {
            panic!("{:?}", &world.events[from..]);
        };
        assert_eq!(new.target_agent_id, before.identity.agent_id);
        assert_eq!(
            new.fetched_from.as_ref().expect("a commit").commit.len(),
            40
        );
        assert_eq!(
            (gone.skill_name.as_str(), gone.kind),
            ("pdf", Some(SkillSourceKind::Remote))
        );
        assert_eq!(world.agent.open_turn, before.open_turn);
        assert_eq!(world.agent.lifecycle, before.lifecycle);
        assert_eq!(world.violations(), []);
    }
}

#[test]
fn an_agent_that_is_being_removed_takes_no_change() {
    let mut world = states::idle();
    world.send(Input::Delete);
    let refused = world.send(installed()).reply;
    assert!(
        matches!(refused, Err(Rejection::Deleting { .. })),
        "{refused:?}"
    );
}

#[test]
fn an_uninstalled_skill_is_not_active_any_more() {
    let mut world = states::idle();
    let active = |scope, name: &str| ActiveSkill {
        skill_id: format!("{name}-id"),
        name: name.to_owned(),
        scope,
        entrypoint_path: format!("/{name}/SKILL.md"),
        activation_state: ActivationState::SessionActive,
        activated_at: world.now,
        turn_index: 1,
    };
    let (own, other) = (
        active(SkillScope::Agent, "pdf"),
        active(SkillScope::Agent, "csv"),
    );
    let of_user = active(SkillScope::User, "pdf");
    world.agent.active_skills = vec![own, other.clone(), of_user.clone()];
    assert_eq!(world.send(uninstalled()).reply, Ok(Reply::Done));
    assert_eq!(world.agent.active_skills, [other, of_user]);
}
