//! The lines a hunk leaves in a file.
//!
//! Owns which line end an added line gets and what becomes of a missing last line feed. A file keeps its own line
//! ends, unless the patch agrees with it to the byte and so states its own.

use crate::hunk::{BodyLine, Hunk, Sign};
use crate::locate::Place;
use crate::target::Target;

/// The line ending that added lines get.
#[derive(Debug, Clone, Copy)]
enum Ends {
    /// As the patch has them: its old lines agree with the file to the byte.
    Literal,
    /// As the file has them nearby: with a carriage return or without.
    Like(bool),
}

/// Appends what the lines at `place` become.
pub(crate) fn write_hunk(content: &mut Vec<u8>, target: &Target<'_>, hunk: &Hunk, place: Place) {
    let mut ends = line_ends(target, hunk, place);
    let mut at = place.start;
    for line in &hunk.lines {
        match line.sign {
            Sign::Context | Sign::Unmarked | Sign::Removed => {
                if line.sign.is_new() {
                    content.extend_from_slice(target.bytes(at..at + 1));
                }
                let old = target.line(at);
                if let (Ends::Like(_), true) = (ends, old.lf) {
                    ends = Ends::Like(old.cr);
                }
                at += 1;
            }
            Sign::Added => {
                let cr = match ends {
                    Ends::Literal => line.cr,
                    Ends::Like(cr) => cr,
                };
                close_last_line(content, cr);
                content.extend_from_slice(hunk.text(line, place.reading));
                content.extend_from_slice(line_end(cr));
            }
        }
    }
    if at == target.len() {
        end_file(content, target, hunk, ends);
    }
}

/// Chooses the line ends of added lines.
fn line_ends(target: &Target<'_>, hunk: &Hunk, place: Place) -> Ends {
    let mut covered = place.start..place.start + place.len;
    let old = hunk.lines.iter().filter(|line| line.sign.is_old());
    let exact = old
        .zip(covered.clone())
        .all(|(line, index)| line.cr == target.line(index).cr);
    let whole = |index: &usize| target.line(*index).lf;
    if exact && covered.clone().any(|index| whole(&index)) {
        return Ends::Literal;
    }
    let before = place.start.checked_sub(1);
    let first = (target.len() > 0).then_some(0);
    let model = covered.find(whole).or(before).or(first).filter(whole);
    match model {
        Some(index) => Ends::Like(target.line(index).cr),
        None if hunk.crlf => Ends::Like(false),
        None => Ends::Literal,
    }
}

/// Gives the line before an added one its end, where the file had none.
fn close_last_line(content: &mut Vec<u8>, cr: bool) {
    match content.last() {
        None | Some(b'\n') => {}
        Some(b'\r') => content.push(b'\n'),
        Some(_) => content.extend_from_slice(line_end(cr)),
    }
}

/// Settles the last line feed where a hunk reaches the end: a change that the patch states is made, otherwise the
/// file keeps what it had.
fn end_file(content: &mut Vec<u8>, target: &Target<'_>, hunk: &Hunk, ends: Ends) {
    let marked = |side: fn(Sign) -> bool| last_of(hunk, side).is_some_and(|line| line.no_newline);
    let Some(last) = last_of(hunk, Sign::is_new) else {
        return;
    };
    let had = target.len() == 0 || target.line(target.len() - 1).lf;
    let wanted = match (marked(Sign::is_old), marked(Sign::is_new)) {
        (true, false) => true,
        (false, true) => false,
        (true, true) | (false, false) if last.sign == Sign::Added => had,
        (true, true) | (false, false) => return,
    };
    let cr = match ends {
        Ends::Literal => last.cr,
        Ends::Like(cr) => cr,
    };
    if wanted {
        close_last_line(content, cr);
    } else if content.last() == Some(&b'\n') {
        content.pop();
        if matches!(ends, Ends::Like(true)) {
            content.pop();
        }
    }
}

fn last_of(hunk: &Hunk, side: fn(Sign) -> bool) -> Option<&BodyLine> {
    hunk.lines.iter().rev().find(|line| side(line.sign))
}

/// A line end with a carriage return or without.
pub(crate) const fn line_end(cr: bool) -> &'static [u8] {
    if cr { b"\r\n" } else { b"\n" }
}
