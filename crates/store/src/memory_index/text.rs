//! The projection of a text for the full-text index: folded words, the parts of identifiers, and bigrams of scripts
//! that are written without spaces.
//!
//! Pure. Documents and queries go through the same functions, so that a word of a query meets the same word of a text.
//! The projection is stored in the index only and never shown.

use std::borrow::Cow;

/// Longest token that is indexed as a whole, in bytes. The parts of a longer one are indexed.
const TOKEN_BYTES: usize = 120;
/// Most tokens that one word becomes. It bounds a path of a thousand components.
const TOKENS_PER_WORD: usize = 48;

/// A piece of text between separators.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'a> {
    /// A word, identifier, path or id, as it is written.
    Word(&'a str),
    /// Characters of a script without spaces.
    Run(&'a str),
}

/// Returns true for characters of scripts that put no spaces between words.
const fn is_unspaced(c: char) -> bool {
    matches!(c,
        // Han, with its repetition mark and zero.
        '\u{3005}' | '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{323af}'
        // Hiragana, Katakana, Bopomofo, Hangul.
        | '\u{3041}'..='\u{3096}' | '\u{309d}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}'
        | '\u{3105}'..='\u{312f}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}'
        | '\u{1100}'..='\u{11ff}' | '\u{3131}'..='\u{318e}' | '\u{ac00}'..='\u{d7a3}'
        // Thai, Lao, Myanmar, Khmer.
        | '\u{e01}'..='\u{e3a}' | '\u{e40}'..='\u{e4e}' | '\u{e81}'..='\u{ece}'
        | '\u{1000}'..='\u{1049}' | '\u{1780}'..='\u{17d3}')
}

/// Returns true for characters that join the parts of an identifier, a path or an address.
const fn is_connector(c: char) -> bool {
    matches!(
        c,
        '_' | '-' | '.' | '/' | '\\' | ':' | '@' | '#' | '+' | '~'
    )
}

/// Returns the simplest form of a character: full-width Latin becomes plain Latin.
const fn narrow(c: char) -> char {
    match c {
        '\u{ff01}'..='\u{ff5e}' => match char::from_u32(c as u32 - 0xfee0) {
            Some(plain) => plain,
            None => c,
        },
        '\\' => '/',
        other => other,
    }
}

/// Lowers a text and narrows its characters.
pub(super) fn fold(text: &str) -> String {
    text.chars()
        .flat_map(|c| narrow(c).to_lowercase())
        .collect()
}

/// Splits a text into words and runs.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        loop {
            let start = rest.find(|c: char| is_unspaced(c) || is_word(c))?;
            let (_, from) = rest.split_at(start);
            let first = from.chars().next()?;
            let stays = |c: char| {
                if is_unspaced(first) {
                    is_unspaced(c)
                } else {
                    !is_unspaced(c) && (is_word(c) || is_mark(c) || is_connector(narrow(c)))
                }
            };
            let end = from.find(|c: char| !stays(c)).unwrap_or(from.len());
            let (piece, behind) = from.split_at(end);
            rest = behind;
            if is_unspaced(first) {
                return Some(Piece::Run(piece));
            }
            let word = piece.trim_matches(|c: char| is_connector(narrow(c)));
            if !word.is_empty() {
                return Some(Piece::Word(word));
            }
        }
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() && !is_unspaced(c)
}

/// Returns true for accents that are written behind their letter. The tokenizer of the index drops them, so a word is
/// found whether its accents are composed or not.
const fn is_mark(c: char) -> bool {
    matches!(c,
        '\u{300}'..='\u{36f}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}' | '\u{20d0}'..='\u{20ff}'
        | '\u{fe20}'..='\u{fe2f}')
}

/// Separators of the parts of a word, coarsest first.
const LEVELS: [&[char]; 5] = [
    &['/', '\\'],
    &[':', '@', '#', '+', '~'],
    &['.'],
    &['-'],
    &['_'],
];

/// The tokens of one word: the whole of it, the larger parts, and the smallest ones.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct WordTokens {
    /// Folded form of the word. Absent if it is too long for the index.
    pub(super) whole: Option<String>,
    /// Parts between the whole word and the smallest parts, such as a file name in a path.
    pub(super) middle: Vec<String>,
    /// Smallest parts. Empty if the word has only one.
    pub(super) parts: Vec<String>,
}

/// Splits a word into its tokens.
pub(super) fn tokens_of(word: &str) -> WordTokens {
    let mut tokens = WordTokens::default();
    let folded = fold(word);
    split(word, 0, &folded, &mut tokens);
    if tokens.parts.len() == 1 && tokens.parts.first() == Some(&folded) {
        tokens.parts.clear();
    }
    if folded.len() <= TOKEN_BYTES {
        tokens.whole = Some(folded);
    } else if tokens.parts.is_empty() {
        // A long word without parts, such as a key in base 64: its beginning finds it.
        tokens.whole = Some(holon_domain::text::prefix(&folded, TOKEN_BYTES).to_owned());
    }
    tokens
}

fn split(word: &str, level: usize, whole: &str, tokens: &mut WordTokens) {
    let Some(separators) = LEVELS.get(level) else {
        return split_case(word, whole, tokens);
    };
    let mut parts = word.split(*separators).filter(|part| !part.is_empty());
    if let (Some(_), Some(_)) = (parts.next(), parts.next()) {
        for part in word.split(*separators).filter(|part| !part.is_empty()) {
            add_middle(part, whole, tokens);
            split(part, level + 1, whole, tokens);
        }
    } else {
        split(word.trim_matches(*separators), level + 1, whole, tokens);
    }
}

