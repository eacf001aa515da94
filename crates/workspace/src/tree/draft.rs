//! Turns the requested changes into a plan: resolves every path and compares every file, without writing.

use super::error::TreeError;
use super::file::{self, Image, ReadFailure, RegularFile, permissions, special};
use super::journal::VERSION;
use super::path::{PlainPath, join};
use super::plan::{Deed, Dirs, Plan, PlannedChange};
use super::walk::walk;
use super::{FileChange, NewContent, Tree};
use std::collections::BTreeSet;

/// Directories one call may create; each is held open while the call runs.
const MAX_MADE: usize = 256;

/// Content and metadata of a side file.
#[derive(Debug)]
pub(super) struct Payload<'a> {
    pub(super) content: &'a [u8],
    /// Permissions; `None` for the defaults of a new file.
    pub(super) mode: Option<u32>,
    /// Setuid, setgid and sticky bits of the replaced file. They are not part of its image, because the system may
    /// refuse them.
    pub(super) special: u32,
    /// User and group of the replaced file.
    pub(super) owner: Option<(u32, u32)>,
}

/// A plan with everything its execution needs.
#[derive(Debug)]
pub(super) struct Draft<'a> {
    pub(super) plan: Plan,
    /// The side file's content for each change of the plan; `None` for a deletion.
    pub(super) payloads: Vec<Option<Payload<'a>>>,
    pub(super) dirs: Dirs,
}

impl<'a> Draft<'a> {
    /// Compares every file with the content the caller saw, and plans the changes.
    pub(super) fn check(tree: &Tree, wanted: &'a [FileChange]) -> Result<Self, TreeError> {
        let random = getrandom::u64().map_err(|_| TreeError::Unsupported {
            what: "the system gave no random bits",
        })?;
        let mut draft = Draft {
            plan: Plan {
                version: VERSION,
                root: tree.path.clone(),
                root_identity: Some(tree.identity.clone()),
                second_root: tree.planned_second(),
                made: Vec::new(),
                changes: Vec::new(),
            },
            payloads: Vec::new(),
            dirs: tree.dirs()?,
        };
        let mut seen = BTreeSet::new();
        for (index, replace) in wanted.iter().enumerate() {
            let (_, path) = tree.locate(&replace.path)?;
            let refused = |why| TreeError::Refused {
                path: path.whole.to_owned(),
                why,
            };
            let dir = draft.resolve(tree, path)?;
            // Both roots may contain the same file.
            if !seen.insert(tree.path().join(join(&dir, path.name))) {
                return Err(refused("the same file is named twice in one call"));
            }
            let found = draft.read(&dir, path, replace.before.as_deref())?;
            let Some((deed, payload)) = plan_change(found.as_ref(), replace.after.as_ref()) else {
                continue;
            };
            if !matches!(deed, Deed::Delete { .. }) {
                draft.plan_dirs(&dir);
            }
            if draft.plan.made.len() > MAX_MADE {
                return Err(refused("one call may make at most 256 directories"));
            }
            draft.plan.changes.push(PlannedChange {
                dir,
                name: path.name.to_owned(),
                side: format!(".holon-{random:016x}-{index}.tmp"),
                deed,
            });
            draft.payloads.push(payload);
        }
        Ok(draft)
    }

    /// Resolves the directory of a path; its existing part is held open from here on.
    fn resolve(&mut self, tree: &Tree, path: PlainPath<'_>) -> Result<Vec<String>, TreeError> {
        let root = tree.root_of(path.whole);
        let walked = walk(root.dir, path)?;
        let mark = root.mark.map(str::to_owned);
        let mut there: Vec<String> = mark.into_iter().chain(walked.there).collect();
        if let Some(dir) = walked.dir {
            self.dirs.hold(there.clone(), dir);
        }
        there.extend(walked.missing);
        Ok(there)
    }

    /// Adds the missing directories to the plan.
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

    /// Reads the file, and fails if it is not as the caller saw it.
    fn read(
        &self,
        dir: &[String],
        path: PlainPath<'_>,
        before: Option<&[u8]>,
    ) -> Result<Option<RegularFile>, TreeError> {
        let whole = || path.whole.to_owned();
        let expected = before.map_or(0, |bytes| u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        let found = match self.dirs.held(dir) {
            Some(dir) => file::read(dir, path.name, expected),
            None => Ok(None),
        };
        match (found, before) {
            (Ok(None), None) => Ok(None),
            (Ok(None), Some(_)) => Err(TreeError::Missing { path: whole() }),
            (Ok(Some(_)) | Err(ReadFailure::TooLarge), None) => {
                Err(TreeError::Exists { path: whole() })
            }
            (Ok(Some(found)), Some(before)) if found.content == before => Ok(Some(found)),
            (Ok(Some(_)) | Err(ReadFailure::TooLarge), Some(_)) => {
                Err(TreeError::Changed { path: whole() })
            }
            (Err(unread), _) => Err(unread.on(path.whole, expected)),
        }
    }
}

/// Plans the change of one file; `None` if it already has the requested content.
fn plan_change<'a>(
    found: Option<&RegularFile>,
    after: Option<&'a NewContent>,
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
