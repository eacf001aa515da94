//! Record of an installation, in the directory of the copy. It pins the content: a change since then is told.

use super::copy::hash_tree;
use super::ready::ReadySkill;
use super::{RECORD, SKILL_MD};
use holon_domain::guidance::{FetchedFrom, SkillSource, SkillSourceKind};
use holon_domain::text;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Read as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

/// Largest record that is read, in bytes. A larger file is none.
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
        let skill_md = std::fs::read(dir.join(SKILL_MD)).ok();
        Self {
            skill_md_sha256: skill_md.map(text::sha256_hex),
            source: skill.source().clone(),
            sha256,
            fetched_from: skill.fetched_from().cloned(),
        }
    }

    /// Reads the record of a skill's directory; `None` if there is none that can be read.
    pub(super) fn read(dir: &Path) -> Option<Self> {
        let flags = rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK;
        let flags = i32::try_from(flags.bits()).unwrap_or_default();
        let mut options = File::options();
        let opened = options.read(true).custom_flags(flags);
        let file = opened.open(dir.join(RECORD)).ok()?;
        if !file.metadata().ok()?.is_file() {
            return None;
        }
        let mut text = Vec::new();
        file.take(RECORD_BYTES).read_to_end(&mut text).ok()?;
        serde_json::from_slice(&text).ok()
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
        match hash_tree(dir) {
            Ok(now) if now == self.sha256 => None,
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
    InstallRecord::read(dir)?.change(dir)
}
