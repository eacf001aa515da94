//! Limits of lists in answers: the requested number of entries, and the number that fits a receipt.

use crate::input::Subject;
use holon_domain::limits::TOOL_OUTPUT_TOKENS;
use holon_domain::tool::ToolError;
use serde_json::Value;

/// Entries of a page by default.
const USUAL: u32 = 20;
/// Largest number of entries that a call may request.
pub(crate) const MOST: u64 = 100;
/// Bytes of all entries together; the rest of a receipt is reserved for its other members.
const BYTES: usize = TOOL_OUTPUT_TOKENS as usize * 4 - 2_000;

/// Checks the requested number of entries.
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

/// Returns the first entries that together fit a receipt.
pub(crate) fn take_fitting(entries: impl Iterator<Item = Value>) -> Vec<Value> {
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

/// Renders a line with the number of shown entries and the total.
pub(crate) fn summary(what: &str, shown: usize, total: u64) -> String {
    format!("{shown} of {total} {what}")
}
