//! The chain of models that a turn may ask, in order.

use super::{ModelPrice, ModelRef};
use crate::provider::{CredentialRenewal, ReasoningEffort};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Models of the host: the default for agents without a choice of their own, and the fallbacks that are asked if it
/// fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelChain {
    /// Absent until an operator has chosen a default.
    pub default: Option<ModelRef>,
    /// Asked in this order if the model before could not answer.
    pub fallbacks: Vec<ModelRef>,
    /// True if fallbacks are never asked.
    pub fallback_disabled: bool,
    /// Providers on this machine, which need no network.
    pub local_providers: Vec<String>,
    /// The step that renews the credential of a provider, by the provider's id. Scripts have none.
    pub renewals: BTreeMap<String, CredentialRenewal>,
    /// Prices of models, by `provider/model`. A model that is not listed has no known price.
    pub prices: BTreeMap<String, ModelPrice>,
}

/// Model choice of an agent, which counts from its next turn on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelChoice {
    /// A model of its own, independent of the host's default.
    Use {
        model: ModelRef,
        options: ModelOptions,
    },
    Inherit,
}

/// Options of an agent's own model. They are valid for this model only and are cleared with it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ModelOptions {
    /// Absent if the provider's default applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_effort: Option<ReasoningEffort>,
    /// Most tokens that the model may think in one answer; 0 turns thinking off. Absent if the setting of the model
    /// applies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thinking_tokens: Option<u32>,
    /// Models that are asked in this order if it fails; empty for none. Absent if the fallbacks of the host apply.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fallback_models: Option<Vec<ModelRef>>,
}

impl ModelChain {
    /// Creates a chain of one model without fallbacks.
    #[must_use]
    pub fn only(default: ModelRef) -> Self {
        Self {
            default: Some(default),
            ..Self::none()
        }
    }

    /// Creates a chain without any model.
    #[must_use]
    pub const fn none() -> Self {
        Self {
            default: None,
            fallbacks: Vec::new(),
            fallback_disabled: false,
            local_providers: Vec::new(),
            renewals: BTreeMap::new(),
            prices: BTreeMap::new(),
        }
    }

    /// Returns true if the model can be asked without a network.
    #[must_use]
    pub fn is_local(&self, model: &ModelRef) -> bool {
        let id = model.provider();
        self.local_providers.iter().any(|local| local == id)
    }

    /// Returns the model that an agent asks first: its own choice or the default. `None` if neither is set.
    #[must_use]
    pub fn first<'a>(&'a self, own: Option<&'a ModelRef>) -> Option<&'a ModelRef> {
        own.or(self.default.as_ref())
    }

    /// Returns the step that renews the credential of a model's provider. `None` if the provider has no settings.
    #[must_use]
    pub fn renewal_of(&self, model: &ModelRef) -> Option<&CredentialRenewal> {
        self.renewals.get(model.provider())
    }

    /// Returns the price of a model. `None` if it is not known.
    #[must_use]
    pub fn price_of(&self, model: &ModelRef) -> Option<&ModelPrice> {
        self.prices.get(&model.to_string())
    }

    /// Returns the models that are asked after the first, each once: only those that the agent's own list names, or the
    /// settings if the agent has no list. The default is none of them, because it may follow from a credential that
    /// happens to be in the environment, and a question for a chosen model must not reach a provider that was chosen
    /// for other questions. Fallbacks that the settings turn off are off for every agent.
    #[must_use]
    pub fn fallbacks_after(
        &self,
        own: Option<&ModelRef>,
        listed: Option<&[ModelRef]>,
    ) -> Vec<ModelRef> {
        let first = self.first(own);
        if self.fallback_disabled {
            return Vec::new();
        }
        let mut rest: Vec<ModelRef> = Vec::new();
        for model in listed.unwrap_or(&self.fallbacks) {
            if Some(model) != first && !rest.contains(model) {
                rest.push(model.clone());
            }
        }
        rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn model(text: &str) -> ModelRef {
        ModelRef::parse(text).expect("a reference")
    }

    #[test]
    fn an_own_choice_falls_back_to_the_listed_models_only_each_once() {
        let chain = ModelChain {
            fallbacks: vec![model("b/1"), model("c/1"), model("b/1")],
            ..ModelChain::only(model("a/1"))
        };
        let after = |own: Option<&ModelRef>| -> Vec<String> {
            let rest = chain.fallbacks_after(own, None);
            rest.iter().map(ToString::to_string).collect()
        };
        assert_eq!(chain.first(None), Some(&model("a/1")));
        assert_eq!(after(None), ["b/1", "c/1"]);
        assert_eq!(chain.first(Some(&model("c/1"))), Some(&model("c/1")));
        assert_eq!(after(Some(&model("c/1"))), ["b/1"]);
        assert_eq!(after(Some(&model("d/1"))), ["b/1", "c/1"]);
        let unlisted = ModelChain::only(model("a/1"));
        assert_eq!(unlisted.fallbacks_after(Some(&model("d/1")), None), []);
    }

    #[test]
    fn without_a_default_or_with_fallback_turned_off_no_model_is_added() {
        let none = ModelChain {
            fallbacks: vec![model("b/1")],
            ..ModelChain::none()
        };
        assert_eq!(none.first(None), None);
        let own = model("a/1");
        assert_eq!(none.fallbacks_after(Some(&own), None), [model("b/1")]);
        let off = ModelChain {
            fallback_disabled: true,
            ..none
        };
        assert_eq!(off.fallbacks_after(Some(&own), None), []);
        assert_eq!(off.fallbacks_after(Some(&own), Some(&[model("c/1")])), []);
    }

    #[test]
    fn a_list_of_the_agent_replaces_that_of_the_settings_also_if_it_is_empty() {
        let chain = ModelChain {
            fallbacks: vec![model("b/1")],
            ..ModelChain::only(model("a/1"))
        };
        let own = model("d/1");
        let listed = [model("c/1"), own.clone(), model("c/1")];
        assert_eq!(
            chain.fallbacks_after(Some(&own), Some(&listed)),
            [model("c/1")]
        );
        assert_eq!(chain.fallbacks_after(Some(&own), Some(&[])), []);
    }
}
