//! Colours of the code in a block, by the name of its language.
//!
//! The parts are found by a library and kept for the newest blocks: a screen draws the same block many times, and a
//! block that is still being written grows at its end, where the parse goes on.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::LazyLock;
use syntect::parsing::{ParseState, Scope, ScopeStack, SyntaxReference, SyntaxSet};

/// Most bytes of a block that are coloured. The rest is shown as plain code.
const BLOCK_BYTES: usize = 16 << 10;
/// Most bytes of a line that are coloured. From a longer one on, the block is shown as plain code.
const LINE_BYTES: usize = 1_000;
/// Number of blocks that are kept.
const BLOCKS: usize = 64;

static SYNTAXES: LazyLock<SyntaxSet> = LazyLock::new(SyntaxSet::load_defaults_newlines);

/// Beginnings of scopes and the kinds of code that they are. The innermost scope of a text decides.
static KINDS: LazyLock<Vec<(Scope, CodeKind)>> = LazyLock::new(|| {
    let kinds = [
        ("comment", CodeKind::Comment),
        ("string", CodeKind::Text),
        ("constant", CodeKind::Constant),
        ("keyword.operator", CodeKind::Plain),
        ("keyword", CodeKind::Keyword),
        ("storage", CodeKind::Keyword),
        ("entity.name", CodeKind::Name),
        ("support.function", CodeKind::Name),
        ("variable.function", CodeKind::Name),
        ("meta.mapping.key", CodeKind::Name),
    ];
    let scope = |(name, kind): (&str, CodeKind)| Scope::new(name).ok().map(|scope| (scope, kind));
    kinds.into_iter().filter_map(scope).collect()
});

thread_local! {
    static NEWEST: RefCell<VecDeque<Block>> = const { RefCell::new(VecDeque::new()) };
}

/// What a piece of code is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CodeKind {
    Plain,
    Comment,
    /// A string or a character.
    Text,
    Constant,
    Keyword,
    /// Name that is defined or called.
    Name,
}

/// Pieces of one line, without its line feed.
pub(super) type LineParts = Vec<(Range<usize>, CodeKind)>;

/// Returns the parts of each line of a block of code. `None` if its language is not known.
///
/// Lines beyond the bounds have no parts.
pub(super) fn parts(language: &str, code: &str) -> Option<Vec<LineParts>> {
    let syntax = find_syntax(language)?;
    let cut = code.floor_char_boundary(BLOCK_BYTES);
    let code = code.get(..cut).unwrap_or_default();
    NEWEST.with_borrow_mut(|newest| {
        let is_begin =
            |block: &Block| block.language == syntax.name && code.starts_with(&block.parsed);
        let longest = newest
            .iter()
            .enumerate()
            .filter(|(_, block)| is_begin(block));
        let longest = longest.max_by_key(|(_, block)| block.parsed.len());
        let mut block = match longest.map(|(place, _)| place) {
            Some(place) => newest.remove(place)?,
            None => Block::new(syntax),
        };
        let lines = block.parse(code);
        newest.push_front(block);
        newest.truncate(BLOCKS);
        Some(lines)
    })
}

fn find_syntax(language: &str) -> Option<&'static SyntaxReference> {
    let name = language.split([',', ' ', '{']).next().unwrap_or_default();
    let name = match name {
        "" | "text" | "plain" | "txt" | "console" => return None,
        "typescript" | "ts" | "tsx" | "jsx" => "js",
        "shell" | "zsh" => "sh",
        "jsonc" | "json5" => "json",
        other => other,
    };
    SYNTAXES.find_syntax_by_token(name)
}

/// A block whose whole lines were parsed.
#[derive(Debug)]
struct Block {
    language: &'static str,
    /// Text of the lines that were parsed, each with its line feed.
    parsed: String,
    lines: Vec<LineParts>,
    /// State after these lines. `None` after a line that is not parsed.
    state: Option<(ParseState, ScopeStack)>,
}

impl Block {
    fn new(syntax: &'static SyntaxReference) -> Self {
        Self {
            language: &syntax.name,
            parsed: String::new(),
            lines: Vec::new(),
            state: Some((ParseState::new(syntax), ScopeStack::new())),
        }
    }

    /// Parses what a text that begins with the parsed lines has more, and returns the parts of all its lines. A last line
    /// without a line feed may grow, and is not kept.
    fn parse(&mut self, code: &str) -> Vec<LineParts> {
        let rest = code.get(self.parsed.len()..).unwrap_or_default();
        let mut growing = None;
        for line in rest.split_inclusive('\n') {
            if line.ends_with('\n') {
                let parts = self
                    .state
                    .as_mut()
                    .and_then(|state| parse_line(state, line));
                if parts.is_none() {
                    self.state = None;
                }
                self.lines.push(parts.unwrap_or_default());
                self.parsed.push_str(line);
            } else {
                let parts = self.state.clone();
                growing = parts.and_then(|mut state| parse_line(&mut state, line));
            }
        }
        let lines = self.lines.iter().cloned();
        lines.chain(growing).collect()
    }
}