/// Splits `camelCase` and `HTTPServer` into their words.
fn split_case(word: &str, whole: &str, tokens: &mut WordTokens) {
    let mut start = 0;
    let mut previous: Option<char> = None;
    let mut characters = word.char_indices().peekable();
    let mut borders = Vec::new();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        let begins = previous.is_some_and(|before| {
            c.is_uppercase() && (!before.is_uppercase() || next.is_some_and(char::is_lowercase))
        });
        if begins {
            borders.push(at);
        }
        previous = Some(c);
    }
    if !borders.is_empty() {
        add_middle(word, whole, tokens);
    }
    for border in borders.into_iter().chain([word.len()]) {
        add_part(word.get(start..border).unwrap_or_default(), tokens);
        start = border;
    }
}

fn add_middle(part: &str, whole: &str, tokens: &mut WordTokens) {
    let part = fold(part);
    let is_new = part != whole && !tokens.middle.contains(&part);
    if is_new && part.len() <= TOKEN_BYTES && tokens.middle.len() < TOKENS_PER_WORD {
        tokens.middle.push(part);
    }
}

fn add_part(part: &str, tokens: &mut WordTokens) {
    let part = fold(part);
    let fits = !part.is_empty() && part.len() <= TOKEN_BYTES;
    if fits && tokens.parts.len() < TOKENS_PER_WORD && !tokens.parts.contains(&part) {
        tokens.parts.push(part);
    }
}

/// Returns the bigrams of a run. A single character is its own token.
pub(super) fn bigrams(run: &str) -> impl Iterator<Item = Cow<'_, str>> {
    let ends: Vec<usize> = run
        .char_indices()
        .map(|(at, _)| at)
        .chain([run.len()])
        .collect();
    let is_single = ends.len() <= 2;
    let width = if is_single { 1 } else { 2 };
    let count = ends.len().saturating_sub(width);
    (0..count).map(move |n| {
        let (from, to) = (
            ends.get(n).copied().unwrap_or(0),
            ends.get(n + width).copied().unwrap_or(0),
        );
        Cow::Borrowed(run.get(from..to).unwrap_or_default())
    })
}

/// Returns the projection of a text: the tokens of the index, separated by spaces.
pub(super) fn project(text: &str) -> String {
    let mut projected = String::with_capacity(text.len() + text.len() / 2);
    let mut add = |token: &str| {
        if !projected.is_empty() {
            projected.push(' ');
        }
        projected.push_str(token);
    };
    for piece in pieces(text) {
        match piece {
            Piece::Word(word) => {
                let tokens = tokens_of(word);
                let all = tokens
                    .whole
                    .iter()
                    .chain(&tokens.middle)
                    .chain(&tokens.parts);
                let mut added: Vec<&String> = Vec::new();
                for token in all {
                    if !added.contains(&token) {
                        add(token);
                        added.push(token);
                    }
                }
            }
            Piece::Run(run) => {
                bigrams(run).for_each(|bigram| add(&bigram));
                // The last character too, so that every character begins some token and a search for one character
                // can be a search by prefix.
                if let (true, Some((at, _))) =
                    (run.chars().nth(1).is_some(), run.char_indices().next_back())
                {
                    add(run.get(at..).unwrap_or_default());
                }
            }
        }
    }
    projected
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn words_identifiers_and_unspaced_scripts_become_the_tokens_that_find_them() {
        let cases = [
            ("Hello, World!", "hello world"),
            ("", ""),
            ("  ... --- ", ""),
            ("getUserName", "getusername get user name"),
            ("HTTPServer2", "httpserver2 http server2"),
            ("memory_index", "memory_index memory index"),
            ("tx.rs", "tx.rs tx rs"),
            (
                "crates/store/src/tx.rs:42",
                "crates/store/src/tx.rs:42 crates store src tx.rs:42 tx.rs tx rs 42",
            ),
            ("work_0a1b", "work_0a1b work 0a1b"),
            ("使用数据库", "使用 用数 数据 据库 库"),
            ("图", "图"),
            ("用SQLite存储", "用 sqlite sq lite 存储 储"),
            ("ＡＢＣ１", "abc1"),
            ("カタカナ", "カタ タカ カナ ナ"),
            ("한국어", "한국 국어 어"),
            (
                "C:\\dir\\file.TXT",
                "c:/dir/file.txt c: dir file.txt file txt c",
            ),
            ("naïve Straße", "naïve straße"),
            // Marks that follow their letter belong to the word, and a mark without a letter is no word.
            (
                "nai\u{308}ve Cafe\u{301}Bar \u{301}",
                "nai\u{308}ve cafe\u{301}bar cafe\u{301} bar",
            ),
            ("مرحبا بالعالم", "مرحبا بالعالم"),
        ];
        for (text, projected) in cases {
            assert_eq!(project(text), projected, "{text}");
        }
    }

    #[test]
    fn a_word_of_any_length_becomes_a_bounded_number_of_tokens() {
        let path = "dir/".repeat(5_000);
        let key = "a1B2".repeat(5_000);
        for word in [path.as_str(), key.as_str()] {
            let tokens = tokens_of(word);
            let count = tokens.middle.len() + tokens.parts.len();
            assert!(count <= 2 * TOKENS_PER_WORD, "{count}");
        }
    }

    proptest! {
        #[test]
        fn every_character_of_a_run_begins_a_token(run in "[\u{4e00}-\u{4e80}]{1,20}") {
            let projected = project(&run);
            for c in run.chars() {
                prop_assert!(projected.split(' ').any(|token| token.starts_with(c)));
            }
        }

        #[test]
        fn any_text_is_projected_without_quotes_or_line_ends(text in any::<String>()) {
            let projected = project(&text);
            let is_clean = !projected.contains(['"', '\'', '\n', '\0', '*', '(']);
            prop_assert!(is_clean, "{projected:?}");
        }
    }
}
