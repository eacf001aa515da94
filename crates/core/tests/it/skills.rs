//! Tests of changes that an operator makes to an agent's skills, and of skills that a task makes active.

use crate::commands;
use crate::states;
use crate::world::World;
use holon_core::input::SkillCommand;
use holon_core::{Input, Rejection, Reply};
use holon_domain::TaskId;
use holon_domain::event::Event;
use holon_domain::guidance::{
    ActivationState, ActiveSkill, CallingTurn, FetchedFrom, SkillInstallation, SkillLoadReason,
    SkillScope, SkillSourceKind, SkillUse, TaskSkills,
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

/// Lets the running command go on as a task that refers to a skill and was run in this turn.
fn promote(world: &mut World, turn_index: u64) -> TaskId {
    let turn = world.agent.open_turn.clone().expect("a turn");
    let mut spec = commands::running_spec(world).expect("a command runs");
    spec.skills = Some(Box::new(TaskSkills {
        uses: vec![SkillUse {
            skill_id: "agent:pdf".to_owned(),
            name: "pdf".to_owned(),
            scope: SkillScope::Agent,
            path: "/h/skills/pdf/scripts/fill.py".to_owned(),
            entrypoint_path: "/h/skills/pdf/SKILL.md".to_owned(),
            load_reason: SkillLoadReason::RunSkillScript,
            change: None,
        }],
        turn: CallingTurn {
            turn_index,
            run_id: turn.run_id,
            message_seq: turn.message_seq,
        },
    }));
    let stamp = world.stamp().expect("a command runs");
    world.send(commands::goes_on(stamp, spec));
    world.tasks.last().expect("a task").id.clone()
}

#[test]
fn a_command_that_ended_well_as_a_task_makes_its_skill_active() {
    for (name, report) in commands::reports() {
        let ended_well = name == "exit 0";
        for in_turn in [true, false] {
            let mut world = states::running_tool();
            let open = world.agent.open_turn.as_ref().expect("a turn").turn_index;
            let turn_index = if in_turn { open } else { open - 1 };
            let id = promote(&mut world, turn_index);
            assert_eq!(world.agent.active_skills, [], "not before its end");
            let task = world.tasks.iter().find(|task| task.id == id).cloned();
            let end = commands::reported(&world, &task.expect("a task"), report.clone());
            world.send(end);
            let states: Vec<ActivationState> = world
                .agent
                .active_skills
                .iter()
                .map(|skill| skill.activation_state)
                .collect();
            let expected = match in_turn {
                true => ActivationState::TurnActive,
                false => ActivationState::SessionActive,
            };
            let expected: Vec<ActivationState> =
                ended_well.then_some(expected).into_iter().collect();
            assert_eq!(states, expected, "{name}, in its turn: {in_turn}");
            let told = world.events.iter().any(|event| {
                matches!(event, Event::SkillActivated(e) if e.turn_index == turn_index && e.skill_id == "agent:pdf")
            });
            assert_eq!(told, ended_well, "{name}");
            assert_eq!(world.violations(), []);
        }
    }
}
