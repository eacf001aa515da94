//! Skills on disk: found at stable roots, described by the frontmatter of their `SKILL.md`, installed into an agent's
//! home and checked against what was installed. Nothing of a skill is run here, and its body is not interpreted.

mod builtin;
mod catalog;
mod copy;
mod error;
mod frontmatter;
mod install;
mod ready;
mod record;
mod yaml;

pub use builtin::BUILTIN_SKILLS;
pub use catalog::{SkillReader, user_skill_roots};
pub use error::SkillError;
pub use frontmatter::{SkillMetadata, parse_skill};
pub(crate) use install::check_skill;
pub use install::{install_skill, installed_skills, uninstall_skill};
pub use ready::ReadySkill;
pub use record::skill_change;

/// The file that makes a directory a skill.
pub(crate) const SKILL_MD: &str = "SKILL.md";
/// The record of an installation, in the directory of a skill that was copied.
pub(crate) const RECORD: &str = ".holon-skill-install.json";
