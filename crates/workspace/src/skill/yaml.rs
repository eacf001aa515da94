//! A strict subset of YAML, as far as frontmatter needs it: one mapping of scalars, lists of scalars and mappings of
//! scalars.
//!
//! Anchors, aliases, tags, merge keys, flow mappings, nested collections, tabs in indentation and duplicate keys are
//! errors. So the cost of a text is linear in its size, and every value has the type that it shows.

use std::collections::BTreeMap;

/// Value of a top-level key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Value {
    /// `is_string` is false for a plain word that YAML reads as a number, a boolean or nothing.
    Scalar {
        text: String,
        is_string: bool,
    },
    List(Vec<String>),
    Map(BTreeMap<String, String>),
}

/// A line without its indentation.
#[derive(Debug, Clone, Copy)]
struct Line<'a> {
    number: usize,
    indent: usize,
    text: &'a str,
}

/// Most top-level keys, and most entries of a list or mapping.
const ENTRIES: usize = 64;

/// Parses a text into its top-level keys. The error says where and why.
pub(super) fn parse(text: &str) -> Result<BTreeMap<String, Value>, String> {
    let lines = lines(text)?;
    let mut values = BTreeMap::new();
    let mut rest = lines.as_slice();
    while let Some((line, after)) = rest.split_first() {
        if line.text.is_empty() || line.text.starts_with('#') {
            rest = after;
            continue;
        }
        if line.indent > 0 {
            return Err(at(line, "unexpected indentation"));
        }
        let (key, value) = key_of(line)?;
        let (block, after) = split_block(after);
        rest = after;
        let value = value_of(line, value, block)?;
        if values.insert(key.to_owned(), value).is_some() {
            return Err(at(line, "the key occurs twice"));
        }
        if values.len() > ENTRIES {
            return Err(at(line, "there are too many keys"));
        }
    }
    Ok(values)
}

fn at(line: &Line<'_>, problem: &str) -> String {
    format!("line {}: {problem}", line.number)
}

fn lines(text: &str) -> Result<Vec<Line<'_>>, String> {
    // The first line of a file is the marker before this text.
    let numbered = text
        .lines()
        .enumerate()
        .map(|(index, text)| (index + 2, text));
    let line = |(number, text): (usize, &'_ str)| {
        let trimmed = text.trim_start_matches(' ');
        if trimmed.starts_with('\t') {
            return Err(format!("line {number}: a tab cannot indent"));
        }
        if trimmed.chars().any(|c| c.is_control() && c != '\t') {
            return Err(format!("line {number}: it has a control character"));
        }
        Ok((number, text.len() - trimmed.len()))
    };
    numbered
        .map(|(number, text)| {
            let (number, indent) = line((number, text))?;
            let text = text.trim();
            Ok(Line {
                number,
                indent,
                text,
            })
        })
        .collect()
}

/// Splits off the lines that belong to a key: those that are indented or empty, and list items at its own indentation.
fn split_block<'l, 'a>(lines: &'l [Line<'a>]) -> (&'l [Line<'a>], &'l [Line<'a>]) {
    let belongs =
        |line: &Line<'_>| line.indent > 0 || line.text.is_empty() || line.text.starts_with("- ");
    let end = lines
        .iter()
        .position(|line| !belongs(line))
        .unwrap_or(lines.len());
    lines.split_at(end)
}

/// Splits a line into its key and the text after the colon, which may be empty.
fn key_of<'a>(line: &Line<'a>) -> Result<(&'a str, &'a str), String> {
    let split = line.text.split_once(':');
    let (key, value) = split.ok_or_else(|| at(line, "expected `key: value`"))?;
    let allowed = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.');
    if key.is_empty() || key.len() > ENTRIES || !key.bytes().all(allowed) {
        return Err(at(line, "the key has characters that are not allowed"));
    }
    if !value.is_empty() && !value.starts_with(' ') {
        return Err(at(line, "a space must follow the colon"));
    }
    Ok((key, value.trim()))
}

