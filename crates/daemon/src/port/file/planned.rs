//! What a patch changes, worked out before anything is written, and how much of it fits into memory.

use super::{refused, told};
use holon_domain::file_change::PatchDiagnostic;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_patch::{Applied, FilePatch, MAX_BYTES, MAX_TOTAL_BYTES};
use holon_workspace::{After, Replace, Tree, TreeError};

/// The changes of a patch so far.
#[derive(Debug, Default)]
pub(super) struct Planned {
    pub(super) changes: Vec<Replace>,
    pub(super) notes: Vec<PatchDiagnostic>,
    /// Bytes of all files so far, before and after.
    bytes: usize,
}

impl Planned {
    /// Adds what one file's part of the patch changes, and what is to be noted about it.
    pub(super) fn add(&mut self, tree: &Tree, file: &FilePatch) -> Result<(), ToolError> {
        let (source, target) = (file.change.source(), file.change.target());
        let room = MAX_TOTAL_BYTES.saturating_sub(self.bytes);
        let found = match tree.read(source, MAX_BYTES.min(room) as u64) {
            Err(TreeError::TooLarge { .. }) if room < MAX_BYTES => return Err(too_much(source)),
            found => found.map_err(|error| told(&error))?,
        };
        let content = found.as_ref().map(|found| found.content.as_slice());
        let (after, diagnostics) = match file.apply(content).map_err(|error| refused(&error))? {
            Applied::Write {
                content,
                diagnostics,
            } => (Some(content), diagnostics),
            Applied::Delete { diagnostics } => (None, diagnostics),
        };
        self.bytes += content.map_or(0, <[u8]>::len) + after.as_ref().map_or(0, Vec::len);
        if self.bytes > MAX_TOTAL_BYTES {
            return Err(too_much(source));
        }
        let notes = diagnostics.into_iter().map(|remark| PatchDiagnostic {
            path: target.to_owned(),
            kind: remark.kind.as_str().to_owned(),
            message: remark.message,
        });
        self.notes.extend(notes);
        let mode = found.as_ref().map(|found| found.mode);
        let before = found.map(|found| found.content);
        let after = after.map(|content| After { content, mode });
        self.replace(source, target, before, after);
        Ok(())
    }

    fn replace(
        &mut self,
        source: &str,
        target: &str,
        before: Option<Vec<u8>>,
        after: Option<After>,
    ) {
        if source == target {
            let path = target.to_owned();
            self.changes.push(Replace {
                path,
                before,
                after,
            });
            return;
        }
        let (from, to) = (source.to_owned(), target.to_owned());
        self.changes.push(Replace {
            path: from,
            before,
            after: None,
        });
        self.changes.push(Replace {
            path: to,
            before: None,
            after,
        });
    }
}

fn too_much(path: &str) -> ToolError {
    let message = format!(
        "the files of the patch up to {path:?} have more than {MAX_TOTAL_BYTES} bytes together, counted before and \
         after the change; nothing was changed"
    );
    ToolError::new(ToolErrorKind::TooLarge, message).hint(
        "split the patch into several calls with fewer files, or change large files with a command",
    )
}
