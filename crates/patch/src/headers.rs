//! The headers of one file's section, and what they ask for.
//!
//! Owns the choice between changing, adding, deleting and renaming, and what of git's own headers is ignored or
//! refused. Hunks are read elsewhere.

use crate::error::{Error, ErrorKind, quote};
use crate::hunk::Hunk;
use crate::path::{self, Name};

/// The operation that one section of a patch performs on its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    Modify {
        path: String,
    },
    Add {
        path: String,
    },
    Delete {
        path: String,
    },
    /// It moves, and its content may change.
    Rename {
        from: String,
        to: String,
    },
}

impl Change {
    /// The file whose bytes [`FilePatch::apply`] wants: the one that is there before, or is to be made.
    #[must_use]
    pub fn source(&self) -> &str {
        match self {
            Self::Modify { path } | Self::Add { path } | Self::Delete { path } => path,
            Self::Rename { from, .. } => from,
        }
    }

    /// The file that is there afterwards, or is gone.
    #[must_use]
    pub fn target(&self) -> &str {
        match self {
            Self::Modify { path } | Self::Add { path } | Self::Delete { path } => path,
            Self::Rename { to, .. } => to,
        }
    }
}

/// A header that was read and has no effect, such as a mode.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IgnoredMetadata {
    /// The header's name, such as `new file mode`.
    pub kind: &'static str,
    pub value: String,
}

/// The part of a patch that concerns one file; [`FilePatch::apply`] does it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch {
    pub change: Change,
    /// Headers without effect; modes are never changed.
    pub ignored_metadata: Vec<IgnoredMetadata>,
    /// The first line of the section in the patch, counted from 1.
    pub line: usize,
    pub(crate) hunks: Vec<Hunk>,
}

/// The headers of one section, as they are met.
#[derive(Debug, Default)]
pub(crate) struct Headers {
    /// The rest of the `diff --git` line.
    pub(crate) git: Option<String>,
    pub(crate) ignored: Vec<IgnoredMetadata>,
    from: Option<String>,
    to: Option<String>,
    /// The names after `---` and `+++`.
    pub(crate) names: Option<(Name, Name)>,
}

/// Headers that are read and listed, with no effect of their own.
const IGNORED: [&str; 7] = [
    "index",
    "similarity index",
    "dissimilarity index",
    NEW_FILE,
    DELETED_FILE,
    OLD_MODE,
    "new mode",
];
const NEW_FILE: &str = "new file mode";
const DELETED_FILE: &str = "deleted file mode";
const OLD_MODE: &str = "old mode";

