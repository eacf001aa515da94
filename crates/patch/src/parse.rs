//! A whole patch: from text to one section for each file.
//!
//! Owns where sections begin, what stands between them, and the limits on their number. Text before, between and
//! after sections is passed over, as in a mail; a hunk outside of one is an error, so that no change is lost.

use std::collections::BTreeSet;

use crate::error::{Error, ErrorKind, quote};
use crate::headers::{Change, FilePatch, Headers, missing, refuse_unsupported, unreadable};
use crate::hunk::{Hunk, Reading, Sign, after_signature};
use crate::path::{Name, parse_name};
use crate::range::{HunkHeader, parse_hunk_header};
use crate::source::Source;
use crate::{MAX_FILES, MAX_HUNKS};

/// A patch that was read; nothing is applied yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Patch {
    /// One entry for each file, in the order of the patch; no path occurs twice.
    pub files: Vec<FilePatch>,
}

impl Patch {
    /// Reads a unified diff, plain or as git writes it.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let source = Source::new(text)?;
        let mut parser = Parser {
            source: &source,
            at: source.first(),
            hunks: 0,
        };
        let mut files: Vec<FilePatch> = Vec::new();
        let mut seen = BTreeSet::new();
        while parser.find_section()? {
            let line = parser.at + 1;
            if files.len() == MAX_FILES {
                return Err(
                    too_many(format!("the patch touches more than {MAX_FILES} files")).at(line),
                );
            }
            let file = parser.section().map_err(|error| place(error, line))?;
            note_paths(&mut seen, &file.change).map_err(|error| place(error, line))?;
            files.push(file);
        }
        if files.is_empty() {
            return Err(nothing_found(text));
        }
        Ok(Self { files })
    }
}

/// Reads a patch line by line and keeps the position.
struct Parser<'a> {
    source: &'a Source,
    at: usize,
    hunks: usize,
}

impl Parser<'_> {
    /// Goes on to the next section; false at the end of the patch.
    fn find_section(&mut self) -> Result<bool, Error> {
        while let Some(line) = self.source.line(self.at) {
            let next = self.source.text_at(self.at + 1);
            if line.text.starts_with("diff --git ") {
                return Ok(true);
            }
            if line.text.starts_with("--- ") && next.starts_with("+++ ") {
                return Ok(true);
            }
            refuse_outside(line.text, next).map_err(|error| error.at(self.at + 1))?;
            self.at += 1;
        }
        Ok(false)
    }

    /// Reads the section that begins here.
    fn section(&mut self) -> Result<FilePatch, Error> {
        let line = self.at + 1;
        let mut headers = self.headers()?;
        let change = headers.change()?;
        let named = |error: Error| {
            if error.path.is_some() {
                error
            } else {
                error.of(change.target())
            }
        };
        let hunks = if headers.names.is_some() {
            self.hunks().map_err(named)?
        } else {
            Vec::new()
        };
        if hunks.is_empty() && !headers.allows_no_hunk(&change) {
            return Err(named(no_hunk()));
        }
        fit(&change, &hunks).map_err(named)?;
        Ok(FilePatch {
            change,
            ignored_metadata: std::mem::take(&mut headers.ignored),
            line,
            hunks,
        })
    }

    /// Reads everything up to the first hunk.
    fn headers(&mut self) -> Result<Headers, Error> {
        let mut headers = Headers::default();
        if let Some(rest) = self.source.text_at(self.at).strip_prefix("diff --git ") {
            headers.git = Some(rest.trim_end().to_owned());
            self.at += 1;
        }
        while let Some(line) = self.source.line(self.at) {
            if line.text.starts_with("diff --git ") {
                break;
            }
            let here = self.at + 1;
            if let Some(old) = line.text.strip_prefix("--- ") {
                headers.names = Some(self.names(old).map_err(|error| error.at(here))?);
                break;
            }
            if line.text.starts_with("@@") || line.text.starts_with("+++ ") {
                return Err(missing("there is no `---` line before this line").at(here));
            }
            let loose = line.text.starts_with(['+', '-']);
            if loose && after_signature(self.source, self.at).is_none() {
                return Err(
                    missing("a changed line stands before any `---` and `+++` lines").at(here),
                );
            }
            headers.take(line.text).map_err(|error| error.at(here))?;
            self.at += 1;
        }
        Ok(headers)
    }

    /// Reads the `---` line, whose rest is `old`, and the `+++` line after it.
    fn names(&mut self, old: &str) -> Result<(Name, Name), Error> {
        let new = self.source.text_at(self.at + 1).strip_prefix("+++ ");
        let new = new.ok_or_else(|| missing("the `---` line is not followed by a `+++` line"))?;
        let read = |raw| parse_name(raw).map_err(|why| unreadable(&why));
        let names = (read(old)?, read(new)?);
        self.at += 2;
        Ok(names)
    }

    /// Reads all hunks of one file.
    fn hunks(&mut self) -> Result<Vec<Hunk>, Error> {
        let mut hunks = Vec::new();
        loop {
            let at = self.source.skip_blank(self.at);
            let text = self.source.text_at(at);
            if !text.starts_with("@@") {
                if hunks.is_empty() {
                    self.refuse_loose_lines(at)?;
                }
                return Ok(hunks);
            }
            if self.hunks == MAX_HUNKS {
                return Err(
                    too_many(format!("the patch has more than {MAX_HUNKS} hunks")).at(at + 1),
                );
            }
            let range = match parse_hunk_header(text) {
                HunkHeader::Numbered(range) => Some(range),
                HunkHeader::Bare => None,
                HunkHeader::Combined => return Err(combined().at(at + 1)),
                HunkHeader::Broken => return Err(broken(text).at(at + 1)),
            };
            let (hunk, next) = Hunk::parse(self.source, at, range)?;
            hunks.push(hunk);
            self.hunks += 1;
            self.at = next;
        }
    }

    /// Right after the file header only a hunk or another section may stand, or edits would be lost.
    fn refuse_loose_lines(&self, at: usize) -> Result<(), Error> {
        let Some(line) = self.source.line(at) else {
            return Ok(());
        };
        refuse_unsupported(line.text).map_err(|error| error.at(at + 1))?;
        if line.text.starts_with("diff --git ") || line.text.starts_with("--- ") {
            return Ok(());
        }
        Err(no_hunk().at(at + 1))
    }
}

