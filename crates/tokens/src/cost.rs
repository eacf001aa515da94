//! Average costs of pieces, measured with `o200k_base` on documentation in a dozen languages, source code, logs and
//! data files. They are in hundredths of a token.

use super::class::Class;

/// Hundredths of a token.
pub(super) type Cost = u16;

/// Cost of one token.
pub(super) const TOKEN: Cost = 100;
/// Spaces and tabs of a run that are one token at most with the one before the next word.
pub(super) const BLANKS: u8 = 32;
/// Line ends of a run that are one token.
pub(super) const LINE_ENDS: u8 = 4;
/// Each letter of the end of `don't` and `they've`, which most vocabularies join with the word.
pub(super) const CONTRACTION: Cost = 8;
/// First small letter after two or more capitals: such words are seldom in a vocabulary.
pub(super) const AFTER_CAPITALS: Cost = 72;
/// Letters that such a word counts for when it goes on.
pub(super) const MIXED_LETTERS: u8 = 4;

/// What stands before a word and shares its piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Prefix {
    None,
    /// A space. Vocabularies hold most words with it.
    Space,
    /// An ASCII mark or a tab.
    Mark,
    /// A mark beyond ASCII.
    WideMark,
}

/// Rounds a sum of costs to tokens. A sum above zero is at least one token.
pub(super) const fn to_tokens(sum: u64) -> u64 {
    const ONE: u64 = TOKEN as u64;
    match sum {
        0 => 0,
        1..ONE => 1,
        _ => (sum + ONE / 2) / ONE,
    }
}

/// Letters of a word that are told apart; each further letter costs `LONG_WORD_LETTER`.
pub(super) const LETTERS: u8 = 16;
const LONG_WORD_LETTER: Cost = 21;

/// Costs of words with 1, 2, 3, … letters, by what stands before them: a space, nothing, a mark.
type Words = [[Cost; LETTERS as usize]; 3];

/// Small letters, or one capital and small letters.
const SMALL: Words = [
    [
        100, 100, 101, 102, 105, 107, 109, 113, 115, 123, 127, 132, 138, 146, 172, 200,
    ],
    [
        100, 100, 102, 105, 110, 115, 122, 138, 148, 172, 182, 198, 215, 240, 262, 284,
    ],
    [
        102, 114, 122, 124, 130, 140, 157, 174, 190, 208, 235, 258, 280, 301, 322, 343,
    ],
];

const CAPITALS: Words = [
    [
        100, 103, 122, 135, 164, 188, 196, 215, 245, 266, 287, 308, 329, 350, 371, 392,
    ],
    [
        100, 103, 130, 138, 180, 195, 210, 260, 300, 322, 344, 366, 388, 410, 432, 454,
    ],
    [
        104, 120, 145, 145, 158, 180, 190, 215, 260, 282, 304, 326, 348, 370, 392, 414,
    ],
];

/// A word after a mark beyond ASCII costs this more than one with nothing before it.
const AFTER_WIDE_MARK: Cost = 50;

/// Cost that the letter number `number` (from 1) adds to an ASCII word.
pub(super) fn ascii_letter(class: Class, prefix: Prefix, number: u8) -> Cost {
    let words = match class {
        Class::Capital => &CAPITALS,
        _ => &SMALL,
    };
    let [spaced, bare, marked] = words;
    let (lengths, start) = match prefix {
        Prefix::Space => (spaced, 0),
        Prefix::None => (bare, 0),
        Prefix::Mark => (marked, 0),
        Prefix::WideMark => (bare, AFTER_WIDE_MARK),
    };
    let of = |letters: u8| lengths.get(usize::from(letters)).copied();
    match (number, of(number.saturating_sub(1))) {
        (0 | 1, first) => first.unwrap_or(TOKEN) + start,
        (_, Some(with)) => with - of(number - 2).unwrap_or(with),
        (_, None) => LONG_WORD_LETTER,
    }
}

/// Cost of the first letter of a word that is not ASCII.
pub(super) const fn first_letter(class: Class, prefix: Prefix) -> Cost {
    let letter = match (class, prefix) {
        (Class::Rare, _) => 200,
        (Class::Han, Prefix::Space) => 85,
        (_, _) => TOKEN,
    };
    let start = match prefix {
        Prefix::None | Prefix::Space => 0,
        Prefix::Mark | Prefix::WideMark => 48,
    };
    letter + start
}

/// Letters of a word beyond ASCII that are told apart. A space before a word makes only these cheaper, together by less
/// than a token.
pub(super) const FIRST_LETTERS: u8 = 6;

/// Cost of a further letter in a word that has letters beyond ASCII. `before` is the class of the letter before it,
/// `number` the letters before it, and `is_spaced` is true for a word after a space.
pub(super) fn next_letter(class: Class, before: Class, number: u8, is_spaced: bool) -> Cost {
    // The first letters of a word are part of its first token.
    let free = |letters: u8, cost: Cost| if number < letters { 0 } else { cost };
    let is_cheap = is_spaced || number >= FIRST_LETTERS;
    match (class, before) {
        (Class::Han, Class::Hiragana | Class::Katakana) => 116,
        (Class::Han, _) => 82,
        (Class::Hiragana, Class::Hiragana) => 59,
        (Class::Hiragana, _) => 66,
        (Class::Katakana, Class::Katakana) => 66,
        (Class::Katakana, _) => 110,
        (Class::Hangul, _) if is_cheap => 54,
        (Class::Hangul, _) => 68,
        (Class::Cyrillic, _) if is_cheap => free(3, 17),
        (Class::Cyrillic, _) => free(2, 35),
        (Class::Arabic, _) if is_cheap => free(3, 32),
        (Class::Arabic, _) => free(2, 45),
        (Class::Greek, _) => free(3, 38),
        (Class::Hebrew, _) => free(2, 45),
        (Class::Latin, _) => 46,
        (Class::Indic, _) => 19,
        (Class::Unspaced, _) => 37,
        (Class::Combining, _) => 60,
        (_, _) => 200,
    }
}

/// Cost of a space or tab behind `number` others.
pub(super) const fn next_blank(number: u8) -> Cost {
    match number {
        0 | 1 => TOKEN,
        2..BLANKS => 0,
        // Vocabularies have tokens for long runs, but not for any length.
        _ => 2,
    }
}

/// Cost of a line end behind `number` others.
pub(super) const fn next_line_end(number: u8) -> Cost {
    if number < LINE_ENDS { 0 } else { 10 }
}

/// Cost of a mark that begins a piece.
pub(super) const fn first_mark(class: Class) -> Cost {
    match class {
        Class::Emoji => 180,
        _ => TOKEN,
    }
}

/// Cost of a further mark of a run. `number` counts the marks before it.
pub(super) const fn next_mark(class: Class, number: u8) -> Cost {
    match (class, number) {
        (Class::Emoji, _) => 180,
        (Class::Drawing, _) => 20,
        (Class::Symbol | Class::WideMark, _) => 90,
        (_, 0 | 1) => 2,
        (Class::Rule, _) => 6,
        (_, _) => 25,
    }
}