impl Headers {
    /// Takes one line between `diff --git` and the first hunk; lines of no meaning are passed over.
    pub(crate) fn take(&mut self, text: &str) -> Result<(), Error> {
        refuse_unsupported(text)?;
        for (prefix, slot) in [
            ("rename from ", &mut self.from),
            ("rename to ", &mut self.to),
        ] {
            if let Some(raw) = text.strip_prefix(prefix) {
                *slot = Some(parse_rename(raw)?);
                return Ok(());
            }
        }
        let with_value = |kind: &'static str| {
            let value = text.strip_prefix(kind)?.strip_prefix(' ')?;
            Some((kind, value.trim()))
        };
        if let Some((kind, value)) = IGNORED.iter().find_map(|kind| with_value(kind)) {
            check_mode(kind, value)?;
            let value = quote(value.as_bytes());
            self.ignored.push(IgnoredMetadata { kind, value });
        }
        Ok(())
    }

    /// Returns true if git says that the content is all there is to see without hunks: an empty file, or only a mode.
    pub(crate) fn allows_no_hunk(&self, change: &Change) -> bool {
        match change {
            Change::Add { .. } => self.has(NEW_FILE),
            Change::Modify { .. } => self.names.is_none(),
            Change::Delete { .. } | Change::Rename { .. } => true,
        }
    }

    /// The operation that the headers describe, after its paths were checked.
    pub(crate) fn change(&self) -> Result<Change, Error> {
        let change = match (&self.from, &self.to) {
            (Some(from), Some(to)) => self.rename(from, to)?,
            (None, None) => self.plain()?,
            (Some(_), None) | (None, Some(_)) => {
                let message = "there is only one of `rename from` and `rename to`";
                return Err(mismatch(message));
            }
        };
        for path in [change.source(), change.target()] {
            path::check(path).map_err(|why| escape(&why).of(path))?;
        }
        Ok(change)
    }

    fn has(&self, kind: &str) -> bool {
        self.ignored.iter().any(|ignored| ignored.kind == kind)
    }

    fn rename(&self, from: &str, to: &str) -> Result<Change, Error> {
        if from == to {
            return Err(mismatch("`rename from` and `rename to` name the same path").of(from));
        }
        let agrees = match &self.names {
            None => true,
            Some((Name::Path(old), Name::Path(new))) => {
                let old_agrees = old == from || path::without_old_prefix(old) == from;
                old_agrees && (new == to || path::without_new_prefix(new) == to)
            }
            Some((Name::Nothing, _) | (_, Name::Nothing)) => false,
        };
        if !agrees {
            return Err(mismatch(
                "the rename headers and the `---`/`+++` lines name different paths",
            )
            .of(from));
        }
        Ok(Change::Rename {
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }

    fn plain(&self) -> Result<Change, Error> {
        let change = self.named()?;
        let git = self.git.as_deref().and_then(path::parse_git_pair);
        if git.is_some_and(|path| path != change.target()) {
            let message = "the `diff --git` line names another file than the `---` and `+++` lines";
            return Err(mismatch(message).of(change.target()));
        }
        Ok(change)
    }

    fn named(&self) -> Result<Change, Error> {
        match &self.names {
            Some((Name::Nothing, Name::Path(new))) => Ok(Change::Add {
                path: path::without_new_prefix(new).to_owned(),
            }),
            Some((Name::Path(old), Name::Nothing)) => Ok(Change::Delete {
                path: path::without_old_prefix(old).to_owned(),
            }),
            Some((Name::Path(old), Name::Path(new))) => {
                let path = path::same_path(old, new).ok_or_else(|| {
                    mismatch("the `---` and `+++` lines name different files").of(new)
                })?;
                Ok(Change::Modify { path })
            }
            Some((Name::Nothing, Name::Nothing)) => Err(missing("both sides are /dev/null")),
            None => self.without_names(),
        }
    }

    /// A section with a `diff --git` line only: git writes these for empty files and for modes.
    fn without_names(&self) -> Result<Change, Error> {
        let path = self.git.as_deref().and_then(path::parse_git_pair);
        let path =
            path.ok_or_else(|| missing("no `---` and `+++` lines follow the `diff --git` line"))?;
        if self.has(NEW_FILE) {
            Ok(Change::Add { path })
        } else if self.has(DELETED_FILE) {
            Ok(Change::Delete { path })
        } else if self.has(OLD_MODE) {
            Ok(Change::Modify { path })
        } else {
            Err(missing("no `---` and `+++` lines follow the `diff --git` line").of(&path))
        }
    }
}

/// Refuses what no text patch can carry.
pub(crate) fn refuse_unsupported(text: &str) -> Result<(), Error> {
    let (what, hint) = if text.starts_with("copy from ") || text.starts_with("copy to ") {
        (
            "copies a file",
            "copy it with a command, or add the new file with its whole text",
        )
    } else if text.starts_with("GIT binary patch")
        || (text.starts_with("Binary files ") && text.ends_with(" differ"))
    {
        ("changes a binary file", "write binary files with a command")
    } else if text.starts_with("diff --cc ") || text.starts_with("diff --combined ") {
        (
            "is a combined diff of a merge",
            "make a diff against one parent",
        )
    } else if text.starts_with("Submodule ") && text.contains("..") {
        ("changes a submodule", "change submodules with git itself")
    } else {
        return Ok(());
    };
    Err(unsupported(format!("the patch {what}"), hint))
}

/// Refuses links, submodules and every other special file.
fn check_mode(kind: &str, value: &str) -> Result<(), Error> {
    let mode = match kind {
        "index" => value.split_once(' ').map(|(_, mode)| mode.trim()),
        "similarity index" | "dissimilarity index" => None,
        _ => Some(value),
    };
    let what = match mode {
        None | Some("100644" | "100755") => return Ok(()),
        Some("120000") => "a symbolic link".to_owned(),
        Some("160000") => "a submodule".to_owned(),
        Some(other) => format!("a file of mode {}", quote(other.as_bytes())),
    };
    let hint = "only regular files (100644, 100755) can be patched; use a command for the rest";
    Err(unsupported(format!("the patch concerns {what}"), hint))
}

/// Checks the part of an absolute path that lies below a directory which the caller knows.
///
/// # Errors
/// [`ErrorKind::PathEscape`] if its spelling leads out or into a folder of git or the runtime.
pub fn check_path(path: &str, below: &str) -> Result<(), Error> {
    path::check_below(below).map_err(|why| escape(&why).of(path))
}

fn escape(why: &str) -> Error {
    let hint = "use a path from the execution root or an absolute one in your home, outside .git and .holon";
    Error::new(ErrorKind::PathEscape, format!("the path {why}"), hint)
}

fn parse_rename(raw: &str) -> Result<String, Error> {
    match path::parse_name(raw) {
        Ok(Name::Path(path)) => Ok(path),
        Ok(Name::Nothing) => Err(mismatch("a rename cannot name /dev/null")),
        Err(why) => Err(unreadable(&why)),
    }
}

/// A name in a header that cannot be read.
pub(crate) fn unreadable(why: &str) -> Error {
    let hint = "write the path plainly, or quote it as git does";
    Error::new(
        ErrorKind::MissingFileHeader,
        format!("a file name cannot be read: {why}"),
        hint,
    )
}

/// No usable file header.
pub(crate) fn missing(message: &str) -> Error {
    let hint = "begin each file with `--- a/path` and `+++ b/path` (/dev/null for a file that is not there), then `@@`";
    Error::new(ErrorKind::MissingFileHeader, message, hint)
}

fn unsupported(message: String, hint: &str) -> Error {
    Error::new(ErrorKind::UnsupportedGitPatchFeature, message, hint)
}

fn mismatch(message: &str) -> Error {
    let hint = "use the same path in both lines; to move a file write `diff --git a/old b/new`, `rename from old`, `rename to new`";
    Error::new(ErrorKind::RenamePathMismatch, message, hint)
}
