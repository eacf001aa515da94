//! The frontmatter of a `SKILL.md`, by the public agent-skills format.
//!
//! `name` and `description` are required; `license`, `compatibility`, `metadata` and `allowed-tools` are checked when
//! they are there. Other keys are ignored, as long as they are in the subset of YAML that is read.

use super::yaml::{self, Value};
use holon_domain::limits::{SKILL_DESCRIPTION_CHARS, SKILL_FRONTMATTER_BYTES};
use holon_domain::template::is_skill_name;
use std::collections::BTreeMap;

/// Most characters of `compatibility`.
const COMPATIBILITY_CHARS: usize = 500;
/// Most characters of `license` and of each entry of `metadata`.
const ENTRY_CHARS: usize = 1_024;

/// The frontmatter of a skill.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillMetadata {
    pub name: String,
    pub description: String,
    pub license: Option<String>,
    pub compatibility: Option<String>,
    pub metadata: BTreeMap<String, String>,
    /// Tools that the author expects to need. The runtime grants nothing because of it.
    pub allowed_tools: Option<String>,
}

/// Parses the beginning of a `SKILL.md`. `directory` is the name of its directory, which must be the skill's name.
///
/// # Errors
/// The reason why the file does not describe a skill.
pub fn parse_skill(content: &[u8], directory: &str) -> Result<SkillMetadata, String> {
    let mut values = yaml::parse(frontmatter(content)?)?;
    let name = required(&mut values, "name")?;
    if !is_skill_name(&name) {
        return Err(
            "`name` has lower-case letters, digits and single hyphens, at most 64".to_owned(),
        );
    }
    if name != directory {
        return Err(format!(
            "`name` is {name:?}, and the directory has another name"
        ));
    }
    let description = bounded(
        "description",
        required(&mut values, "description")?,
        SKILL_DESCRIPTION_CHARS,
    )?;
    let license = optional(&mut values, "license", ENTRY_CHARS)?;
    let compatibility = optional(&mut values, "compatibility", COMPATIBILITY_CHARS)?;
    let metadata = match values.remove("metadata") {
        None => BTreeMap::new(),
        Some(Value::Map(map)) => map,
        Some(Value::Scalar { .. } | Value::List(_)) => {
            return Err("`metadata` must be a mapping of texts".to_owned());
        }
    };
    if metadata
        .values()
        .any(|value| value.chars().count() > ENTRY_CHARS)
    {
        return Err("an entry of `metadata` is too long".to_owned());
    }
    let allowed_tools = match values.remove("allowed-tools") {
        None => None,
        Some(Value::Scalar { text, .. }) => Some(text),
        Some(Value::List(tools)) => Some(tools.join(" ")),
        Some(Value::Map(_)) => return Err("`allowed-tools` must be a text".to_owned()),
    };
    Ok(SkillMetadata {
        name,
        description,
        license,
        compatibility,
        metadata,
        allowed_tools,
    })
}

/// Returns the text between the two marker lines.
fn frontmatter(content: &[u8]) -> Result<&str, String> {
    let content = content
        .strip_prefix("\u{feff}".as_bytes())
        .unwrap_or(content);
    let bound = usize::try_from(SKILL_FRONTMATTER_BYTES).unwrap_or(usize::MAX);
    let head = content.get(..bound).unwrap_or(content);
    let rest = ["---\n", "---\r\n"]
        .iter()
        .find_map(|marker| head.strip_prefix(marker.as_bytes()))
        .ok_or_else(|| "it does not begin with `---`".to_owned())?;
    let mut end = 0;
    for line in rest.split_inclusive(|byte| *byte == b'\n') {
        if matches!(line, b"---" | b"---\n" | b"---\r\n") {
            let text = rest.get(..end).unwrap_or_default();
            let text = std::str::from_utf8(text);
            return text.map_err(|_| "the frontmatter is not UTF-8".to_owned());
        }
        end += line.len();
    }
    Err(format!(
        "the frontmatter does not end with `---` within {SKILL_FRONTMATTER_BYTES} bytes"
    ))
}

fn required(values: &mut BTreeMap<String, Value>, key: &str) -> Result<String, String> {
    match values.remove(key) {
        Some(Value::Scalar {
            text,
            is_string: true,
        }) if !text.trim().is_empty() => Ok(text),
        Some(Value::Scalar { .. } | Value::List(_) | Value::Map(_)) => {
            Err(format!("`{key}` must be a text"))
        }
        None => Err(format!("`{key}` is missing")),
    }
}

fn optional(
    values: &mut BTreeMap<String, Value>,
    key: &str,
    most: usize,
) -> Result<Option<String>, String> {
    if !values.contains_key(key) {
        return Ok(None);
    }
    let text = required(values, key)?;
    bounded(key, text, most).map(Some)
}

fn bounded(key: &str, text: String, most: usize) -> Result<String, String> {
    if text.chars().count() > most {
        return Err(format!("`{key}` has more than {most} characters"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