fn value_of(line: &Line<'_>, value: &str, block: &[Line<'_>]) -> Result<Value, String> {
    let content = |line: &&Line<'_>| !line.text.is_empty() && !line.text.starts_with('#');
    let mut entries = block.iter().filter(content);
    let string = |text| Value::Scalar {
        text,
        is_string: true,
    };
    if let Some(style) = block_style(value) {
        return block_scalar(line, style, block).map(string);
    }
    if value.is_empty() || value.starts_with('#') {
        return collection(line, entries);
    }
    if value.starts_with('[') {
        return match entries.next() {
            Some(next) => Err(at(next, "unexpected indentation")),
            None => flow_list(line, value).map(Value::List),
        };
    }
    let (mut text, is_quoted) = scalar(line, value)?;
    let is_string = is_quoted || !is_typed_word(&text);
    for next in entries {
        if is_quoted {
            return Err(at(next, "a quoted text must end on its line"));
        }
        // A plain text goes on, joined by a space.
        text.push(' ');
        text.push_str(&plain(next, next.text)?);
    }
    Ok(Value::Scalar { text, is_string })
}

/// Reads the lines below a key without a value: a list or a mapping.
fn collection<'l, 'a: 'l>(
    line: &Line<'_>,
    entries: impl Iterator<Item = &'l Line<'a>>,
) -> Result<Value, String> {
    let entries: Vec<&Line<'_>> = entries.collect();
    let Some(first) = entries.first() else {
        return Ok(Value::Scalar {
            text: String::new(),
            is_string: false,
        });
    };
    if entries.len() > ENTRIES {
        return Err(at(line, "there are too many entries"));
    }
    let (indent, is_list) = (first.indent, first.text.starts_with("- "));
    let mut list = Vec::new();
    let mut map = BTreeMap::new();
    for entry in entries {
        if entry.indent != indent {
            return Err(at(entry, "nested values are not allowed"));
        }
        match entry.text.strip_prefix("- ") {
            Some(item) if is_list => list.push(scalar(entry, item.trim())?.0),
            None if !is_list => {
                let (key, value) = key_of(entry)?;
                let value = scalar(entry, value)?.0;
                if map.insert(key.to_owned(), value).is_some() {
                    return Err(at(entry, "the key occurs twice"));
                }
            }
            Some(_) | None => return Err(at(entry, "a list and a mapping are mixed")),
        }
    }
    Ok(if is_list {
        Value::List(list)
    } else {
        Value::Map(map)
    })
}

/// Reads a scalar on one line, and tells if it was quoted.
fn scalar(line: &Line<'_>, value: &str) -> Result<(String, bool), String> {
    if let Some(rest) = value.strip_prefix('"') {
        return double_quoted(line, rest).map(|text| (text, true));
    }
    if let Some(rest) = value.strip_prefix('\'') {
        return single_quoted(line, rest).map(|text| (text, true));
    }
    plain(line, value).map(|text| (text, false))
}

fn plain(line: &Line<'_>, value: &str) -> Result<String, String> {
    let value = value
        .find(" #")
        .and_then(|end| value.get(..end))
        .unwrap_or(value)
        .trim_end();
    if value.starts_with([
        '&', '*', '!', '{', '}', '[', ']', '|', '>', '%', '@', '`', '"', '\'',
    ]) {
        return Err(at(
            line,
            "anchors, aliases, tags and nested values are not allowed",
        ));
    }
    if value.starts_with("? ")
        || value.starts_with("- ")
        || value.contains(": ")
        || value.ends_with(':')
    {
        return Err(at(
            line,
            "quote a text that contains a colon or begins with a dash",
        ));
    }
    Ok(value.to_owned())
}

