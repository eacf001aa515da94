//! Skills that an agent has opened: active for the turn that used them, and from then on if it is completed.
//!
//! Discovery makes no skill active. Invariant: an agent without an open turn has no skill that is active for a turn.

use crate::draft::Draft;
use holon_domain::event::{Event, SkillActivated};
use holon_domain::guidance::{ActivationSource, ActivationState, ActiveSkill, SkillUse};
use holon_domain::limits::ACTIVE_SKILLS;
use holon_domain::turn::{OpenTurn, TerminalKind};

/// Makes the skills active that a successful command referred to.
pub(crate) fn activate(draft: &mut Draft<'_>, turn: &OpenTurn, uses: &[SkillUse]) {
    for used in uses {
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
            activation_state: before
                .map_or(ActivationState::TurnActive, |skill| skill.activation_state),
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
