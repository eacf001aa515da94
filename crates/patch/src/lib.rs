//! Unified diffs, read and applied on bytes in memory.
//!
//! Owns what a patch means: which files it touches, where a hunk goes, what a line end becomes, and what is wrong
//! with it in words that make one retry enough. Owns no file: the caller reads, judges links, and writes.
//!
//! What always holds: nothing is changed but at a place whose lines match, byte for byte up to the line end; line
//! numbers and counts are only hints. The work is linear in the input and stops at the limits below.

mod apply;
mod diagnostic;
mod error;
#[doc(hidden)]
pub mod fuzzing;
mod headers;
mod hunk;
mod insight;
mod locate;
mod parse;
mod path;
mod range;
mod source;
mod target;
mod write;

pub use apply::Applied;
pub use diagnostic::{Diagnostic, DiagnosticKind};
pub use error::{Error, ErrorKind, FileLine};
pub use headers::{Change, FilePatch, IgnoredMetadata, check_path};
pub use parse::Patch;

/// Most files one patch may touch; more is refused: such a change is generated, and a command should make it.
pub const MAX_FILES: usize = 200;
/// Most hunks in one patch, over all its files; more is refused, and the change made in several calls.
pub const MAX_HUNKS: usize = 2_000;
/// Most bytes of a patch, and of a file that hunks are applied to; looked at before any other work, and refused beyond.
pub const MAX_BYTES: usize = 10 << 20;
/// Most lines of a patch, and of a file that hunks are applied to, since each line costs memory of its own; refused
/// beyond.
pub const MAX_LINES: usize = 500_000;
/// Most bytes of all files of one patch together, each counted before and after its change, since all of them are held
/// in memory until the last one is checked: a small patch may name many large files. Refused beyond, and the change made
/// in several calls.
pub const MAX_TOTAL_BYTES: usize = 64 << 20;
