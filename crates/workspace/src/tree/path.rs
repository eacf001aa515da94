//! Which relative paths a tree takes, judged by their text alone.
//!
//! What links do with a path is `walk`'s; it asks here again about every name a link brings in.

use super::error::TreeError;

/// Longest path, as the kernel has it.
const MAX_BYTES: usize = 4096;

/// Deepest path: keeps the descriptors of one change few.
const MAX_COMPONENTS: usize = 64;

/// Names that belong to git and to the runtime, at any depth.
const RESERVED: [&str; 2] = [".git", ".holon"];

/// A path whose every component is a plain name.
#[derive(Debug, Clone, Copy)]
pub(super) struct Plain<'a> {
    /// The path as written.
    pub(super) whole: &'a str,
    /// The last component.
    pub(super) name: &'a str,
}

impl<'a> Plain<'a> {
    /// Judges a path.
    pub(super) fn parse(whole: &'a str) -> Result<Self, TreeError> {
        let refused = |why| {
            Err(TreeError::Refused {
                path: whole.to_owned(),
                why,
            })
        };
        if whole.is_empty() || whole.contains('\0') {
            return refused("it is empty or contains a NUL byte");
        }
        if whole.starts_with('/') || whole.split('/').any(|name| name == "..") {
            return Err(TreeError::Escape {
                path: whole.to_owned(),
            });
        }
        if whole.len() > MAX_BYTES || whole.split('/').count() > MAX_COMPONENTS {
            return refused("it is longer than 4096 bytes or deeper than 64 directories");
        }
        if whole.split('/').any(|name| name.is_empty() || name == ".") {
            return refused("it has an empty or `.` component; write the path plainly");
        }
        if whole.split('/').any(is_reserved) {
            return refused("`.git` and `.holon` belong to git and to the runtime");
        }
        let name = whole.rsplit('/').next().unwrap_or(whole);
        Ok(Self { whole, name })
    }

    /// The components before the last.
    pub(super) fn parents(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.whole
            .split('/')
            .rev()
            .skip(1)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
    }
}

/// Whether a name is one of those nobody may write beneath. Case and trailing dots and spaces do not count, since
/// some filesystems ignore them.
pub(super) fn is_reserved(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']);
    RESERVED
        .iter()
        .any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// Components as one path.
pub(super) fn join(directory: &[String], name: &str) -> String {
    let mut joined = directory.join("/");
    if !joined.is_empty() {
        joined.push('/');
    }
    joined.push_str(name);
    joined
}
