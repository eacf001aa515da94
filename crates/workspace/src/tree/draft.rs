//! From what the caller wants to a plan: every path resolved, every file compared, nothing written.

use super::error::TreeError;
use super::file::{self, Image, Regular, Unread, permissions, special};
use super::journal::VERSION;
use super::path::{Plain, join};
use super::plan::{Change, Deed, Dirs, Plan};
use super::walk::walk;
use super::{After, Replace, Tree};
use std::collections::BTreeSet;
use std::os::fd::AsFd;

/// Directories one call may make; each is held open while it runs.
const MAX_MADE: usize = 256;

/// What goes into a side.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    pub(super) content: &'a [u8],
    /// Permissions; `None`: what the system gives to a new file.
    pub(super) mode: Option<u32>,
    /// Setuid, setgid and sticky bits of the file that is replaced. No part of its image: the system may refuse them.
    pub(super) special: u32,
    /// User and group of the file that is replaced.
    pub(super) owner: Option<(u32, u32)>,
}

/// A plan with everything its execution needs.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) plan: Plan,
    /// Beside each change what goes into its side.
    pub(super) payloads: Vec<Option<Payload<'a>>>,
    pub(super) dirs: Dirs,
}

impl<'a> Draft<'a> {
    /// Compares every file with what the caller saw, and plans.
    pub(super) fn check(tree: &Tree, wanted: &'a [Replace]) -> Result<Self, TreeError> {
        let random = getrandom::u64().map_err(|_| TreeError::Unsupported {
            what: "the system gave no random bits",
        })?;
        let mut draft = Draft {
            plan: Plan {
                version: VERSION,
                root: tree.path.clone(),
                root_identity: Some(tree.identity.clone()),
                made: Vec::new(),
                changes: Vec::new(),
            },
            payloads: Vec::new(),
            dirs: Dirs::new(tree.root()?),
        };
        let mut seen = BTreeSet::new();
        for (index, replace) in wanted.iter().enumerate() {
            let path = Plain::parse(&replace.path)?;
            let refused = |why| TreeError::Refused {
                path: path.whole.to_owned(),
                why,
            };
            let dir = draft.resolve(tree, path)?;
            if !seen.insert(join(&dir, path.name)) {
                return Err(refused("the same file is named twice in one call"));
            }
            let found = draft.read(&dir, path, replace.before.as_deref())?;
            let Some((deed, payload)) = deed(found.as_ref(), replace.after.as_ref()) else {
                continue;
            };
            if !matches!(deed, Deed::Delete { .. }) {
                draft.plan_dirs(&dir);
            }
            if draft.plan.made.len() > MAX_MADE {
                return Err(refused("one call may make at most 256 directories"));
            }
            draft.plan.changes.push(Change {
                dir,
                name: path.name.to_owned(),
                side: format!(".holon-{random:016x}-{index}.tmp"),
                deed,
            });
            draft.payloads.push(payload);
        }
        Ok(draft)
    }

    /// The directory of a path, free of links; what exists of it is held from here on.
    fn resolve(&mut self, tree: &Tree, path: Plain<'_>) -> Result<Vec<String>, TreeError> {
        let walked = walk(tree.dir.as_fd(), path)?;
        if let Some(dir) = walked.dir {
            self.dirs.hold(walked.there.clone(), dir);
        }
        let mut dir = walked.there;
        dir.extend(walked.missing);
        Ok(dir)
    }

    /// Notes the directories that are not there.
    fn plan_dirs(&mut self, dir: &[String]) {
        let exists = (0..=dir.len()).rev().find(|depth| {
            let (upper, _) = dir.split_at(*depth);
            self.dirs.held(upper).is_some() || self.plan.made.iter().any(|made| made == upper)
        });
        for depth in exists.map_or(1, |depth| depth + 1)..=dir.len() {
            let (upper, _) = dir.split_at(depth);
            self.plan.made.push(upper.to_vec());
        }
    }

    /// The file as it is, if it is as the caller saw it.
    fn read(
        &self,
        dir: &[String],
        path: Plain<'_>,
        before: Option<&[u8]>,
    ) -> Result<Option<Regular>, TreeError> {
        let whole = || path.whole.to_owned();
        let expected = before.map_or(0, |bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let found = match self.dirs.held(dir) {
            Some(dir) => file::read(dir, path.name, expected),
            None => Ok(None),
        };
        match (found, before) {
            (Ok(None), None) => Ok(None),
            (Ok(None), Some(_)) => Err(TreeError::Missing { path: whole() }),
            (Ok(Some(_)) | Err(Unread::TooLarge), None) => Err(TreeError::Exists { path: whole() }),
            (Ok(Some(found)), Some(before)) if found.content == before => Ok(Some(found)),
            (Ok(Some(_)) | Err(Unread::TooLarge), Some(_)) => {
                Err(TreeError::Changed { path: whole() })
            }
            (Err(unread), _) => Err(unread.on(path.whole, expected)),
        }
    }
}

/// What is to be done to a file; `None` when it is already as wanted.
fn deed<'a>(
    found: Option<&Regular>,
    after: Option<&'a After>,
) -> Option<(Deed, Option<Payload<'a>>)> {
    let before = found.map(|found| Image::of(&found.content, Some(permissions(&found.stat))));
    let payload = after.map(|after| Payload {
        content: &after.content,
        mode: after
            .mode
            .map(|mode| mode & 0o777)
            .or_else(|| found.map(|found| permissions(&found.stat))),
        special: found.map_or(0, |found| special(&found.stat)),
        owner: found.map(|found| (found.stat.st_uid, found.stat.st_gid)),
    });
    let image = payload
        .as_ref()
        .map(|payload| Image::of(payload.content, payload.mode));
    let deed = match (before, image) {
        (None, None) => return None,
        (Some(before), Some(after)) if before == after => return None,
        (Some(before), Some(after)) => Deed::Rewrite { before, after },
        (None, Some(after)) => Deed::Add { after },
        (Some(before), None) => Deed::Delete { before },
    };
    Some((deed, payload))
}
