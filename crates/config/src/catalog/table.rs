//! The models this build knows, read from `data/models.toml`.

use holon_domain::limits::WINDOW_PERCENT;
use holon_domain::model::ModelRef;
use serde::{Deserialize, Serialize, Serializer};
use std::sync::LazyLock;

const DATA: &str = include_str!("../../data/models.toml");

/// One row of the built-in table of models.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CatalogModel {
    pub model: ModelRef,
    pub display_name: String,
    /// Tokens of a request, if known.
    pub context_window_tokens: Option<u32>,
    /// Percentage of the window that a prompt may fill.
    pub effective_context_window_percent: u8,
    /// The most the provider lets it write, if known.
    pub max_output_tokens_upper_limit: Option<u32>,
    pub capabilities: Vec<ModelCapability>,
    /// Absent when the price is not known.
    pub price: Option<Price>,
}

/// An ability of a model beyond text and tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ModelCapability {
    /// It looks at pictures.
    ImageInput,
    /// It thinks before it answers.
    Reasoning,
    /// It may ask for several tools at once.
    ParallelToolCalls,
    /// It takes tools whose arguments are free text under a grammar.
    FreeformTools,
}

/// Price of a million tokens in US dollars.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Price {
    pub input: UsdPerMillion,
    pub output: UsdPerMillion,
    /// Of what the provider had cached, if that has a price of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_read: Option<UsdPerMillion>,
    /// Of what it puts into its cache, if that has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write: Option<UsdPerMillion>,
}

/// US dollars for a million tokens, kept in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "f64")]
pub struct UsdPerMillion(u64);

impl UsdPerMillion {
    /// Reads dollars as a decimal number with at most six decimals.
    ///
    /// # Errors
    /// When the text is no such number, or the price is zero or too high.
    pub fn parse(text: &str) -> Result<Self, String> {
        let refuse = || format!("{text:?} is not a price; write dollars such as 2.50");
        let (whole, part) = text.split_once('.').unwrap_or((text, ""));
        let is_number = |digits: &str| digits.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || part.len() > 6 || !is_number(whole) || !is_number(part) {
            return Err(refuse());
        }
        let whole: u64 = whole.parse().map_err(|_| refuse())?;
        let part: u64 = format!("{part:0<6}").parse().map_err(|_| refuse())?;
        let micros = whole
            .checked_mul(1_000_000)
            .and_then(|micros| micros.checked_add(part));
        let in_range = micros.filter(|micros| (1..1_000_000_000_000).contains(micros));
        in_range.map(Self).ok_or_else(refuse)
    }

    /// In millionths of a dollar.
    #[must_use]
    pub const fn micros(self) -> u64 {
        self.0
    }
}

impl TryFrom<f64> for UsdPerMillion {
    type Error = String;

    fn try_from(dollars: f64) -> Result<Self, String> {
        let micros = (dollars * 1e6).round();
        if micros.is_finite() && (1.0..1e12).contains(&micros) {
            // In range by the line above, and whole.
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "checked above"
            )]
            return Ok(Self(micros as u64));
        }
        Err(format!(
            "{dollars} is not a price; leave out what is not known"
        ))
    }
}

impl Serialize for UsdPerMillion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[expect(clippy::cast_precision_loss, reason = "below 2^53")]
        serializer.serialize_f64(self.0 as f64 / 1e6)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    provider: String,
    #[serde(default)]
    also: Vec<String>,
    model: String,
    display_name: String,
    window: Option<u32>,
    #[serde(default = "usual_percent")]
    percent: u8,
    max_output: Option<u32>,
    #[serde(default)]
    capabilities: Vec<ModelCapability>,
    price: Option<Price>,
}

const fn usual_percent() -> u8 {
    WINDOW_PERCENT
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    figures_as_of: String,
    model: Vec<Row>,
}

struct Table {
    figures_as_of: String,
    models: Vec<CatalogModel>,
}

fn table() -> &'static Table {
    #[expect(
        clippy::expect_used,
        reason = "data of this build, read by a test on every run"
    )]
    static TABLE: LazyLock<Table> = LazyLock::new(|| {
        let file: File = toml::from_str(DATA).expect("the table of models is well-formed");
        Table {
            figures_as_of: file.figures_as_of,
            models: file.model.iter().flat_map(entries).collect(),
        }
    });
    &TABLE
}

/// The same model at each address that serves it.
fn entries(row: &Row) -> Vec<CatalogModel> {
    let providers = std::iter::once(&row.provider).chain(&row.also);
    let entry = |provider: &String| {
        Some(CatalogModel {
            model: ModelRef::parse(&format!("{provider}/{}", row.model)).ok()?,
            display_name: row.display_name.clone(),
            context_window_tokens: row.window,
            effective_context_window_percent: row.percent,
            max_output_tokens_upper_limit: row.max_output,
            capabilities: row.capabilities.clone(),
            price: row.price,
        })
    };
    providers.filter_map(entry).collect()
}

pub(super) fn figures_as_of() -> &'static str {
    &table().figures_as_of
}

pub(super) fn all() -> &'static [CatalogModel] {
    &table().models
}

pub(super) fn get(model: &ModelRef) -> Option<&'static CatalogModel> {
    all().iter().find(|known| known.model == *model)
}
