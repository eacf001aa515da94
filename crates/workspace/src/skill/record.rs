//! Record of an installation, in the directory of the copy. It pins the content: a change since then is told.

use super::copy::{Caches, hash_tree};
use super::ready::ReadySkill;
use super::{RECORD, SKILL_MD};
use crate::plain_file::{self, ReadFailure};
use holon_domain::guidance::{FetchedFrom, SkillSource, SkillSourceKind};
use holon_domain::limits::SKILL_FILE_BYTES;
use holon_domain::text;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Largest record that is read, in bytes. The agent owns the file.
const RECORD_BYTES: u64 = 64 << 10;

/// Content of the record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct InstallRecord {
    source: SkillSource,
    /// SHA-256 of the tree as it was installed.
    sha256: String,
    /// Absent for a skill of this machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fetched_from: Option<FetchedFrom>,
    /// SHA-256 of the `SKILL.md` alone, which the catalogue compares. Absent in records of older builds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    skill_md_sha256: Option<String>,
}

impl InstallRecord {
    /// Creates the record of a skill whose copy in `dir` has this hash.
    pub(super) fn of(skill: &ReadySkill, sha256: String, dir: &Path) -> Self {
        let skill_md = plain_file::read(&dir.join(SKILL_MD), SKILL_FILE_BYTES);
        let skill_md = skill_md.ok().flatten();
        Self {
            skill_md_sha256: skill_md.map(text::sha256_hex),
            source: skill.source().clone(),
            sha256,
            fetched_from: skill.fetched_from().cloned(),
        }
    }

    /// Reads the record of a skill's directory; `None` if there is none, or the file is no record.
    pub(super) fn read(dir: &Path) -> Result<Option<Self>, ReadFailure> {
        let text = plain_file::read(&dir.join(RECORD), RECORD_BYTES)?;
        Ok(text.and_then(|text| serde_json::from_slice(&text).ok()))
    }

    /// Returns the kind of the source.
    pub(super) const fn kind(&self) -> SkillSourceKind {
        self.source.kind()
    }

    /// Returns true if the `SKILL.md` was replaced since the installation.
    pub(super) fn has_other_skill_md(&self, skill_md: &[u8]) -> bool {
        let installed = self.skill_md_sha256.as_ref();
        installed.is_some_and(|installed| *installed != text::sha256_hex(skill_md))
    }

    /// Says in which way the directory differs from what was installed; `None` if it does not.
    pub(super) fn change(&self, dir: &Path) -> Option<String> {
        match hash_tree(dir, Caches::LeftOut) {
            Ok(now) if now == self.sha256 => None,
            Ok(_) if hash_tree(dir, Caches::Counted).is_ok_and(|now| now == self.sha256) => None,
            Ok(_) => Some("its files were changed since it was installed".to_owned()),
            Err(error) => Some(error.to_string()),
        }
    }
}

/// Says in which way a skill that was installed as a copy differs from what was installed. `None` if it does not, or
/// was not installed as a copy. `entrypoint` is the path of its `SKILL.md`.
#[must_use]
pub fn skill_change(entrypoint: &Path) -> Option<String> {
    let dir = entrypoint.parent()?;
    InstallRecord::read(dir).ok()??.change(dir)
}
