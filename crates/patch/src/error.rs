//! What can be wrong with a patch, said so that the next attempt can succeed.
//!
//! Owns the kinds and the shape of an error; the sentences stand where the rule is checked. Every text in an error
//! is bounded, whatever the patch or the file contained.

use std::fmt;

/// Longest piece of foreign text inside an error, in bytes.
const QUOTE_BYTES: usize = 240;

/// The reason a patch was refused. A refused patch changes no file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.sentence())]
pub struct Error {
    pub kind: ErrorKind,
    /// The file concerned, as the patch names it.
    pub path: Option<String>,
    /// The line of the patch, counted from 1.
    pub line: Option<usize>,
    pub message: String,
    /// The next step for the author of the patch.
    pub hint: String,
    /// Real lines of the file: the nearest to a text that was not found, or the places of one found repeatedly.
    pub nearest: Vec<FileLine>,
}

/// One line of a file as it is now, cut if it is long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileLine {
    /// Its number, counted from 1.
    pub number: usize,
    /// Its text without the line end.
    pub text: String,
}

/// The rules a patch can break.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No `---` and `+++` pair where one is needed.
    MissingFileHeader,
    /// A `@@` line that cannot be read, or none where one is needed.
    InvalidHunkHeader,
    /// A hunk's lines do not fit the operation, as context in a new file.
    InvalidHunk,
    /// Binary content, a copy, a submodule, a combined diff or a special mode.
    UnsupportedGitPatchFeature,
    /// A path that leaves the root or names a protected place.
    PathEscape,
    /// The headers of one file name different paths.
    RenamePathMismatch,
    /// The old lines of a hunk are not in the file.
    ContextNotFound,
    /// The old lines of a hunk are in the file more than once.
    AmbiguousContext,
    /// Two sections concern the same path.
    DuplicateFilePatch,
    /// A file to be added is there already.
    TargetExists,
    /// A file to be changed is not there.
    FileMissing,
    /// The file or the patch holds NUL bytes.
    NotText,
    /// A limit was reached.
    TooLarge,
    /// Not a unified diff but another notation.
    UnsupportedDialect,
    /// There is nothing in the patch.
    EmptyPatch,
}

impl ErrorKind {
    /// Every kind, for documentation and tests.
    pub const ALL: [Self; 15] = [
        Self::MissingFileHeader,
        Self::InvalidHunkHeader,
        Self::InvalidHunk,
        Self::UnsupportedGitPatchFeature,
        Self::PathEscape,
        Self::RenamePathMismatch,
        Self::ContextNotFound,
        Self::AmbiguousContext,
        Self::DuplicateFilePatch,
        Self::TargetExists,
        Self::FileMissing,
        Self::NotText,
        Self::TooLarge,
        Self::UnsupportedDialect,
        Self::EmptyPatch,
    ];

    /// The kind's name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::MissingFileHeader => "missing_file_header",
            Self::InvalidHunkHeader => "invalid_hunk_header",
            Self::InvalidHunk => "invalid_hunk",
            Self::UnsupportedGitPatchFeature => "unsupported_git_patch_feature",
            Self::PathEscape => "path_escape",
            Self::RenamePathMismatch => "rename_path_mismatch",
            Self::ContextNotFound => "context_not_found",
            Self::AmbiguousContext => "ambiguous_context",
            Self::DuplicateFilePatch => "duplicate_file_patch",
            Self::TargetExists => "target_exists",
            Self::FileMissing => "file_missing",
            Self::NotText => "not_text",
            Self::TooLarge => "too_large",
            Self::UnsupportedDialect => "unsupported_dialect",
            Self::EmptyPatch => "empty_patch",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Error {
    pub(crate) fn new(
        kind: ErrorKind,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            path: None,
            line: None,
            message: message.into(),
            hint: hint.into(),
            nearest: Vec::new(),
        }
    }

    /// With the line of the patch, counted from 1.
    pub(crate) fn at(mut self, line: usize) -> Self {
        self.line = Some(line);
        self
    }

    /// With the file concerned.
    pub(crate) fn of(mut self, path: &str) -> Self {
        self.path = Some(quote(path.as_bytes()));
        self
    }

    /// With real lines of the file.
    pub(crate) fn near(mut self, lines: Vec<FileLine>) -> Self {
        self.nearest = lines;
        self
    }

    fn sentence(&self) -> String {
        let path = self.path.as_ref().map(|path| format!("{path}: "));
        let line = self.line.map(|line| format!(" (line {line} of the patch)"));
        format!(
            "{}{}{}; {}",
            path.unwrap_or_default(),
            self.message,
            line.unwrap_or_default(),
            self.hint
        )
    }
}

/// Foreign text for a message: bounded, and readable whatever the bytes.
pub(crate) fn quote(text: &[u8]) -> String {
    if text.len() <= QUOTE_BYTES {
        return String::from_utf8_lossy(text).into_owned();
    }
    // Cut between characters: a continuation byte never starts one.
    let mut end = QUOTE_BYTES;
    while end > 0 && text[end] & 0xC0 == 0x80 {
        end -= 1;
    }
    format!("{}…", String::from_utf8_lossy(&text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_quote_is_cut_between_characters() {
        let text = "漢".repeat(200);
        let cut = quote(text.as_bytes());
        assert!(cut.len() <= QUOTE_BYTES + '…'.len_utf8());
        assert!(cut.trim_end_matches('…').chars().all(|c| c == '漢'));
        assert!(quote(&[0x80; 1000]).len() < 1000);
    }

    #[test]
    fn an_error_says_where_what_and_what_next() {
        let error = Error::new(ErrorKind::FileMissing, "it is not there", "look again")
            .of("src/x.rs")
            .at(3);
        assert_eq!(
            error.to_string(),
            "src/x.rs: it is not there (line 3 of the patch); look again"
        );
    }

    #[test]
    fn every_kind_has_a_name_of_its_own() {
        let names: std::collections::BTreeSet<_> =
            ErrorKind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }
}
