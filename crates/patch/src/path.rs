//! The names in file headers, and which of them a patch may touch.
//!
//! Owns the spelling (quotes, prefixes, time stamps) and the judgement by spelling alone. What a link on disk makes
//! of a path is judged by whoever opens it.

use crate::error::quote;

/// Longest path and longest component that usual file systems take.
const PATH_BYTES: usize = 4096;
const COMPONENT_BYTES: usize = 255;
/// Folders that steer git or this runtime: changing them from a patch would be changing what guards it.
const PROTECTED: [&str; 3] = [".git", ".holon", "git~1"];

/// The name after `---` or `+++`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name {
    /// `/dev/null`: there is no file on this side.
    Nothing,
    /// A path, its prefix still on it.
    Path(String),
}

/// Reads the name of a file header: maybe quoted, maybe with a time stamp after a tab.
pub(crate) fn parse_name(raw: &str) -> Result<Name, String> {
    let name = if raw.starts_with('"') {
        unquote(raw)?.0
    } else {
        let bare = raw.split('\t').next().unwrap_or(raw);
        bare.trim_end().to_owned()
    };
    if name == "/dev/null" {
        return Ok(Name::Nothing);
    }
    Ok(Name::Path(name))
}

/// The one path a `diff --git` line names on both sides, if it can be told.
pub(crate) fn parse_git_pair(rest: &str) -> Option<String> {
    let (old, new) = if rest.starts_with('"') {
        let (old, after) = unquote(rest).ok()?;
        let (new, _) = unquote(after.trim_start()).ok()?;
        (old, new)
    } else {
        // Spaces are not escaped, so the middle is the only sure place to cut a name said twice.
        let middle = rest.len() / 2;
        let new = rest.get(middle..)?.strip_prefix(' ')?;
        (rest.get(..middle)?.to_owned(), new.to_owned())
    };
    same_path(&old, &new)
}

/// The path both sides agree on, with or without the usual prefixes.
pub(crate) fn same_path(old: &str, new: &str) -> Option<String> {
    let (bare_old, bare_new) = (without_old_prefix(old), without_new_prefix(new));
    if bare_old == bare_new {
        return Some(bare_old.to_owned());
    }
    (old == new).then(|| old.to_owned())
}

/// `path` without the `a/` of the old side.
pub(crate) fn without_old_prefix(path: &str) -> &str {
    path.strip_prefix("a/").unwrap_or(path)
}

/// `path` without the `b/` of the new side.
pub(crate) fn without_new_prefix(path: &str) -> &str {
    path.strip_prefix("b/").unwrap_or(path)
}

/// Judges a path by its spelling; the error says which rule it breaks. Which directories an absolute path may lie in is
/// known to the caller alone, who checks the rest of it with [`check_below`].
pub(crate) fn check(path: &str) -> Result<(), String> {
    match path.strip_prefix('/') {
        Some(absolute) => check_components(path, absolute, check_name),
        None => check_below(path),
    }
}

/// Judges a path from the directory that it may not leave.
pub(crate) fn check_below(path: &str) -> Result<(), String> {
    check_components(path, path, |component| {
        check_name(component)?;
        check_protected(component)
    })
}

fn check_components(
    path: &str,
    components: &str,
    check: impl Fn(&str) -> Result<(), String>,
) -> Result<(), String> {
    let shown = quote(path.as_bytes());
    if path.len() > PATH_BYTES {
        return Err(format!("`{shown}` is longer than {PATH_BYTES} bytes"));
    }
    if path.contains('\\') {
        return Err(format!("`{shown}` contains a backslash"));
    }
    if path.chars().any(char::is_control) {
        let escaped = quote(format!("{path:?}").as_bytes());
        return Err(format!("{escaped} contains a control character"));
    }
    components
        .split('/')
        .try_for_each(check)
        .map_err(|why| format!("`{shown}` {why}"))
}

fn check_name(component: &str) -> Result<(), String> {
    if component.is_empty() {
        return Err("has an empty component".to_owned());
    }
    if component == "." || component == ".." {
        return Err(format!("contains `{component}`"));
    }
    if component.ends_with(['.', ' ']) {
        return Err("has a component that ends in a dot or a space".to_owned());
    }
    if component.len() > COMPONENT_BYTES {
        return Err(format!("has a component over {COMPONENT_BYTES} bytes"));
    }
    Ok(())
}

fn check_protected(component: &str) -> Result<(), String> {
    let folded = fold(component);
    if PROTECTED.contains(&folded.as_str()) {
        return Err(format!(
            "goes into `{component}`, which patches may not touch"
        ));
    }
    Ok(())
}

/// The component as a file system that ignores case and invisible characters would read it.
fn fold(component: &str) -> String {
    let visible = component.chars().filter(|c| {
        !matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
    });
    visible.map(|c| c.to_ascii_lowercase()).collect()
}

