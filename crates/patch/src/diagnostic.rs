//! What a patch got wrong without harm.
//!
//! Owns the remarks about hints that did not hold; what cannot be forgiven is an error and stands elsewhere.

use crate::hunk::{Hunk, Reading, Sign};
use crate::locate::Place;
use crate::target::Target;

/// Something in the patch that was wrong, or had no effect, and did no harm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub kind: DiagnosticKind,
    pub message: String,
}

/// The sorts of diagnostics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagnosticKind {
    /// The numbers of lines in a `@@` line are not those of its hunk.
    CountMismatch,
    /// A hunk was found at another line than its `@@` line says.
    LineMismatch,
    /// Context lines came without their leading space.
    UnmarkedContext,
    /// A marker about the last line feed stands where the file does not end.
    MisplacedMarker,
    /// A hunk or a section that changes no content.
    NoChange,
}

impl DiagnosticKind {
    /// The name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CountMismatch => "count_mismatch",
            Self::LineMismatch => "line_mismatch",
            Self::UnmarkedContext => "unmarked_context",
            Self::MisplacedMarker => "misplaced_marker",
            Self::NoChange => "no_change",
        }
    }
}

/// Lists the hints of a hunk (line numbers, section name, line ends) that do not match the file.
pub(crate) fn remarks(target: &Target<'_>, hunk: &Hunk, place: Place) -> Vec<Diagnostic> {
    let mut remarks = Vec::new();
    let mut say = |kind, message| remarks.push(Diagnostic { kind, message });
    let line = hunk.line;
    let found = if place.len == 0 {
        place.start
    } else {
        place.start + 1
    };
    if let Some(range) = hunk.range
        && range.old_start as usize != found
    {
        let message = format!(
            "the hunk at line {line} of the patch names line {} and fits at line {found}",
            range.old_start
        );
        say(DiagnosticKind::LineMismatch, message);
    }
    let unmarked = hunk
        .lines
        .iter()
        .any(|line| line.sign == Sign::Unmarked && !hunk.text(line, Reading::Marked).is_empty());
    if unmarked || place.reading == Reading::Verbatim {
        let message = format!(
            "the hunk at line {line} of the patch has context lines without their leading space"
        );
        say(DiagnosticKind::UnmarkedContext, message);
    }
    if place.start + place.len < target.len() && hunk.lines.iter().any(|line| line.no_newline) {
        let message = format!(
            "the hunk at line {line} of the patch does not reach the end of the file; its `\\` marker was passed over"
        );
        say(DiagnosticKind::MisplacedMarker, message);
    }
    if !hunk.is_change() {
        let message = format!("the hunk at line {line} of the patch changes nothing");
        say(DiagnosticKind::NoChange, message);
    }
    remarks.extend(count_mismatch(hunk, hunk.counts()));
    remarks
}

/// The counts of the header, if they are not those of the hunk.
pub(crate) fn count_mismatch(hunk: &Hunk, (old, new): (usize, usize)) -> Option<Diagnostic> {
    let range = hunk.range?;
    let differs = range.old_count as usize != old || range.new_count as usize != new;
    differs.then(|| Diagnostic {
        kind: DiagnosticKind::CountMismatch,
        message: format!(
            "the hunk at line {} of the patch says {} and has {old} old and {new} new lines",
            hunk.line,
            range.shown()
        ),
    })
}
