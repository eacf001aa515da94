//! Reads texts from the command line or from standard input, and refuses empty and oversized ones.

use crate::exit::{Exit, Failure};
use holon_domain::limits::MESSAGE_BODY_BYTES;
use std::io::Read as _;

/// Reads a text that is not a prompt; `-` reads it from standard input. The host checks its size.
pub(crate) fn read_argument(what: &str, given: String) -> Result<String, Failure> {
    let text = if given == "-" { read_stdin()? } else { given };
    if text.trim().is_empty() {
        return Err(Failure::usage(format!(
            "the {what} is empty; say it in words"
        )));
    }
    Ok(text)
}

/// Reads the text of a prompt; `-` reads it from standard input.
pub(crate) fn read_prompt(given: String) -> Result<String, Failure> {
    let text = if given == "-" { read_stdin()? } else { given };
    if text.trim().is_empty() {
        return Err(Failure::usage(
            "the prompt is empty; say what the agent should do",
        ));
    }
    if text.len() > MESSAGE_BODY_BYTES {
        let message = format!("the prompt is larger than {MESSAGE_BODY_BYTES} bytes");
        return Err(Failure::new(Exit::Failed, "too_large", message)
            .hint("put it into a file and name the file in a shorter prompt"));
    }
    Ok(text)
}

/// Reads a few bytes more than the limit, which is enough to detect an oversized text.
fn read_stdin() -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let most = u64::try_from(MESSAGE_BODY_BYTES)
        .unwrap_or(u64::MAX)
        .saturating_add(4);
    std::io::stdin()
        .take(most)
        .read_to_end(&mut bytes)
        .map_err(|error| {
            Failure::new(
                Exit::Failed,
                "stdin_failed",
                format!("standard input cannot be read: {error}"),
            )
        })?;
    if bytes.len() > MESSAGE_BODY_BYTES {
        // The text may be cut inside a character; it is refused for its size in any case.
        return Ok(String::from_utf8_lossy(&bytes).into_owned());
    }
    String::from_utf8(bytes)
        .map_err(|_| Failure::usage("standard input is not UTF-8 text; convert it and try again"))
}
