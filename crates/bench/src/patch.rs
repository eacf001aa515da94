//! One line changed in a file of many: the patch read and applied in memory, and the same with the file replaced whole
//! or not at all on disk.
//!
//! The baseline is the least that leaves the new content or the old one after a crash: write it beside, sync, rename,
//! sync the directory. It keeps no journal, so it could not say afterwards which of the two is there.

use crate::stats::{Sample, round};
use holon_patch::{Applied, Patch};
use holon_workspace::{FileChange, NewContent, Tree, forget};
use serde_json::{Value, json};
use std::error::Error;
use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

type Fallible<T> = Result<T, Box<dyn Error>>;

/// Blocks of baseline and subject, in alternation.
const BLOCKS: usize = 8;
/// Patches in a block; an even number, so that the file is afterwards as it was before.
const PER_BLOCK: usize = 20;
/// Lines before and after the changed one that a patch shows.
const CONTEXT: usize = 3;
/// Its name beneath the root.
const FILE: &str = "large.txt";

/// A change there and back.
struct Change {
    there: String,
    back: String,
}

impl Change {
    /// Of the line in the middle of the file; `header` is the `@@` line, given where the hunk begins.
    fn of(lines: usize, header: impl Fn(usize) -> String) -> Self {
        let (at, first) = (lines / 2, lines / 2 - CONTEXT);
        let context = |range: std::ops::Range<usize>| -> String {
            range.map(|n| format!(" {}\n", line(n))).collect()
        };
        let patch = |old: &str, new: &str| {
            let (before, after) = (context(first..at), context(at + 1..at + 1 + CONTEXT));
            let header = header(first + 1);
            format!("--- a/{FILE}\n+++ b/{FILE}\n{header}\n{before}-{old}\n+{new}\n{after}")
        };
        let (old, new) = (line(at), format!("{}, changed", line(at)));
        Self {
            there: patch(&old, &new),
            back: patch(&new, &old),
        }
    }

    fn nth(&self, n: usize) -> &str {
        if n.is_multiple_of(2) {
            &self.there
        } else {
            &self.back
        }
    }
}

fn line(n: usize) -> String {
    format!("    the line of number {n} says something of its own")
}

/// A file of this many lines.
pub(crate) fn large_file(lines: usize) -> Fallible<Value> {
    let content: String = (0..lines).map(|n| line(n) + "\n").collect();
    let numbered = Change::of(lines, |first| {
        let count = 2 * CONTEXT + 1;
        format!("@@ -{first},{count} +{first},{count} @@")
    });
    let bare_headers = Change::of(lines, |_| "@@".to_owned());
    let dir = tempfile::tempdir()?;
    let (root, beside) = (dir.path().join("root"), dir.path().join("beside"));
    for folder in [&root, &beside] {
        fs::create_dir(folder)?;
        fs::write(folder.join(FILE), &content)?;
    }
    let journal = dir.path().join("journal");
    let mut samples = [(); 4].map(|()| Sample::default());
    for _ in 0..BLOCKS {
        let [in_memory, searched, bare, subject] = &mut samples;
        in_memory.extend(memory(&numbered, content.as_bytes())?);
        searched.extend(memory(&bare_headers, content.as_bytes())?);
        bare.extend(replaced(&beside, content.as_bytes())?);
        subject.extend(patched(&root, &journal, &numbered)?);
    }
    let [in_memory, searched, bare, subject] = &samples;
    Ok(json!({
        "lines": lines,
        "bytes": content.len(),
        "in_memory": in_memory.report(),
        "in_memory_without_line_numbers": searched.report(),
        "bare_durable_replace": bare.report(),
        "through_the_tree": subject.report(),
        "p50_ratio": round(subject.quantile(0.5) / bare.quantile(0.5)),
    }))
}

/// The new content of the one file of a patch.
fn applied(patch: &str, old: &[u8]) -> Fallible<Vec<u8>> {
    let patch = Patch::parse(patch)?;
    let [file] = &patch.files[..] else {
        return Err("the patch is for one file".into());
    };
    match file.apply(Some(old))? {
        Applied::Write { content, .. } => Ok(content),
        Applied::Delete { .. } => Err("nothing is deleted".into()),
    }
}

/// Read and applied, nothing written.
fn memory(change: &Change, old: &[u8]) -> Fallible<Sample> {
    let mut sample = Sample::default();
    let mut content = old.to_vec();
    for n in 0..PER_BLOCK {
        let began = Instant::now();
        let new = applied(change.nth(n), &content)?;
        sample.add(began.elapsed());
        content = new;
    }
    Ok(sample)
}

/// The content written beside, synced and renamed.
fn replaced(dir: &Path, content: &[u8]) -> Fallible<Sample> {
    let mut sample = Sample::default();
    let (path, beside) = (dir.join(FILE), dir.join("beside"));
    for _ in 0..PER_BLOCK {
        let began = Instant::now();
        let mut file = File::create(&beside)?;
        file.write_all(content)?;
        file.sync_all()?;
        fs::rename(&beside, &path)?;
        File::open(dir)?.sync_all()?;
        sample.add(began.elapsed());
    }
    Ok(sample)
}

/// The file read, patched and replaced as a tool call does it, until its proof is forgotten.
fn patched(root: &Path, journal: &Path, change: &Change) -> Fallible<Sample> {
    let mut sample = Sample::default();
    for n in 0..PER_BLOCK {
        let began = Instant::now();
        let tree = Tree::open(root)?;
        let found = tree.read(FILE, holon_patch::MAX_BYTES as u64)?;
        let found = found.ok_or("the file is gone")?;
        let after = NewContent {
            content: applied(change.nth(n), &found.content)?,
            mode: Some(found.mode),
        };
        let replace = FileChange {
            path: FILE.to_owned(),
            before: Some(found.content),
            after: Some(after),
        };
        tree.replace(&[replace], journal)?;
        forget(journal)?;
        sample.add(began.elapsed());
    }
    Ok(sample)
}
