//! Plans the changes of a patch before anything is written, within a memory limit.

use super::{refused, tool_error};
use holon_domain::file_change::PatchDiagnostic;
use holon_domain::tool::{ToolError, ToolErrorKind};
use holon_patch::{Applied, FilePatch, MAX_BYTES, MAX_TOTAL_BYTES};
use holon_workspace::{FileChange, NewContent, Tree, TreeError};

/// The changes of a patch that were planned so far.
#[derive(Debug, Default)]
pub(super) struct PatchPlan {
    pub(super) changes: Vec<FileChange>,
    pub(super) notes: Vec<PatchDiagnostic>,
    /// Bytes of all files so far, before and after the change.
    bytes: usize,
}

impl PatchPlan {
    /// Adds the changes of one file's part of the patch, and its diagnostics.
    pub(super) fn add(&mut self, tree: &Tree, file: &FilePatch) -> Result<(), ToolError> {
        let (source, target) = (file.change.source(), file.change.target());
        let room = MAX_TOTAL_BYTES.saturating_sub(self.bytes);
        let found = match tree.read(source, MAX_BYTES.min(room) as u64) {
            Err(TreeError::TooLarge { .. }) if room < MAX_BYTES => return Err(too_much(source)),
            found => found.map_err(|error| tool_error(&error))?,
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
        let after = after.map(|content| NewContent { content, mode });
        self.replace(source, target, before, after);
        Ok(())
    }

    fn replace(
        &mut self,
        source: &str,
        target: &str,
        before: Option<Vec<u8>>,
        after: Option<NewContent>,
    ) {
        if source == target {
            let path = target.to_owned();
            self.changes.push(FileChange {
                path,
                before,
                after,
            });
            return;
        }
        let (from, to) = (source.to_owned(), target.to_owned());
        self.changes.push(FileChange {
            path: from,
            before,
            after: None,
        });
        self.changes.push(FileChange {
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
