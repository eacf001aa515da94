//! One hunk: its lines, and where it ends in the patch.
//!
//! Owns the reading of a hunk's body. The counts of the `@@` line are followed where they lead to a sensible end;
//! where they do not, the next header ends the hunk. A line is never dropped, but for blank ones before a header
//! that no count asks for.

use std::sync::Arc;

use crate::error::{Error, ErrorKind};
use crate::path::{Name, parse_name, same_path};
use crate::range::Range;
use crate::source::{Line, Source, narrow};

/// The role of one line of a hunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sign {
    /// Stays, and was marked with a space.
    Context,
    /// Stays, and came without its space.
    Unmarked,
    Removed,
    Added,
}

impl Sign {
    /// Returns true if the line is in the file before.
    pub(crate) const fn is_old(self) -> bool {
        !matches!(self, Self::Added)
    }

    /// Returns true if the line is in the file after.
    pub(crate) const fn is_new(self) -> bool {
        !matches!(self, Self::Removed)
    }
}

/// One line of a hunk, as a place in the patch's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BodyLine {
    pub(crate) sign: Sign,
    /// True if it ended in a carriage return.
    pub(crate) cr: bool,
    /// True if the marker says that no line feed follows it in the file.
    pub(crate) no_newline: bool,
    start: u32,
    end: u32,
}

/// The two ways to read a context line that may have lost its leading space.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// The first space of a context line is its mark.
    Marked,
    /// Context lines were written without a mark, so a first space is part of them.
    Verbatim,
}

/// A hunk of a patch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Hunk {
    text: Arc<str>,
    /// The line of its header in the patch, counted from 1.
    pub(crate) line: usize,
    /// The numbers of its header, if it has any.
    pub(crate) range: Option<Range>,
    /// True if the patch's own lines end in CRLF, so that a carriage return says nothing about the file.
    pub(crate) crlf: bool,
    pub(crate) lines: Vec<BodyLine>,
}

impl Hunk {
    /// The text of one of its lines.
    pub(crate) fn text(&self, line: &BodyLine, reading: Reading) -> &[u8] {
        let mark = match (line.sign, reading) {
            (Sign::Context, Reading::Verbatim) => 1,
            (Sign::Context, Reading::Marked) => 0,
            (Sign::Unmarked | Sign::Removed | Sign::Added, _) => 0,
        };
        &self.text.as_bytes()[(line.start - mark) as usize..line.end as usize]
    }

    /// The lines it expects in the file.
    pub(crate) fn old(&self, reading: Reading) -> Vec<&[u8]> {
        let lines = self.lines.iter().filter(|line| line.sign.is_old());
        lines.map(|line| self.text(line, reading)).collect()
    }

    /// The lines it leaves in the file.
    pub(crate) fn new_side(&self, reading: Reading) -> Vec<&[u8]> {
        let lines = self.lines.iter().filter(|line| line.sign.is_new());
        lines.map(|line| self.text(line, reading)).collect()
    }

    /// Returns true if reading its context verbatim would change anything.
    pub(crate) fn has_two_readings(&self) -> bool {
        self.lines.iter().any(|line| line.sign == Sign::Context)
    }

    /// Old and new lines it really has.
    pub(crate) fn counts(&self) -> (usize, usize) {
        let count =
            |side: fn(Sign) -> bool| self.lines.iter().filter(|line| side(line.sign)).count();
        (count(Sign::is_old), count(Sign::is_new))
    }

    /// Returns true if it changes anything at all.
    pub(crate) fn is_change(&self) -> bool {
        let changes = |line: &BodyLine| matches!(line.sign, Sign::Added | Sign::Removed);
        self.lines.iter().any(changes)
    }

    /// Reads the hunk whose header stands at `header`; returns it and the line after it.
    pub(crate) fn parse(
        source: &Source,
        header: usize,
        range: Option<Range>,
    ) -> Result<(Self, usize), Error> {
        let counted = range.and_then(|range| read_counted(source, header + 1, range));
        let (lines, next) = counted.unwrap_or_else(|| read_open(source, header + 1, range));
        let hunk = Self {
            text: source.text(),
            line: header + 1,
            range,
            crlf: source.line(header).is_some_and(|line| line.cr),
            lines,
        };
        hunk.check(source, next)?;
        Ok((hunk, next))
    }

    fn check(&self, source: &Source, next: usize) -> Result<(), Error> {
        if self.lines.is_empty() {
            let message = "the hunk has no lines";
            let hint = "write its lines after the @@ line: ` ` before context, `-` before removed, `+` before added";
            return Err(Error::new(ErrorKind::InvalidHunk, message, hint).at(self.line));
        }
        let nul = (self.line..next).find(|index| source.text_at(*index).contains('\0'));
        if let Some(index) = nul {
            let hint = "patches carry text only; write binary files with a command";
            let error = Error::new(ErrorKind::NotText, "the patch contains a NUL byte", hint);
            return Err(error.at(index + 1));
        }
        Ok(())
    }
}

/// The kind of a line inside a hunk, told by its first character.
enum Kind {
    Line(Sign),
    NoNewline,
}

fn kind(text: &str) -> Kind {
    match text.as_bytes().first() {
        Some(b' ') => Kind::Line(Sign::Context),
        Some(b'-') => Kind::Line(Sign::Removed),
        Some(b'+') => Kind::Line(Sign::Added),
        Some(b'\\') if text.starts_with("\\ ") => Kind::NoNewline,
        Some(_) | None => Kind::Line(Sign::Unmarked),
    }
}

