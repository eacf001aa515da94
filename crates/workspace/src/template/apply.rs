//! Makes an agent's home from a template: all of it or nothing.
//!
//! The home is built under a temporary name with its skills and the record of its template, and renamed into place. It
//! is made before the agent's row is stored, so a crash in between leaves a home without an agent. Such a home carries
//! a mark until the agent exists, and the next attempt under the same name replaces it.

use super::error::TemplateError;
use super::read::{Template, TemplateOrigin};
use super::skills::TemplateSkill;
use crate::error::{Error, at};
use crate::home::{build, exists, initial_agents_md, lock_home, make_dir, place_home, sync, write};
use crate::scratch;
use holon_domain::limits::INSTRUCTION_FILE_BYTES;
use holon_domain::time::Timestamp;
use serde::Serialize;
use std::fs;
use std::io;
use std::path::Path;

/// Folders of a home that a template made, besides those of every home.
const FOLDERS: [&str; 5] = ["notes", "work", "skills", ".holon", STATE];
const STATE: &str = ".holon/state";
pub(crate) const PROVENANCE: &str = ".holon/state/template-provenance.json";
/// Present until the agent of the home is stored.
pub(crate) const UNCONFIRMED: &str = ".holon/state/unconfirmed";

/// A request to make a home.
#[derive(Debug, Clone)]
pub struct TemplateOrder {
    /// The selector as the operator wrote it.
    pub selector: String,
    /// Text of the operator that is added to `AGENTS.md`.
    pub seed: Option<String>,
    pub applied_at: Timestamp,
}

/// Record of the template that a home was made from. For people: no decision reads it.
#[derive(Debug, Serialize)]
struct Provenance<'a> {
    selector: &'a str,
    template_id: &'a str,
    #[serde(flatten)]
    origin: &'a TemplateOrigin,
    sha256: &'a str,
    skills: &'a [TemplateSkill],
    applied_at: Timestamp,
}

/// Makes a home from a template.
///
/// # Errors
/// Fails if the home exists and is not empty, a skill cannot be installed, or the filesystem refuses. Then nothing is
/// left.
pub fn apply_template(
    home: &Path,
    template: &Template,
    order: &TemplateOrder,
) -> Result<(), TemplateError> {
    let _alone = lock_home(home);
    if !clear_home(home)? {
        return Err(TemplateError::HomeInUse {
            path: home.to_owned(),
        });
    }
    holon_fault::hit("template.cleared");
    place_home(home, |new| fill(new, template, order))?;
    holon_fault::hit("template.placed");
    Ok(())
}

/// Removes the mark of a home whose agent is stored. Idempotent.
///
/// # Errors
/// Fails if the filesystem refuses.
pub fn confirm_home(home: &Path) -> Result<(), Error> {
    let mark = home.join(UNCONFIRMED);
    match fs::remove_file(&mark) {
        Ok(()) => {
            holon_fault::hit("template.confirmed");
            sync(&home.join(STATE))
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        // A home of an earlier build has no such folder, or the agent put something else there.
        Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(()),
        Err(error) => Err(at("remove", &mark)(error)),
    }
}

/// Clears the place of a home: an empty directory, or what an interrupted attempt left. Returns false if the home is in
/// use.
pub(crate) fn clear_home(home: &Path) -> Result<bool, Error> {
    if !exists(home)? {
        return Ok(true);
    }
    if is_unconfirmed(home) {
        scratch::remove_tree(home)?;
        return Ok(true);
    }
    match fs::remove_dir(home) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => Ok(false),
        Err(error) => Err(at("remove", home)(error)),
    }
}

/// Returns true if a home carries the mark of an agent that was not stored yet.
#[must_use]
pub fn is_unconfirmed(home: &Path) -> bool {
    fs::symlink_metadata(home.join(UNCONFIRMED)).is_ok_and(|found| found.is_file())
}

fn fill(new: &Path, template: &Template, order: &TemplateOrder) -> Result<(), TemplateError> {
    let agents_md = initial_agents_md(&template.agents_md, order.seed.as_deref());
    if agents_md.len() as u64 > INSTRUCTION_FILE_BYTES {
        return Err(TemplateError::Invalid {
            shown: template.id.clone(),
            reason: format!(
                "the AGENTS.md of the new agent would have {} bytes, and at most {INSTRUCTION_FILE_BYTES} are loaded;                  shorten the template or the seed",
                agents_md.len()
            ),
        });
    }
    build(new, &agents_md)?;
    holon_fault::hit("template.built");
    for folder in FOLDERS {
        make_dir(&new.join(folder))?;
        holon_fault::hit("template.folder");
    }
    for skill in &template.skills {
        let installed = skill.ready.install_into(&new.join("skills"));
        installed.map_err(|source| TemplateError::Skill {
            shown: template.id.clone(),
            source,
        })?;
    }
    let provenance = Provenance {
        selector: &order.selector,
        template_id: &template.id,
        origin: &template.origin,
        sha256: &template.sha256,
        skills: &template.skills,
        applied_at: order.applied_at,
    };
    let path = new.join(PROVENANCE);
    let text = serde_json::to_string_pretty(&provenance);
    let text = text.map_err(|error| at("write", &path)(io::Error::other(error)))?;
    write(&path, &text)?;
    holon_fault::hit("template.recorded");
    write(&new.join(UNCONFIRMED), "")?;
    holon_fault::hit("template.marked");
    for folder in ["skills", STATE, ".holon"] {
        sync(&new.join(folder))?;
    }
    Ok(sync(new)?)
}
