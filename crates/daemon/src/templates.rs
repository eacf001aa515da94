//! Templates of this user, for commands that need no host.

use crate::compose;
use holon_config::Settings;
use holon_domain::template::TemplateSelector;
use holon_workspace::TemplateStore;
use serde::Serialize;

pub use holon_workspace::{TemplateListing, TemplateOrigin};

/// A template that can be applied.
#[derive(Debug, Clone, Serialize)]
pub struct TemplateView {
    pub id: String,
    #[serde(flatten)]
    pub origin: TemplateOrigin,
    /// SHA-256 of its files, in hex.
    pub sha256: String,
    /// Skills that a new agent gets, as the provenance record writes them.
    pub skills: Vec<serde_json::Value>,
    pub agents_md: String,
}

/// Lists the templates of the user and the built-in ones.
#[must_use]
pub fn list_templates(settings: &Settings) -> Vec<TemplateListing> {
    store(settings).list()
}

/// Reads and checks a template.
///
/// # Errors
/// The reason for which it cannot be applied.
pub fn read_template(settings: &Settings, selector: &str) -> Result<TemplateView, String> {
    let selector = TemplateSelector::parse(selector).map_err(|error| error.to_string())?;
    let template = store(settings).resolve(&selector);
    let template = template.map_err(|error| error.to_string())?;
    let skills = template.skills.iter().map(serde_json::to_value);
    Ok(TemplateView {
        id: template.id,
        origin: template.origin,
        sha256: template.sha256,
        skills: skills.flatten().collect(),
        agents_md: template.agents_md,
    })
}

fn store(settings: &Settings) -> TemplateStore {
    TemplateStore::of_user(settings.user_home.as_deref(), compose::fetcher(settings))
}