fn body_line(line: Line<'_>, sign: Sign) -> BodyLine {
    let mark = u32::from(sign != Sign::Unmarked);
    BodyLine {
        sign,
        cr: line.cr,
        no_newline: false,
        start: line.start + mark,
        end: line.start + narrow(line.text.len()),
    }
}

fn mark_last(lines: &mut [BodyLine]) {
    if let Some(last) = lines.last_mut() {
        last.no_newline = true;
    }
}

/// Reads as many lines as the header promises; nothing if they do not end where a hunk can end.
fn read_counted(source: &Source, first: usize, range: Range) -> Option<(Vec<BodyLine>, usize)> {
    let (mut old, mut new) = (range.old_count, range.new_count);
    let mut lines = Vec::new();
    let mut at = first;
    while old > 0 || new > 0 {
        let line = source.line(at)?;
        if boundary(source, at) == Boundary::Certain {
            return None;
        }
        match kind(line.text) {
            Kind::NoNewline => mark_last(&mut lines),
            Kind::Line(sign) => {
                old = old.checked_sub(u32::from(sign.is_old()))?;
                new = new.checked_sub(u32::from(sign.is_new()))?;
                lines.push(body_line(line, sign));
            }
        }
        at += 1;
    }
    if matches!(
        source.line(at).map(|line| kind(line.text)),
        Some(Kind::NoNewline)
    ) {
        mark_last(&mut lines);
        at += 1;
    }
    let next = source.skip_blank(at);
    let signed = after_signature(source, next);
    let ends = source.is_end(next) || boundary(source, next) != Boundary::No || signed.is_some();
    ends.then_some((lines, signed.unwrap_or(next)))
}

/// The line after the signature of a mailed patch, if one stands at `at`: `-- `, a line with the version of git, and
/// then the end, another mail or another file. Anything else is a removed line that begins with a dash, and counts.
pub(crate) fn after_signature(source: &Source, at: usize) -> Option<usize> {
    let version = source.text_at(at + 1);
    let is_version = version.starts_with(|c: char| c.is_ascii_digit()) && version.contains('.');
    if source.text_at(at) != "-- " || !is_version {
        return None;
    }
    let next = source.skip_blank(at + 2);
    let text = source.text_at(next);
    let another_file = !text.starts_with("@@") && boundary(source, next) == Boundary::Certain;
    (source.is_end(next) || text.starts_with("From ") || another_file).then_some(next)
}

/// Reads up to the next header, whatever the counts say.
fn read_open(source: &Source, first: usize, range: Option<Range>) -> (Vec<BodyLine>, usize) {
    let mut lines = Vec::new();
    let mut at = first;
    while let Some(line) = source.line(at)
        && boundary(source, at) == Boundary::No
    {
        match kind(line.text) {
            Kind::NoNewline => mark_last(&mut lines),
            Kind::Line(sign) => lines.push(body_line(line, sign)),
        }
        at += 1;
    }
    drop_trailing_blanks(&mut lines, range);
    (lines, at)
}

/// Blank lines before the next header only separate, unless the header counts them.
fn drop_trailing_blanks(lines: &mut Vec<BodyLine>, range: Option<Range>) {
    let is_blank = |line: &&BodyLine| line.sign == Sign::Unmarked && line.start == line.end;
    let blanks = lines.iter().rev().take_while(is_blank).count();
    let old = lines.iter().filter(|line| line.sign.is_old()).count();
    let promised = range.map_or(0, |range| range.old_count as usize);
    let solid = old - blanks;
    let kept = if (solid..=old).contains(&promised) {
        promised - solid
    } else {
        0
    };
    lines.truncate(lines.len() - blanks + kept);
}

/// The certainty with which a line begins another hunk or file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Boundary {
    /// It is a line of this hunk.
    No,
    /// It looks like it, and is one where no count says otherwise.
    Likely,
    Certain,
}

fn boundary(source: &Source, at: usize) -> Boundary {
    let text = source.text_at(at);
    if text.starts_with("@@") || text.starts_with("diff --git ") {
        return Boundary::Certain;
    }
    let Some((old, new)) = names(source, at) else {
        return Boundary::No;
    };
    // A removed `-- x` and an added `++ x` look like a header too, but hardly name one path before a hunk.
    match (source.text_at(at + 2).starts_with("@@"), agree(&old, &new)) {
        (true, true) if is_path(&old) && is_path(&new) => Boundary::Certain,
        (true, _) | (false, true) => Boundary::Likely,
        (false, false) => Boundary::No,
    }
}

/// Returns true if a name is more than a word.
fn is_path(name: &Name) -> bool {
    match name {
        Name::Nothing => true,
        Name::Path(path) => path.contains(['/', '.']) && !path.contains(' '),
    }
}

/// The names of the file header at `at`, if it looks like one.
fn names(source: &Source, at: usize) -> Option<(Name, Name)> {
    let old = source.text_at(at).strip_prefix("--- ")?;
    let new = source.text_at(at + 1).strip_prefix("+++ ")?;
    Some((parse_name(old).ok()?, parse_name(new).ok()?))
}

fn agree(old: &Name, new: &Name) -> bool {
    match (old, new) {
        (Name::Path(old), Name::Path(new)) => same_path(old, new).is_some(),
        (Name::Nothing, Name::Path(_)) | (Name::Path(_), Name::Nothing) => true,
        (Name::Nothing, Name::Nothing) => false,
    }
}
