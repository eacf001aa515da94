//! Checks relative paths by their text alone.
//!
//! `walk` resolves links and applies the same checks to every name in a link.

use super::error::TreeError;

/// Longest path in bytes, as in the kernel.
const MAX_BYTES: usize = 4096;

/// Deepest path; it bounds the descriptors of one change.
const MAX_COMPONENTS: usize = 64;

/// Names that belong to git and to the runtime, at any depth.
const RESERVED: [&str; 2] = [".git", ".holon"];

/// A path whose every component is a plain name.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlainPath<'a> {
    /// The path as written.
    pub(super) whole: &'a str,
    /// Its part beneath the root.
    below: &'a str,
    pub(super) name: &'a str,
}

impl<'a> PlainPath<'a> {
    /// Parses and checks a relative path.
    pub(super) fn parse(whole: &'a str) -> Result<Self, TreeError> {
        Self::parse_below(whole, whole)
    }

    /// Parses and checks the part of a path that lies beneath its root.
    pub(super) fn parse_below(whole: &'a str, below: &'a str) -> Result<Self, TreeError> {
        let refused = |why| {
            Err(TreeError::Refused {
                path: whole.to_owned(),
                why,
            })
        };
        if below.is_empty() || below.contains('\0') {
            return refused("it is empty or contains a NUL byte");
        }
        if below.starts_with('/') || below.split('/').any(|name| name == "..") {
            return Err(TreeError::Escape {
                path: whole.to_owned(),
            });
        }
        if below.len() > MAX_BYTES || below.split('/').count() > MAX_COMPONENTS {
            return refused("it is longer than 4096 bytes or deeper than 64 directories");
        }
        if below.split('/').any(|name| name.is_empty() || name == ".") {
            return refused("it has an empty or `.` component; write the path plainly");
        }
        if below.split('/').any(is_reserved) {
            return refused("`.git` and `.holon` belong to git and to the runtime");
        }
        let name = below.rsplit('/').next().unwrap_or(below);
        Ok(Self { whole, below, name })
    }

    /// Iterates over the components before the last.
    pub(super) fn parents(self) -> impl DoubleEndedIterator<Item = &'a str> {
        self.below
            .split('/')
            .rev()
            .skip(1)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
    }
}

/// Returns true if a name is reserved. Case, trailing dots and trailing spaces are ignored, because some filesystems
/// ignore them.
pub(super) fn is_reserved(name: &str) -> bool {
    let name = name.trim_end_matches(['.', ' ']);
    RESERVED
        .iter()
        .any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// Joins components to one path.
pub(super) fn join(directory: &[String], name: &str) -> String {
    let mut joined = directory.join("/");
    if !joined.is_empty() {
        joined.push('/');
    }
    joined.push_str(name);
    joined
}