/// Returns true if the lines of the hunks can be meant for this change.
fn fit(change: &Change, hunks: &[Hunk]) -> Result<(), Error> {
    let lines = || {
        hunks
            .iter()
            .flat_map(|hunk| hunk.lines.iter().map(move |line| (hunk, line)))
    };
    let misplaced = match change {
        Change::Modify { .. } | Change::Rename { .. } => None,
        // An empty line that lost its `+` is still an empty line.
        Change::Add { .. } => lines().find(|(hunk, line)| match line.sign {
            Sign::Added => false,
            Sign::Unmarked => !hunk.text(line, Reading::Marked).is_empty(),
            Sign::Context | Sign::Removed => true,
        }),
        Change::Delete { .. } => lines().find(|(_, line)| line.sign == Sign::Added),
    };
    let Some((hunk, line)) = misplaced else {
        return Ok(());
    };
    let text = quote(hunk.text(line, Reading::Marked));
    let (message, hint) = match line.sign {
        Sign::Added => (
            format!("a deletion cannot add `{text}`"),
            "put only `-` lines there, or name the file in the `+++` line to change it",
        ),
        Sign::Context | Sign::Unmarked | Sign::Removed => (
            format!("`{text}` in a new file does not begin with `+`"),
            "put `+` before every line of a new file, or name the file in the `---` line to change it",
        ),
    };
    Err(Error::new(ErrorKind::InvalidHunk, message, hint).at(hunk.line))
}

fn note_paths(seen: &mut BTreeSet<String>, change: &Change) -> Result<(), Error> {
    let (source, target) = (change.source(), change.target());
    let both = [Some(source), (target != source).then_some(target)];
    for path in both.into_iter().flatten() {
        if !seen.insert(path.to_owned()) {
            let message = "the patch has two sections for this path";
            let hint = "put all hunks of a file into one section";
            return Err(Error::new(ErrorKind::DuplicateFilePatch, message, hint).of(path));
        }
    }
    Ok(())
}

/// Refuses lines outside of sections that show a patch of another kind or one that lost its header.
fn refuse_outside(text: &str, next: &str) -> Result<(), Error> {
    refuse_unsupported(text)?;
    let dialect = [
        "*** Begin Patch",
        "*** Update File",
        "*** Add File",
        "*** Delete File",
        "*** End Patch",
        "<<<<<<< SEARCH",
    ];
    let other = dialect.iter().any(|start| text.starts_with(start));
    if other || (text.starts_with("*** ") && next.starts_with("--- ")) {
        let message = format!(
            "`{}` belongs to another patch notation",
            quote(text.as_bytes())
        );
        let hint = "send a unified diff: `--- a/path`, `+++ b/path`, `@@ -line,count +line,count @@`, then lines with ` `, `-` or `+`";
        return Err(Error::new(ErrorKind::UnsupportedDialect, message, hint));
    }
    if text.starts_with("@@") {
        return Err(missing("a hunk stands before any file header"));
    }
    if text.starts_with("rename from ") || text.starts_with("rename to ") {
        return Err(missing("a rename needs a `diff --git` line before it"));
    }
    if text.starts_with("--- ") {
        return Err(missing("the `---` line is not followed by a `+++` line"));
    }
    if text.starts_with("+++ ") {
        return Err(missing("the `+++` line does not follow a `---` line"));
    }
    Ok(())
}

fn nothing_found(text: &str) -> Error {
    if text.trim().is_empty() {
        let hint = "send a unified diff with at least one file";
        return Error::new(ErrorKind::EmptyPatch, "the patch is empty", hint);
    }
    missing("the patch has no file header")
}

/// Gives an error without a place that of its section.
fn place(error: Error, line: usize) -> Error {
    if error.line.is_some() {
        error
    } else {
        error.at(line)
    }
}

fn no_hunk() -> Error {
    let hint = "put `@@ -line,count +line,count @@`, or just `@@`, between the `+++` line and the changed lines";
    Error::new(
        ErrorKind::InvalidHunkHeader,
        "no hunk follows the file header",
        hint,
    )
}

fn broken(text: &str) -> Error {
    let hint = "write `@@ -line,count +line,count @@`, or just `@@` if the numbers are not known";
    let message = format!("`{}` is not a hunk header", quote(text.as_bytes()));
    Error::new(ErrorKind::InvalidHunkHeader, message, hint)
}

fn combined() -> Error {
    let hint = "make a diff against one parent";
    Error::new(
        ErrorKind::UnsupportedGitPatchFeature,
        "the patch is a combined diff of a merge",
        hint,
    )
}

fn too_many(message: String) -> Error {
    Error::new(
        ErrorKind::TooLarge,
        message,
        "split the patch into several calls",
    )
}
