//! Skills on disk: found at stable roots, described by the frontmatter of their `SKILL.md`, installed into an agent's
//! home. Nothing of a skill is run here, and its body is not read.

mod builtin;
mod catalog;
mod copy;
mod error;
mod frontmatter;
mod install;
mod yaml;

pub use builtin::BUILTIN_SKILLS;
pub use catalog::SkillReader;
pub use error::SkillError;
pub use frontmatter::{SkillMetadata, parse_skill};
pub(crate) use install::{check_skill, install_into};
pub use install::{install_skill, installed_skills, uninstall_skill};

/// The file that makes a directory a skill.
pub(crate) const SKILL_MD: &str = "SKILL.md";
/// The record of an installation, in the directory of a skill that was copied.
pub(crate) const RECORD: &str = ".holon-skill-install.json";
