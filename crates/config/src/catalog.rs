//! The model catalog: what is known about models, what the settings say instead, and what is assumed otherwise.
//!
//! The table is `data/models.toml`. Figures are facts with a date; a price that is not known is absent, never zero.

mod table;

use crate::error::Error;
use crate::key::{self, KeyPath};
use crate::layer::{Found, Layers};
use crate::provider::Explicit;
use crate::source::{Source, Sourced};
use holon_domain::limits::{UNKNOWN_MAX_OUTPUT_TOKENS, UNKNOWN_WINDOW_TOKENS, WINDOW_PERCENT};
use holon_domain::model::ModelRef;
use holon_domain::provider::{ModelPolicy, PolicySource, ReasoningPolicy};
use holon_domain::token_ratio::TokenRatio;
use std::collections::BTreeMap;
pub use table::{CatalogModel, ModelCapability, Price, UsdPerMillion};

/// Output limit of a reasoning model when the settings give none. Its reasoning counts as output, so a small limit
/// could be used up before the answer begins.
const REASONING_OUTPUT_TOKENS: u32 = 32_000;

/// Figures and names of models: the built-in table, changed by the settings.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Catalog {
    overrides: BTreeMap<String, Figures>,
    unknown: Figures,
}

/// Figures that the settings give for one model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Figures {
    display_name: Option<String>,
    description: Option<String>,
    window: Option<u32>,
    percent: Option<u8>,
    output: Option<u32>,
    upper: Option<u32>,
    freeform_tools: Option<bool>,
    image_input: Option<bool>,
    reasoning: Option<bool>,
    thinking: Option<u32>,
    price_input: Option<UsdPerMillion>,
    price_output: Option<UsdPerMillion>,
    price_cache_read: Option<UsdPerMillion>,
    price_cache_write: Option<UsdPerMillion>,
}

impl Catalog {
    /// The date of the built-in figures, as `YYYY-MM-DD`.
    #[must_use]
    pub fn figures_as_of(&self) -> &'static str {
        table::figures_as_of()
    }

    /// Every model of the built-in table, in its order; the first of a provider is its default.
    pub fn models(&self) -> impl Iterator<Item = &'static CatalogModel> {
        table::all().iter()
    }

    /// Every model anything is known about: the table's, then those only the settings name.
    #[must_use]
    pub fn references(&self) -> Vec<ModelRef> {
        let known = self.models().map(|model| model.model.clone());
        let others = self
            .overrides
            .keys()
            .filter_map(|name| ModelRef::parse(name).ok());
        known
            .chain(others.filter(|model| table::get(model).is_none()))
            .collect()
    }

    /// The built-in entry of a model.
    #[must_use]
    pub fn get(&self, model: &ModelRef) -> Option<&'static CatalogModel> {
        table::get(model)
    }

    /// The name of a model in output for people.
    #[must_use]
    pub fn display_name(&self, model: &ModelRef) -> String {
        let set = self
            .overrides
            .get(&model.to_string())
            .and_then(|figures| figures.display_name.clone());
        set.or_else(|| table::get(model).map(|known| known.display_name.clone()))
            .unwrap_or_else(|| model.model().to_owned())
    }

    /// The price of a model; `None` if it is not known. The settings replace a built-in price as a whole.
    #[must_use]
    pub fn price(&self, model: &ModelRef) -> Option<Price> {
        let set = self.overrides.get(&model.to_string());
        let own = set.and_then(|set| {
            Some(Price {
                input: set.price_input?,
                output: set.price_output?,
                cache_read: set.price_cache_read,
                cache_write: set.price_cache_write,
            })
        });
        own.or_else(|| table::get(model).and_then(|known| known.price))
    }

    /// The description of a model, where the table or the settings have one.
    #[must_use]
    pub fn description(&self, model: &ModelRef) -> Option<&str> {
        self.overrides
            .get(&model.to_string())?
            .description
            .as_deref()
    }

    /// The model that is asked when a provider was found and nobody chose a model.
    #[must_use]
    pub fn default_of(&self, provider: &str) -> Option<ModelRef> {
        let mut references = self.references().into_iter();
        references.find(|model| model.provider() == provider)
    }

    /// The figures a model is asked by; `max_output` is what the runtime allows.
    #[must_use]
    pub fn policy(&self, model: &ModelRef, max_output: &Sourced<u32>) -> ModelPolicy {
        let known = table::get(model);
        let set = self.overrides.get(&model.to_string());
        let assumed = &self.unknown;
        let known_window = known.and_then(|known| known.context_window_tokens);
        let set_window = set.and_then(|set| set.window);
        let window = set_window
            .or(known_window)
            .or(assumed.window)
            .unwrap_or(UNKNOWN_WINDOW_TOKENS);
        let is_known = known_window.or(set_window).is_some();
        let own_percent = known.map(|known| known.effective_context_window_percent);
        let usual_percent = if is_known {
            own_percent
        } else {
            assumed.percent
        };
        let percent = set.and_then(|set| set.percent).or(usual_percent);
        let usual = match (is_known, known) {
            (true, known) => usual_output(known, max_output),
            (false, _) => assumed.output.unwrap_or_else(|| match max_output.source {
                Source::Builtin => UNKNOWN_MAX_OUTPUT_TOKENS,
                Source::Flag | Source::Environment | Source::File | Source::Credentials => {
                    max_output.value.min(UNKNOWN_MAX_OUTPUT_TOKENS)
                }
            }),
        };
        let known_upper = known.and_then(|known| known.max_output_tokens_upper_limit);
        let upper = set
            .and_then(|set| set.upper)
            .or(known_upper)
            .unwrap_or(u32::MAX);
        let set_output = set.and_then(|set| set.output);
        let output_source = source(set_output.is_some(), is_known);
        // An answer that may fill more than half of the window would leave no room for what it answers. An assumed answer
        // gets its share of the window when the window is known (`ModelPolicy::within_window`).
        let room = match output_source {
            PolicySource::UnknownFallback => u32::MAX,
            PolicySource::BuiltInCatalog | PolicySource::ConfigOverride | PolicySource::Learned => {
                window / 2
            }
        };
        let output = set_output.unwrap_or(usual);
        ModelPolicy {
            context_window_tokens: window,
            effective_context_window_percent: percent.unwrap_or(WINDOW_PERCENT),
            max_output_tokens: output.min(upper).min(room).max(1),
            source: source(set_window.is_some(), is_known),
            output_source,
            freeform_tools: set
                .and_then(|set| set.freeform_tools)
                .unwrap_or_else(|| has(known, ModelCapability::FreeformTools)),
            image_input: set
                .and_then(|set| set.image_input)
                .unwrap_or_else(|| has(known, ModelCapability::ImageInput)),
            reasoning: ReasoningPolicy {
                is_on: set
                    .and_then(|set| set.reasoning)
                    .unwrap_or_else(|| has(known, ModelCapability::Reasoning)),
                thinking_tokens: set.and_then(|set| set.thinking),
            },
            token_ratio: TokenRatio::ONE,
        }
    }
}

