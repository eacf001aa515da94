//! The wire format of server-sent events: one incremental parser and one writer.
//!
//! Owns the grammar (fields, comments, three kinds of line end, the byte order mark) and the bound on one frame.
//! Does no I/O and knows nothing of what the events mean: the HTTP layers feed bytes in and send bytes out.

mod frame;
mod parser;

pub use frame::{Frame, write_comment};
pub use parser::{Error, Parser};

/// The media type of an event stream, for `Content-Type` and `Accept` headers.
pub const MEDIA_TYPE: &str = "text/event-stream";
