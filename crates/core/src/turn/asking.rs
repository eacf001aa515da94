//! Asking a model: which one the turn asks, and the effect that asks it.

use super::tries::current_try;
use crate::draft::Draft;
use holon_domain::attempt::tries_of;
use holon_domain::effect::Effect;
use holon_domain::limits;
use holon_domain::model::ModelRef;
use holon_domain::turn::{OpenTurn, Phase};

/// Asks the turn's model.
pub(super) fn ask(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    let effect = draft.open_effect(Effect::CallModel {
        turn_index: turn.turn_index,
        attempt: current_try(&turn),
    });
    turn.phase = Phase::CallingModel { effect };
    draft.agent.open_turn = Some(turn);
}

/// Asks the whole chain anew, from the model the agent would ask first now. The account of earlier tries is closed.
pub(super) fn ask_from_first(draft: &mut Draft<'_>, mut turn: OpenTurn) {
    if turn.failed_attempts > 0 {
        draft.clear_attempts();
    }
    (turn.failed_attempts, turn.tries) = (0, 0);
    let own = draft.agent.model_override.as_ref();
    let model = draft.host.models.first(own).cloned();
    turn.fallbacks = draft.host.models.after_first(own);
    turn.fallbacks.truncate(limits::FALLBACKS);
    turn.reasoning_effort = draft.agent.reasoning_effort;
    turn_to(draft, &mut turn, model);
    ask(draft, turn);
}

/// Lets the turn ask another model from now on, and remembers the one it asked first.
pub(super) fn turn_to(draft: &Draft<'_>, turn: &mut OpenTurn, model: Option<ModelRef>) {
    if turn.model == model {
        return;
    }
    let before = std::mem::replace(&mut turn.model, model);
    if turn.requested_model.is_none() {
        turn.requested_model = before;
    }
    turn.tries = tries_of(&draft.attempts(), &turn.model_ref());
}
