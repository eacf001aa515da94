//! Lists that a call answers with: how many entries are asked for, and how many fit a receipt.

use crate::input::Subject;
use holon_domain::limits::TOOL_OUTPUT_TOKENS;
use holon_domain::tool::ToolError;
use serde_json::Value;

/// Entries of a page when the call does not say.
const USUAL: u32 = 20;
/// And at most.
pub(crate) const MOST: u64 = 100;
/// Bytes of all entries together; the rest of a receipt is for what stands around them.
const BYTES: usize = TOOL_OUTPUT_TOKENS as usize * 4 - 2_000;

/// The number of entries a call asks for.
pub(crate) fn limit(subject: Subject<'_>, asked: Option<u64>) -> Result<u32, ToolError> {
    match asked {
        None => Ok(USUAL),
        Some(count) if (1..=MOST).contains(&count) => Ok(u32::try_from(count).unwrap_or(USUAL)),
        Some(count) => {
            let problem = format!("{count} is not between 1 and {MOST}");
            let hint = format!("leave limit out for {USUAL} entries");
            Err(subject.invalid(Some("limit"), &problem).hint(hint))
        }
    }
}

/// The first entries that fit a receipt together.
pub(crate) fn fitting(entries: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut left = BYTES;
    entries
        .take_while(|entry| {
            let bytes = entry.to_string().len() + 1;
            let fits = bytes <= left;
            left = left.saturating_sub(bytes);
            fits
        })
        .collect()
}

/// A line that says how many of how many are shown.
pub(crate) fn summary(what: &str, shown: usize, total: u64) -> String {
    format!("{shown} of {total} {what}")
}
