//! Templates of agents: a directory with an `AGENTS.md` and optionally a `skills.json`.
//!
//! Five are built into the program and can be written to the user's directory, where they may be changed. A template is
//! read completely and checked before anything is made from it. One on GitHub is fetched first, and so are the skills on
//! GitHub that it names.

mod apply;
mod builtin;
mod error;
mod read;
mod seed;
mod skills;

pub(crate) use apply::{PROVENANCE, UNCONFIRMED, clear_home};
pub use apply::{TemplateOrder, apply_template, confirm_home, is_unconfirmed};
pub use builtin::BUILTIN_TEMPLATES;
pub(crate) use builtin::DEFAULT;
pub use error::TemplateError;
pub use read::{Template, TemplateListing, TemplateOrigin, TemplateStore};
pub use seed::SeedReport;
pub use skills::TemplateSkill;

/// List of the skills of a template.
pub(crate) const SKILLS_JSON: &str = "skills.json";