/// Reads a name in git's quotes; returns it and what follows the closing quote.
fn unquote(raw: &str) -> Result<(String, &str), String> {
    let body = raw.strip_prefix('"').unwrap_or(raw);
    let mut bytes = Vec::new();
    let mut chars = body.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => {
                let name = String::from_utf8(bytes)
                    .map_err(|_| format!("{} is not UTF-8", quote(raw.as_bytes())))?;
                return Ok((name, body.get(at + 1..).unwrap_or_default()));
            }
            '\\' => bytes.push(escape(&mut chars, raw)?),
            other => bytes.extend(other.encode_utf8(&mut [0; 4]).bytes()),
        }
    }
    Err(format!("{} has no closing quote", quote(raw.as_bytes())))
}

/// One escaped byte, after its backslash.
fn escape(chars: &mut std::str::CharIndices<'_>, raw: &str) -> Result<u8, String> {
    let unknown = || format!("{} has an unknown escape", quote(raw.as_bytes()));
    let (_, c) = chars.next().ok_or_else(unknown)?;
    let byte = match c {
        'a' => 7,
        'b' => 8,
        't' => b'\t',
        'n' => b'\n',
        'v' => 11,
        'f' => 12,
        'r' => b'\r',
        '"' => b'"',
        '\\' => b'\\',
        '0'..='3' => {
            let mut value = c.to_digit(8).ok_or_else(unknown)?;
            for _ in 0..2 {
                let (_, digit) = chars.next().ok_or_else(unknown)?;
                value = value * 8 + digit.to_digit(8).ok_or_else(unknown)?;
            }
            u8::try_from(value).map_err(|_| unknown())?
        }
        _ => return Err(unknown()),
    };
    Ok(byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> Name {
        Name::Path(text.to_owned())
    }

    #[test]
    fn names_lose_quotes_and_time_stamps() {
        for (raw, expected) in [
            ("a/x.rs", path("a/x.rs")),
            (
                "a/x.rs\t2024-01-02 03:04:05.000000000 +0000",
                path("a/x.rs"),
            ),
            ("a/two words\t", path("a/two words")),
            ("a/x.rs  ", path("a/x.rs")),
            ("\"a/\\303\\244\\t\\\"\\\\\"\tstamp", path("a/ä\t\"\\")),
            ("/dev/null", Name::Nothing),
            ("/dev/null\tThu Jan  1", Name::Nothing),
        ] {
            assert_eq!(parse_name(raw), Ok(expected), "{raw}");
        }
    }

    #[test]
    fn a_broken_quote_is_refused() {
        for raw in [
            "\"a/x",
            "\"a/\\q\"",
            "\"a/\\30\"",
            "\"a/\\377\"",
            "\"\\",
            "\"\\39a\"",
        ] {
            assert!(parse_name(raw).is_err(), "{raw}");
        }
    }

    #[test]
    fn prefixes_fall_only_where_both_sides_agree() {
        for (old, new, expected) in [
            ("a/x", "b/x", Some("x")),
            ("x", "x", Some("x")),
            ("a/x", "x", Some("x")),
            ("a/x", "a/x", Some("a/x")),
            ("b/x", "b/x", Some("b/x")),
            ("a/x", "b/y", None),
        ] {
            assert_eq!(same_path(old, new).as_deref(), expected, "{old} {new}");
        }
    }

    #[test]
    fn a_git_line_is_cut_where_the_name_repeats() {
        for (rest, expected) in [
            ("a/x b/x", Some("x")),
            ("a/two words b/two words", Some("two words")),
            ("\"a/\\303\\244\" \"b/\\303\\244\"", Some("ä")),
            ("x x", Some("x")),
            ("a/x b/yy", None),
            ("", None),
            ("ä", None),
        ] {
            assert_eq!(parse_git_pair(rest).as_deref(), expected, "{rest}");
        }
    }

    #[test]
    fn paths_that_leave_or_steer_are_refused() {
        for bad in [
            "",
            "/",
            "//x",
            "/x/",
            "/x/../y",
            "/x/./y",
            "/x//y",
            "/x\ny",
            "..",
            "../x",
            "a/../../x",
            "a/..",
            "./x",
            "a//b",
            "a/",
            "a/./b",
            "x\0y",
            "x\ny",
            "x\u{7f}",
            "a\\..\\b",
            "C:\\x",
            "x.",
            "x ",
            "d./x",
            ".git",
            ".git/config",
            "a/.GIT/hooks/x",
            ".Git/x",
            ".g\u{200c}it/x",
            "git~1/x",
            ".holon/x",
            "a/.Holon/x",
            "...",
        ] {
            assert!(check(bad).is_err(), "{bad:?}");
            assert!(check_below(bad).is_err(), "{bad:?}");
        }
        assert!(check_below("/x").is_err(), "an empty component");
        assert!(check(&"x".repeat(256)).is_err());
        assert!(check(&"x/".repeat(3000)).is_err());
    }

    #[test]
    fn usual_paths_are_taken() {
        for good in [
            "x",
            ".gitignore",
            ".github/workflows/ci.yml",
            "a/b/c.rs",
            "two words/x",
            "ä/漢.txt",
            ".holonrc",
            "..x/y",
            "-x",
            "a:b",
            "@x",
            "/srv/holon/agents/main/memory/self.md",
        ] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
    }
}
