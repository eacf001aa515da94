//! The form of a request: what is left out of it after a provider refused it as invalid.
//!
//! A provider refuses the same request again, so each form is tried once for a round: the request as it is, then without
//! sealed blocks, then with the whole thread folded. A form that would leave out nothing is passed over. Refusals for
//! length have their own bound (`PromptCeiling`).

use crate::model::ModelRef;
use serde::{Deserialize, Serialize};

/// Form of the requests of a round. A later form leaves out what the earlier ones do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RequestForm {
    #[default]
    Whole,
    /// Without the reasoning that models sealed. Newer models bind it to the exact text before it.
    Unsealed,
    /// With a recap in place of every earlier turn.
    Folded,
}

/// What a request holds that another form of it leaves out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ShownContent {
    /// True if the request holds blocks that its model sealed.
    pub seals: bool,
    /// True if the request shows an earlier turn as it was.
    pub turns: bool,
}

impl RequestForm {
    /// Returns the form to try after a request of this one was refused; `None` if every form was tried.
    #[must_use]
    pub const fn after_refusal(self, shown: ShownContent) -> Option<Self> {
        match self {
            Self::Whole if shown.seals => Some(Self::Unsealed),
            Self::Whole | Self::Unsealed if shown.turns => Some(Self::Folded),
            Self::Whole | Self::Unsealed | Self::Folded => None,
        }
    }
}

/// Refusals of the current round's request as invalid. Cleared by an answer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RefusedRequest {
    /// Form of the next request.
    pub form: RequestForm,
    /// Models that refused the request in this form, with the messages that join it now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by: Vec<ModelRef>,
}

impl RefusedRequest {
    /// Changes the form of the next request, which no model has refused yet.
    pub fn change_to(&mut self, form: RequestForm) {
        self.form = form;
        self.by.clear();
    }

    /// Notes that a model refused the request in its present form.
    pub fn note(&mut self, model: &ModelRef) {
        if !self.by.contains(model) {
            self.by.push(model.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_tried_once_and_only_if_it_leaves_something_out() {
        use RequestForm::{Folded, Unsealed, Whole};
        let table = [
            (Whole, true, true, Some(Unsealed)),
            (Whole, true, false, Some(Unsealed)),
            (Whole, false, true, Some(Folded)),
            (Whole, false, false, None),
            (Unsealed, false, true, Some(Folded)),
            (Unsealed, true, true, Some(Folded)),
            (Unsealed, false, false, None),
            (Folded, true, true, None),
            (Folded, false, false, None),
        ];
        for (form, seals, turns, next) in table {
            let shown = ShownContent { seals, turns };
            assert_eq!(form.after_refusal(shown), next, "{form:?} with {shown:?}");
        }
    }
}