fn single_quoted(line: &Line<'_>, rest: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut chars = rest.char_indices().peekable();
    while let Some((place, c)) = chars.next() {
        match c {
            '\'' if chars.next_if(|(_, next)| *next == '\'').is_some() => text.push('\''),
            '\'' => return ends_here(line, rest.get(place + 1..)).map(|()| text),
            c => text.push(c),
        }
    }
    Err(at(line, "a quoted text must end on its line"))
}

fn double_quoted(line: &Line<'_>, rest: &str) -> Result<String, String> {
    let mut text = String::new();
    let mut chars = rest.char_indices();
    while let Some((place, c)) = chars.next() {
        match c {
            '"' => return ends_here(line, rest.get(place + 1..)).map(|()| text),
            '\\' => match chars.next().map(|(_, c)| c) {
                Some(c @ ('"' | '\\' | '/')) => text.push(c),
                Some('n') => text.push('\n'),
                Some('t') => text.push('\t'),
                Some(_) | None => return Err(at(line, "this escape is not allowed")),
            },
            c => text.push(c),
        }
    }
    Err(at(line, "a quoted text must end on its line"))
}

/// Allows nothing but a comment behind a quoted text.
fn ends_here(line: &Line<'_>, rest: Option<&str>) -> Result<(), String> {
    let rest = rest.unwrap_or_default().trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        Ok(())
    } else {
        Err(at(line, "text follows the closing quote"))
    }
}

fn flow_list(line: &Line<'_>, value: &str) -> Result<Vec<String>, String> {
    let inner = value
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    let inner = inner
        .ok_or_else(|| at(line, "a list must end on its line"))?
        .trim();
    if inner.is_empty() {
        return Ok(Vec::new());
    }
    let items: Vec<&str> = inner.split(',').map(str::trim).collect();
    if items.len() > ENTRIES {
        return Err(at(line, "there are too many entries"));
    }
    items
        .into_iter()
        .map(|item| match scalar(line, item)? {
            (text, _) if text.is_empty() => Err(at(line, "a list has an empty entry")),
            (text, _) => Ok(text),
        })
        .collect()
}

/// Style of a block scalar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockStyle {
    /// Line ends of the block stay as they are.
    Literal,
    /// Lines are joined by spaces, and empty lines become line ends.
    Folded,
}

fn block_style(value: &str) -> Option<BlockStyle> {
    match value {
        "|" | "|-" | "|+" => Some(BlockStyle::Literal),
        ">" | ">-" | ">+" => Some(BlockStyle::Folded),
        _ => None,
    }
}

fn block_scalar(line: &Line<'_>, style: BlockStyle, block: &[Line<'_>]) -> Result<String, String> {
    let indents = block.iter().filter(|line| !line.text.is_empty());
    let indent = indents.clone().map(|line| line.indent).min().unwrap_or(0);
    if indent == 0 && indents.clone().next().is_some() {
        return Err(at(line, "a block of text must be indented"));
    }
    let mut text = String::new();
    for (place, line) in block.iter().enumerate() {
        let deeper = " ".repeat(line.indent.saturating_sub(indent));
        let separator = match style {
            _ if place == 0 => "",
            BlockStyle::Literal => "\n",
            BlockStyle::Folded if line.text.is_empty() => "\n",
            BlockStyle::Folded if text.ends_with('\n') => "",
            BlockStyle::Folded => " ",
        };
        text.push_str(separator);
        if !line.text.is_empty() && style == BlockStyle::Literal {
            text.push_str(&deeper);
        }
        text.push_str(line.text);
    }
    Ok(text.trim_end().to_owned())
}

/// Returns true for a plain word that YAML does not read as text.
fn is_typed_word(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    let is_number = word.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.'))
        && (word.parse::<f64>().is_ok() || word.starts_with("0x") || word.starts_with("0o"));
    is_number
        || matches!(
            word.as_str(),
            "" | "~"
                | "null"
                | "true"
                | "false"
                | "yes"
                | "no"
                | "on"
                | "off"
                | ".nan"
                | ".inf"
                | "-.inf"
        )
}
