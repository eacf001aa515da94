//! The command line of `holon agent model`.

use clap::Subcommand;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use holon_domain::provider::ReasoningEffort;

/// What to do with an agent's model.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentModelCommand {
    /// Show which model an agent asks, and why that one.
    Get {
        /// Which agent [default: the host's default agent].
        id: Option<String>,
    },
    /// Give an agent a model of its own, from its next turn on.
    Set {
        /// The model, as provider/model.
        model: String,
        /// Which agent [default: the host's default agent].
        id: Option<String>,
        /// How hard the model should think.
        #[arg(long, value_name = "EFFORT", value_parser = effort())]
        effort: Option<ReasoningEffort>,
    },
    /// Let an agent ask the host's default model again, from its next turn on.
    Clear {
        /// Which agent [default: the host's default agent].
        id: Option<String>,
    },
}

fn effort() -> impl TypedValueParser<Value = ReasoningEffort> {
    words(ReasoningEffort::ALL, ReasoningEffort::as_str)
}

/// One of a set of words; any other is refused with the list.
fn words<T: Copy + Send + Sync + 'static>(
    all: &'static [T],
    spelled: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.iter().map(|one| spelled(*one))).try_map(move |word| {
        let found = all.iter().copied().find(|one| spelled(*one) == word);
        found.ok_or("not one of the words")
    })
}
