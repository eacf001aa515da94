//! The `skills.json` of a template: read, checked, and with its skills on GitHub fetched.

use super::SKILLS_JSON;
use super::error::TemplateError;
use crate::fetch::Fetcher;
use crate::skill::{BUILTIN_SKILLS, ReadySkill, SkillError, check_skill};
use holon_domain::guidance::{FetchedFrom, InstallMode, SkillSource};
use holon_domain::limits::TEMPLATE_SKILLS;
use holon_domain::remote::RemoteSkill;
use holon_domain::text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Component, Path};
use std::sync::Arc;

/// A skill of a template, at hand and checked.
#[derive(Debug, Clone, Serialize)]
pub struct TemplateSkill {
    #[serde(flatten)]
    pub source: SkillSource,
    /// Commit that it was fetched from; absent for a skill of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetched_from: Option<FetchedFrom>,
    /// The files to install.
    #[serde(skip)]
    pub(super) ready: Arc<ReadySkill>,
}

/// Content of a `skills.json`; unknown fields are refused.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct SkillList {
    skill_refs: Vec<SkillRef>,
}

#[derive(Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
enum SkillRef {
    Builtin { name: String },
    Local { path: String },
    Github { package: String },
}

/// Reads the list and checks the form of every entry, and the skills that are on this machine. Fetches nothing.
pub(super) fn parse(
    shown: &str,
    content: Option<&[u8]>,
) -> Result<Vec<SkillSource>, TemplateError> {
    let Some(content) = content else {
        return Ok(Vec::new());
    };
    let refuse = |reason: String| refused(shown, &reason);
    let list: SkillList =
        serde_json::from_slice(content).map_err(|error| refuse(error.to_string()))?;
    if list.skill_refs.len() > TEMPLATE_SKILLS {
        return Err(refuse(format!(
            "at most {TEMPLATE_SKILLS} skills are allowed"
        )));
    }
    let source = |reference: SkillRef| match reference {
        SkillRef::Builtin { name } => SkillSource::Builtin { name },
        SkillRef::Local { path } => SkillSource::Local {
            path,
            mode: InstallMode::Linked,
        },
        SkillRef::Github { package } => SkillSource::Remote {
            package,
            skill: None,
        },
    };
    let sources: Vec<SkillSource> = list.skill_refs.into_iter().map(source).collect();
    let mut names = BTreeSet::new();
    for source in &sources {
        let name = check(source).map_err(refuse)?;
        if let Some(name) = name.filter(|name| !names.insert(name.clone())) {
            return Err(refuse(format!("it names two skills {name:?}")));
        }
    }
    Ok(sources)
}

/// Fetches what is on GitHub. One that cannot be fetched fails all.
pub(super) fn prepare(
    shown: &str,
    sources: Vec<SkillSource>,
    fetcher: &Fetcher,
) -> Result<Vec<TemplateSkill>, TemplateError> {
    let mut names = BTreeSet::new();
    let mut skills = Vec::new();
    for source in sources {
        let ready = ReadySkill::prepare(&source, fetcher).map_err(|error| match error {
            SkillError::Fetch(source) => TemplateError::Fetch {
                shown: shown.to_owned(),
                source,
            },
            other => refused(shown, &other.to_string()),
        })?;
        if !names.insert(ready.name().to_owned()) {
            let name = ready.name();
            return Err(refused(shown, &format!("it names two skills {name:?}")));
        }
        skills.push(TemplateSkill {
            fetched_from: ready.fetched_from().cloned(),
            source,
            ready: Arc::new(ready),
        });
    }
    Ok(skills)
}

fn refused(shown: &str, reason: &str) -> TemplateError {
    TemplateError::Invalid {
        shown: shown.to_owned(),
        reason: format!("{SKILLS_JSON}: {reason}"),
    }
}

/// Checks an entry, and returns the skill's name where it is known without fetching.
fn check(source: &SkillSource) -> Result<Option<String>, String> {
    match source {
        SkillSource::Builtin { name } => {
            if BUILTIN_SKILLS.iter().any(|skill| skill.name == name) {
                Ok(Some(name.clone()))
            } else {
                let name = text::preview(name, 120);
                Err(format!("no skill {name:?} is built in"))
            }
        }
        SkillSource::Local { path, .. } => {
            let path = Path::new(path);
            if path.components().any(|part| part == Component::ParentDir) {
                return Err("a path must not contain '..'".to_owned());
            }
            check_skill(path)
                .map(Some)
                .map_err(|error| error.to_string())
        }
        SkillSource::Remote { package, skill } => {
            let parsed = RemoteSkill::parse(package, skill.as_deref());
            parsed.map(|_| None).map_err(|error| error.to_string())
        }
    }
}