/// Returns the parts of a line. `None` if it is too long, or its grammar fails on it.
fn parse_line(state: &mut (ParseState, ScopeStack), line: &str) -> Option<LineParts> {
    let (parser, stack) = state;
    if line.len() > LINE_BYTES {
        return None;
    }
    let changes = parser.parse_line(line, &SYNTAXES).ok()?;
    let text = line.trim_end_matches('\n');
    let mut parts: LineParts = Vec::new();
    let mut begin = 0;
    for (place, change) in &changes {
        let end = (*place).min(text.len());
        add_part(&mut parts, begin..end, kind_of(stack));
        begin = end.max(begin);
        stack.apply(change).ok()?;
    }
    add_part(&mut parts, begin..text.len(), kind_of(stack));
    Some(parts)
}

/// Adds a part, or makes the last one longer if it is of the same kind.
fn add_part(parts: &mut LineParts, range: Range<usize>, kind: CodeKind) {
    if range.is_empty() {
        return;
    }
    match parts.last_mut() {
        Some((last, of)) if *of == kind => last.end = range.end,
        _ => parts.push((range, kind)),
    }
}

fn kind_of(stack: &ScopeStack) -> CodeKind {
    let kind = |scope: &Scope| {
        let known = KINDS.iter().find(|(begin, _)| begin.is_prefix_of(*scope));
        known.map(|(_, kind)| *kind)
    };
    let innermost = stack.as_slice().iter().rev().find_map(kind);
    innermost.unwrap_or(CodeKind::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(language: &str, code: &str) -> Vec<Vec<(String, CodeKind)>> {
        let lines = parts(language, code).expect("a known language");
        let text = |(line, parts): (&str, LineParts)| {
            let piece = |(range, kind): (Range<usize>, CodeKind)| {
                let piece = line.get(range).expect("whole characters");
                (piece.to_owned(), kind)
            };
            parts.into_iter().map(piece).collect()
        };
        code.split('\n').zip(lines).map(text).collect()
    }

    fn find(language: &str, code: &str, piece: &str) -> Option<CodeKind> {
        let lines = kinds(language, code);
        let mut pieces = lines.into_iter().flatten();
        let found = pieces.find(|(text, _)| text.contains(piece));
        found.map(|(_, kind)| kind)
    }

    #[test]
    fn common_languages_have_their_parts() {
        let rust = "/// Adds.\nfn add(a: u8) -> u8 { a + 12 } // \"no\"";
        for (language, code, piece, kind) in [
            ("rust", rust, "Adds", CodeKind::Comment),
            ("rs", rust, "fn", CodeKind::Keyword),
            ("rust,no_run", rust, "add", CodeKind::Name),
            ("rust", rust, "12", CodeKind::Constant),
            ("rust", rust, "no", CodeKind::Comment),
            ("python", "def f():\n    return 'x'", "'x'", CodeKind::Text),
            (
                "sh",
                "# why\nif true; then echo \"a\"; fi",
                "why",
                CodeKind::Comment,
            ),
            ("json", "{\"a\": 1}", "1", CodeKind::Constant),
            ("yaml", "a: 12", "12", CodeKind::Constant),
            ("ts", "const a = 1; // b", "b", CodeKind::Comment),
        ] {
            assert_eq!(
                find(language, code, piece),
                Some(kind),
                "{language}: {piece}"
            );
        }
        for unknown in ["", "text", "no-such-language"] {
            assert_eq!(parts(unknown, "fn"), None, "{unknown}");
        }
    }

    #[test]
    fn every_line_is_covered_exactly_once() {
        let code = "let a = \"é漢\n字\";\n\n/* b\n c */ fn d() {}\n";
        for (line, parts) in code.split('\n').zip(parts("rust", code).expect("rust")) {
            let mut end = 0;
            for (range, _) in parts {
                assert_eq!(range.start, end, "{line}");
                end = range.end;
            }
            assert_eq!(end, line.len(), "{line}");
        }
    }

    #[test]
    fn a_block_that_grows_is_coloured_as_if_it_came_at_once() {
        let code = "/* one\ntwo */ fn three() {\n    \"four\"\n}\n// five";
        let whole = parts("rust", code).expect("rust");
        for end in (0..=code.len()).filter(|end| code.is_char_boundary(*end)) {
            NEWEST.with_borrow_mut(VecDeque::clear);
            let begin = code.get(..end).expect("whole characters");
            parts("rust", begin).expect("rust");
            assert_eq!(parts("rust", code), Some(whole.clone()), "grown from {end}");
        }
    }

    #[test]
    fn long_blocks_and_lines_are_bounded() {
        let many = "let a = 1;\n".repeat(5_000);
        let lines = parts("rust", &many).expect("rust");
        assert!(lines.len() <= BLOCK_BYTES / 11 + 1, "{}", lines.len());
        let long = format!(
            "let a = 1;\nlet b = [{}];\nlet c = 1;\n",
            "1, ".repeat(1_000)
        );
        let lines = parts("rust", &long).expect("rust");
        assert!(!lines[0].is_empty());
        assert_eq!(lines[1..], [Vec::new(), Vec::new()]);
    }

    #[test]
    fn the_newest_blocks_are_kept() {
        for number in 0..BLOCKS + 5 {
            parts("rust", &format!("let a = {number};\n")).expect("rust");
        }
        assert_eq!(NEWEST.with_borrow(VecDeque::len), BLOCKS);
    }
}
