//! What must hold of any patch on any file, as one plain function.
//!
//! It is the body of a fuzz target outside the workspace, and a test of this crate runs it in every usual run, so that
//! it is never out of date. Not for callers. Beside what is checked here, nothing may panic and everything must end.

use std::collections::BTreeSet;

use crate::headers::{Change, FilePatch};
use crate::parse::Patch;
use crate::{Applied, Diagnostic, Error, MAX_BYTES, MAX_FILES, MAX_HUNKS, MAX_LINES};

/// Most bytes of a sentence in an error or a remark: a few words of ours, and foreign text cut short.
const SENTENCE_BYTES: usize = 2_000;
/// Most lines of a file that an error shows.
const SHOWN_LINES: usize = 20;
/// Most remarks about one hunk.
const REMARKS: usize = 5;

/// Checks one input: a patch and, after the first NUL byte, the file that it is applied to.
///
/// # Errors
/// What does not hold.
pub fn check(input: &[u8]) -> Result<(), String> {
    let end = input.iter().position(|byte| *byte == 0);
    let (patch, old) = input.split_at(end.unwrap_or(input.len()));
    let old = old.strip_prefix(b"\0").unwrap_or_default();
    check_on(&String::from_utf8_lossy(patch), old)
}

/// Checks one patch on one file.
///
/// # Errors
/// What does not hold.
pub fn check_on(text: &str, old: &[u8]) -> Result<(), String> {
    let read = Patch::parse(text);
    require(read == Patch::parse(text), || {
        "a patch is read in two ways".to_owned()
    })?;
    let patch = match read {
        Ok(patch) => patch,
        Err(error) => return is_bounded(&error),
    };
    within_limits(&patch, text)?;
    for file in &patch.files {
        for before in [None, Some(old)] {
            applies(file, before, text)?;
        }
    }
    Ok(())
}

fn require(holds: bool, what: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(what()) }
}

/// A patch that was read keeps the limits, and each of its paths is one, beneath the root.
fn within_limits(patch: &Patch, text: &str) -> Result<(), String> {
    let lines = text.bytes().filter(|byte| *byte == b'\n').count();
    let hunks: usize = patch.files.iter().map(|file| file.hunks.len()).sum();
    for (what, count, most) in [
        ("bytes", text.len(), MAX_BYTES),
        ("lines", lines, MAX_LINES),
        ("files", patch.files.len(), MAX_FILES),
        ("hunks", hunks, MAX_HUNKS),
    ] {
        require(count <= most, || format!("{count} {what} were read"))?;
    }
    require(!patch.files.is_empty(), || "no file was read".to_owned())?;
    let mut seen = BTreeSet::new();
    for file in &patch.files {
        let (source, target) = (file.change.source(), file.change.target());
        let moves = matches!(file.change, Change::Rename { .. });
        require(moves == (source != target), || {
            format!("{:?} is no rename, or one", file.change)
        })?;
        for path in BTreeSet::from([source, target]) {
            let sound = |part: &str| !matches!(part, "" | "." | ".." | ".git");
            let beneath = path.split('/').all(sound) && !path.contains('\0');
            require(beneath, || format!("the path {path:?} was read"))?;
            require(seen.insert(path), || format!("{path:?} was read twice"))?;
        }
    }
    Ok(())
}

/// One file's part gives one answer, and nothing in it is larger than what it was made from.
fn applies(file: &FilePatch, before: Option<&[u8]>, text: &str) -> Result<(), String> {
    let applied = file.apply(before);
    require(applied == file.apply(before), || {
        "a patch is applied in two ways".to_owned()
    })?;
    let old = before.map_or(0, <[u8]>::len);
    let (content, diagnostics) = match applied {
        Ok(Applied::Write {
            content,
            diagnostics,
        }) => (content, diagnostics),
        Ok(Applied::Delete { diagnostics }) => (Vec::new(), diagnostics),
        Err(error) => {
            require(error.path.is_some(), || format!("{error} names no file"))?;
            return is_bounded(&error);
        }
    };
    // Each line of a patch brings its own text and a line end, which may have become one byte longer.
    let most = old + 2 * text.len() + 2;
    require(content.len() <= most, || {
        format!("{old} bytes became {}", content.len())
    })?;
    require(file.hunks.is_empty() || old <= MAX_BYTES, || {
        format!("a file of {old} bytes was patched")
    })?;
    remarks_are_bounded(&diagnostics, file.hunks.len())
}

fn remarks_are_bounded(diagnostics: &[Diagnostic], hunks: usize) -> Result<(), String> {
    require(diagnostics.len() <= REMARKS * hunks.max(1), || {
        format!("{} remarks about {hunks} hunks", diagnostics.len())
    })?;
    for remark in diagnostics {
        require(remark.message.len() <= SENTENCE_BYTES, || {
            format!("a remark of {} bytes", remark.message.len())
        })?;
    }
    Ok(())
}

/// An error says what to do next, in few words whatever the patch and the file held.
fn is_bounded(error: &Error) -> Result<(), String> {
    let path = error.path.as_deref().unwrap_or_default();
    let lines = error.nearest.iter().map(|line| line.text.as_str());
    let sentences = [error.message.as_str(), error.hint.as_str(), path];
    require(!error.hint.is_empty(), || format!("{error} has no hint"))?;
    require(error.nearest.len() <= SHOWN_LINES, || {
        format!("{error} shows {} lines", error.nearest.len())
    })?;
    let longest = sentences.into_iter().chain(lines).map(str::len).max();
    require(longest.is_none_or(|bytes| bytes <= SENTENCE_BYTES), || {
        format!("an error of {longest:?} bytes")
    })
}
