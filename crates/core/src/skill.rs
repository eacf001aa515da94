//! Skills that an agent has opened: active for the turn that used them, and from then on if it is completed.
//!
//! Discovery makes no skill active. Invariant: an agent without an open turn has no skill that is active for a turn.

use crate::draft::Draft;
use crate::input::{Reply, SkillCommand};
use crate::rejection::Rejection;
use holon_domain::agent::Lifecycle;
use holon_domain::event::{Event, SkillActivated, SkillChanged, SkillInstalled, SkillUninstalled};
use holon_domain::guidance::{
    ActivationSource, ActivationState, ActiveSkill, CallingTurn, SkillScope, SkillUse, TaskSkills,
};
use holon_domain::limits::ACTIVE_SKILLS;
use holon_domain::turn::{OpenTurn, TerminalKind};

/// Records a change of the agent's skills that the shell has made.
pub(crate) fn handle(draft: &mut Draft<'_>, command: &SkillCommand) -> Result<Reply, Rejection> {
    match draft.agent.lifecycle {
        Lifecycle::Deleting => return Err(Rejection::deleting(&draft.agent)),
        Lifecycle::Booting | Lifecycle::Runnable | Lifecycle::Stopped => {}
    }
    let target_agent_id = draft.agent.identity.agent_id.clone();
    if let SkillCommand::Uninstalled { name, .. } = command {
        let is_gone = |skill: &ActiveSkill| skill.scope == SkillScope::Agent && skill.name == *name;
        draft.agent.active_skills.retain(|skill| !is_gone(skill));
    }
    let event = match command.clone() {
        SkillCommand::Installed(skill) => Event::SkillInstalled(SkillInstalled {
            target_agent_id,
            skill_name: skill.name,
            kind: skill.kind,
            fetched_from: skill.fetched_from,
        }),
        SkillCommand::Uninstalled { name, kind } => Event::SkillUninstalled(SkillUninstalled {
            target_agent_id,
            skill_name: name,
            kind,
        }),
    };
    draft.event(event);
    Ok(Reply::Done)
}

/// Makes the skills active that a successful command referred to. One whose files were changed since it was installed
/// is named and does not become active.
pub(crate) fn activate(draft: &mut Draft<'_>, turn: &OpenTurn, uses: &[SkillUse]) {
    let turn = CallingTurn {
        turn_index: turn.turn_index,
        run_id: turn.run_id.clone(),
        message_seq: turn.message_seq,
    };
    activate_for(draft, &turn, uses, ActivationState::TurnActive);
}

/// Makes the skills active that a command referred to which ended well as a task. If its turn is over, no turn's end
/// decides about them any more, so they stay.
pub(crate) fn activate_by_task(draft: &mut Draft<'_>, skills: &TaskSkills) {
    let open = draft.agent.open_turn.as_ref();
    let is_open = open.is_some_and(|open| open.turn_index == skills.turn.turn_index);
    let state = match is_open {
        true => ActivationState::TurnActive,
        false => ActivationState::SessionActive,
    };
    activate_for(draft, &skills.turn, &skills.uses, state);
}

fn activate_for(
    draft: &mut Draft<'_>,
    turn: &CallingTurn,
    uses: &[SkillUse],
    state: ActivationState,
) {
    for used in uses {
        if let Some(change) = &used.change {
            refuse_changed(draft, turn, used, change.clone());
            continue;
        }
        let active = &mut draft.agent.active_skills;
        let known = active
            .iter()
            .position(|skill| skill.entrypoint_path == used.entrypoint_path);
        let before = known.map(|place| active.remove(place));
        let repeated = before.is_some();
        let skill = ActiveSkill {
            skill_id: used.skill_id.clone(),
            name: used.name.clone(),
            scope: used.scope,
            entrypoint_path: used.entrypoint_path.clone(),
            activation_state: match (before.map(|skill| skill.activation_state), state) {
                (Some(ActivationState::SessionActive), _) | (_, ActivationState::SessionActive) => {
                    ActivationState::SessionActive
                }
                (Some(ActivationState::TurnActive) | None, ActivationState::TurnActive) => {
                    ActivationState::TurnActive
                }
            },
            activated_at: draft.now,
            turn_index: turn.turn_index,
        };
        if active.len() >= ACTIVE_SKILLS {
            active.remove(0);
        }
        active.push(skill.clone());
        draft.event(Event::SkillActivated(SkillActivated {
            skill_id: skill.skill_id,
            skill_name: skill.name,
            scope: skill.scope,
            path: used.path.clone(),
            entrypoint_path: skill.entrypoint_path,
            load_reason: used.load_reason,
            activation_state: skill.activation_state,
            activation_source: ActivationSource::AgentCommand,
            repeated,
            turn_index: turn.turn_index,
            run_id: turn.run_id.clone(),
            message_seq: Some(turn.message_seq),
        }));
    }
}

/// Records that a skill is not the one that was installed. If it was active, it is so no more.
fn refuse_changed(draft: &mut Draft<'_>, turn: &CallingTurn, used: &SkillUse, change: String) {
    let active = &mut draft.agent.active_skills;
    active.retain(|skill| skill.entrypoint_path != used.entrypoint_path);
    draft.event(Event::SkillChanged(SkillChanged {
        skill_id: used.skill_id.clone(),
        skill_name: used.name.clone(),
        scope: used.scope,
        path: used.path.clone(),
        entrypoint_path: used.entrypoint_path.clone(),
        load_reason: used.load_reason,
        change,
        turn_index: turn.turn_index,
        run_id: turn.run_id.clone(),
        message_seq: Some(turn.message_seq),
    }));
}

/// Keeps the skills of a completed turn active, and drops those of a failed one.
pub(crate) fn handle_turn_end(draft: &mut Draft<'_>, kind: TerminalKind) {
    let active = &mut draft.agent.active_skills;
    match kind {
        TerminalKind::Completed => {
            for skill in active {
                skill.activation_state = ActivationState::SessionActive;
            }
        }
        TerminalKind::Aborted => {
            active.retain(|skill| skill.activation_state == ActivationState::SessionActive);
        }
    }
}
