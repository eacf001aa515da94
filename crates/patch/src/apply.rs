//! A file after its part of the patch.
//!
//! Owns what each kind of change needs and yields. Lines that no hunk names are copied byte for byte, and a file is
//! deleted only if the patch shows all of it.

use crate::diagnostic::{Diagnostic, DiagnosticKind, count_mismatch, remarks};
use crate::error::{Error, ErrorKind};
use crate::headers::{Change, FilePatch};
use crate::hunk::Reading;
use crate::locate::Finder;
use crate::target::Target;
use crate::write::{line_end, write_hunk};

/// The result of one section of a patch for its file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Applied {
    /// It is to be written, under the new name if it is renamed.
    Write {
        /// The whole new content.
        content: Vec<u8>,
        /// Mistakes in the patch that did not change its meaning, for example wrong line numbers.
        diagnostics: Vec<Diagnostic>,
    },
    /// It is to be removed.
    Delete {
        /// Mistakes in the patch that did not change its meaning, for example wrong line numbers.
        diagnostics: Vec<Diagnostic>,
    },
}

impl FilePatch {
    /// Applies this part of the patch to `old`, the bytes of [`Change::source`]; none if there is no such file.
    ///
    /// Whether the target of a rename exists already is for the caller to look at.
    pub fn apply(&self, old: Option<&[u8]>) -> Result<Applied, Error> {
        let path = self.change.source();
        let old = match (&self.change, old) {
            (Change::Add { .. }, Some(_)) => return Err(exists(path).at(self.line)),
            (Change::Add { .. }, None) => return Ok(self.created()),
            (Change::Modify { .. } | Change::Delete { .. } | Change::Rename { .. }, None) => {
                return Err(gone(path).at(self.line));
            }
            (Change::Modify { .. } | Change::Delete { .. } | Change::Rename { .. }, Some(old)) => {
                old
            }
        };
        let rebuilt = self.rebuild(old).map_err(|error| error.of(path))?;
        match &self.change {
            Change::Modify { .. } | Change::Rename { .. } | Change::Add { .. } => {
                Ok(Applied::Write {
                    content: rebuilt.content,
                    diagnostics: rebuilt.diagnostics,
                })
            }
            Change::Delete { .. } => match rebuilt.uncovered {
                None => Ok(Applied::Delete {
                    diagnostics: rebuilt.diagnostics,
                }),
                Some(first) => Err(incomplete(old, first).of(path).at(self.line)),
            },
        }
    }

    /// The content of a new file.
    fn created(&self) -> Applied {
        let mut content = Vec::new();
        let mut diagnostics = Vec::new();
        for hunk in &self.hunks {
            for line in &hunk.lines {
                content.extend_from_slice(hunk.text(line, Reading::Marked));
                content.extend_from_slice(line_end(line.cr && !hunk.crlf));
            }
            let new = hunk.lines.len();
            diagnostics.extend(count_mismatch(hunk, (0, new)));
        }
        let last = self.hunks.last().and_then(|hunk| hunk.lines.last());
        if last.is_some_and(|line| line.no_newline) {
            content.pop();
        }
        Applied::Write {
            content,
            diagnostics,
        }
    }

    fn rebuild(&self, old: &[u8]) -> Result<Rebuilt, Error> {
        let mut diagnostics = Vec::new();
        if self.hunks.is_empty() {
            // No text is looked at, so any content may be renamed.
            if matches!(self.change, Change::Modify { .. }) {
                let message =
                    "the section changes only the mode, and modes are not changed".to_owned();
                diagnostics.push(Diagnostic {
                    kind: DiagnosticKind::NoChange,
                    message,
                });
            }
            return Ok(Rebuilt {
                content: old.to_vec(),
                diagnostics,
                uncovered: (!old.is_empty()).then_some(0),
            });
        }
        let target = Target::new(old)?;
        let mut finder = Finder::new(&target, &self.hunks);
        let mut content = Vec::with_capacity(old.len());
        let (mut done, mut uncovered) = (0, None);
        for hunk in &self.hunks {
            let place = finder.locate(hunk, done)?;
            if place.start > done {
                uncovered = uncovered.or(Some(done));
            }
            content.extend_from_slice(target.bytes(done..place.start));
            write_hunk(&mut content, &target, hunk, place);
            diagnostics.extend(remarks(&target, hunk, place));
            done = place.start + place.len;
        }
        if done < target.len() {
            uncovered = uncovered.or(Some(done));
        }
        content.extend_from_slice(target.bytes(done..target.len()));
        Ok(Rebuilt {
            content,
            diagnostics,
            uncovered,
        })
    }
}

struct Rebuilt {
    content: Vec<u8>,
    diagnostics: Vec<Diagnostic>,
    /// The first line that no hunk names.
    uncovered: Option<usize>,
}

fn exists(path: &str) -> Error {
    let hint = "to change it, name it in the `---` line too; to replace it, delete it first";
    Error::new(
        ErrorKind::TargetExists,
        "the file to be added exists already",
        hint,
    )
    .of(path)
}

fn gone(path: &str) -> Error {
    let hint = "check the path; to make a new file, write `--- /dev/null`";
    Error::new(ErrorKind::FileMissing, "the file is not there", hint).of(path)
}

/// A deletion that does not show all it would delete.
fn incomplete(old: &[u8], first: usize) -> Error {
    let target = match Target::new(old) {
        Ok(target) => target,
        Err(error) => return error,
    };
    let message = format!(
        "the deletion does not name line {} of {}; a file is deleted only if the patch shows all of it",
        first + 1,
        target.len()
    );
    let hint = "list every line with `-`, or remove the file with a command";
    let near = target.shown(first..first + SHOWN_UNCOVERED);
    Error::new(ErrorKind::ContextNotFound, message, hint).near(near)
}

/// Lines shown of what a deletion left out.
const SHOWN_UNCOVERED: usize = 10;