/// Returns true if the table says that a model can do this. What is not known to work is not tried: a provider refuses a
/// whole request for it.
fn has(known: Option<&CatalogModel>, capability: ModelCapability) -> bool {
    known.is_some_and(|known| known.capabilities.contains(&capability))
}

/// The default output limit of a model with a known window, before its own limit applies.
fn usual_output(known: Option<&CatalogModel>, max_output: &Sourced<u32>) -> u32 {
    let thinks = has(known, ModelCapability::Reasoning);
    match (thinks, max_output.source) {
        (true, Source::Builtin) => max_output.value.max(REASONING_OUTPUT_TOKENS),
        (true, Source::Flag | Source::Environment | Source::File | Source::Credentials)
        | (false, _) => max_output.value,
    }
}

/// The source of a figure: the settings, the built-in table, or an assumption.
const fn source(set: bool, known: bool) -> PolicySource {
    match (set, known) {
        (true, _) => PolicySource::ConfigOverride,
        (false, true) => PolicySource::BuiltInCatalog,
        (false, false) => PolicySource::UnknownFallback,
    }
}

impl Figures {
    /// Reads the figures below a table of the settings; `set` collects what was found.
    fn read(
        layers: Layers<'_>,
        family: &str,
        at: &KeyPath,
        set: &mut Vec<Explicit>,
    ) -> Result<Self, Error> {
        let mut figures = Self::default();
        for key in key::KEYS {
            let Some(field) = key.name.strip_prefix(family) else {
                continue;
            };
            let path = at.join(field);
            let Some(found) = layers.find_at(key, &path)? else {
                continue;
            };
            match field {
                "display_name" => figures.display_name = Some(found.value.to_string()),
                "description" => figures.description = Some(found.value.to_string()),
                "context_window_tokens" => figures.window = Some(found.number()?.value),
                "effective_context_window_percent" => {
                    figures.percent = u8::try_from(found.number()?.value).ok();
                }
                "runtime_max_output_tokens" => figures.output = Some(found.number()?.value),
                "max_output_tokens_upper_limit" => figures.upper = Some(found.number()?.value),
                "freeform_tools" => figures.freeform_tools = Some(found.flag()?.value),
                "image_input" => figures.image_input = Some(found.flag()?.value),
                "reasoning" => figures.reasoning = Some(found.flag()?.value),
                "thinking_tokens" => figures.thinking = Some(found.number()?.value),
                "price_input" => figures.price_input = Some(price(&found)?),
                "price_output" => figures.price_output = Some(price(&found)?),
                "price_cache_read" => figures.price_cache_read = Some(price(&found)?),
                "price_cache_write" => figures.price_cache_write = Some(price(&found)?),
                other => return Err(found.refuse(format!("{other} has no meaning yet"))),
            }
            set.push(Explicit {
                path,
                source: found.source(),
                value: found.value,
            });
        }
        Ok(figures)
    }
}

/// Reads a price in dollars.
fn price(found: &Found) -> Result<UsdPerMillion, Error> {
    Ok(found.judge_text(UsdPerMillion::parse)?.value)
}

/// The catalog, and what was set about single models.
///
/// # Errors
/// When something set cannot be used.
pub(crate) fn resolve(layers: Layers<'_>) -> Result<(Catalog, Vec<Explicit>), Error> {
    let mut explicit = Vec::new();
    let table = ["models", "catalog"];
    let names = layers
        .file
        .map(|file| file.names_under(&table))
        .unwrap_or_default();
    let mut overrides = BTreeMap::new();
    for (name, place) in names {
        let model = ModelRef::parse(name).map_err(|error| Error::Value {
            place,
            problem: error.to_string(),
        })?;
        let at = KeyPath::of(&table).join(name);
        let figures = Figures::read(
            layers,
            "models.catalog.<provider/model>.",
            &at,
            &mut explicit,
        )?;
        overrides.insert(model.to_string(), figures);
    }
    let at = KeyPath::of(&["model", "unknown_fallback"]);
    // The three single keys are listed with the other single keys.
    let unknown = Figures::read(layers, "model.unknown_fallback.", &at, &mut Vec::new())?;
    Ok((Catalog { overrides, unknown }, explicit))
}

#[cfg(test)]
mod tests;
