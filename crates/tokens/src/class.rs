//! Classes of characters: those that a tokenizer treats alike.
//!
//! The ranges are blocks of Unicode and not exact properties: a rare character in the wrong class changes an estimate by
//! a token at most.

/// Class of a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Class {
    Small,
    Capital,
    Digit,
    /// The ordinary space, which belongs to the word behind it.
    Space,
    /// Tab, and spaces of other widths.
    Blank,
    LineEnd,
    /// ASCII punctuation and control characters.
    Mark,
    /// ASCII marks that are repeated to draw a line.
    Rule,
    Apostrophe,
    /// Punctuation of East Asian texts.
    WideMark,
    /// Other punctuation, arrows and signs.
    Symbol,
    /// Line drawing, which is repeated.
    Drawing,
    Emoji,
    /// Latin letter with a diacritic.
    Latin,
    Greek,
    Cyrillic,
    Hebrew,
    /// Arabic, Persian and their neighbours.
    Arabic,
    Indic,
    /// Thai, Lao, Burmese, Khmer and others that seldom separate words.
    Unspaced,
    Hangul,
    Han,
    Hiragana,
    Katakana,
    /// Accents, variation selectors and joiners.
    Combining,
    /// A letter of any other script.
    Rare,
    /// The end of the text.
    End,
}

impl Class {
    /// All classes, in the order of their numbers.
    pub(super) const ALL: [Self; 27] = [
        Self::Small,
        Self::Capital,
        Self::Digit,
        Self::Space,
        Self::Blank,
        Self::LineEnd,
        Self::Mark,
        Self::Rule,
        Self::Apostrophe,
        Self::WideMark,
        Self::Symbol,
        Self::Drawing,
        Self::Emoji,
        Self::Latin,
        Self::Greek,
        Self::Cyrillic,
        Self::Hebrew,
        Self::Arabic,
        Self::Indic,
        Self::Unspaced,
        Self::Hangul,
        Self::Han,
        Self::Hiragana,
        Self::Katakana,
        Self::Combining,
        Self::Rare,
        Self::End,
    ];

    /// Returns true for ASCII letters.
    pub(super) const fn is_ascii_letter(self) -> bool {
        matches!(self, Self::Small | Self::Capital)
    }

    /// Returns true for letters beyond ASCII.
    pub(super) const fn is_other_letter(self) -> bool {
        let number = self as u8;
        number >= Self::Latin as u8 && number <= Self::Rare as u8
    }

    /// Returns true for what small ASCII letters continue as one word.
    pub(super) const fn is_latin(self) -> bool {
        matches!(self, Self::Latin | Self::Combining)
    }

    /// Returns true for punctuation and symbols.
    pub(super) const fn is_mark(self) -> bool {
        let number = self as u8;
        number >= Self::Mark as u8 && number <= Self::Emoji as u8
    }
}

/// Classes of the ASCII characters.
static ASCII: [Class; 128] = {
    let mut classes = [Class::Mark; 128];
    let mut code = 0;
    while code < classes.len() {
        classes[code] = find_ascii(code as u8);
        code += 1;
    }
    classes
};

/// Returns the class of an ASCII character.
pub(super) fn of_ascii(byte: u8) -> Class {
    let class = ASCII.get(usize::from(byte));
    class.copied().unwrap_or(Class::Mark)
}

const fn find_ascii(byte: u8) -> Class {
    match byte {
        b'a'..=b'z' => Class::Small,
        b'A'..=b'Z' => Class::Capital,
        b'0'..=b'9' => Class::Digit,
        b' ' => Class::Space,
        b'\t' | 0x0b | 0x0c => Class::Blank,
        b'\n' | b'\r' => Class::LineEnd,
        b'-' | b'=' | b'*' | b'#' | b'_' | b'~' | b'.' | b'/' | b'+' => Class::Rule,
        b'\'' => Class::Apostrophe,
        _ => Class::Mark,
    }
}

/// Returns the class of a character beyond ASCII.
pub(super) const fn of_code(code: u32) -> Class {
    match code {
        0x85 | 0xa0 | 0x2000..=0x200a | 0x2028 | 0x2029 | 0x202f | 0x205f | 0x3000 => Class::Blank,
        0x60c | 0x61b | 0x61f | 0x66a..=0x66c | 0x6d4 => Class::Symbol,
        0xaa | 0xb5 | 0xba | 0xc0..=0xd6 | 0xd8..=0xf6 | 0xf8..=0x2ff | 0x1e00..=0x1eff => {
            Class::Latin
        }
        0x300..=0x36f | 0x200b..=0x200f | 0x2060..=0x206f | 0xfe00..=0xfe0f => Class::Combining,
        0x370..=0x3ff | 0x1f00..=0x1fff => Class::Greek,
        0x400..=0x52f => Class::Cyrillic,
        0x530..=0x5ff => Class::Hebrew,
        0x600..=0x77f | 0xfb50..=0xfdff | 0xfe70..=0xfefe => Class::Arabic,
        0x900..=0xdff => Class::Indic,
        0xe00..=0x10ff | 0x1200..=0x1dff => Class::Unspaced,
        0x1100..=0x11ff | 0xac00..=0xd7ff => Class::Hangul,
        0x2500..=0x259f => Class::Drawing,
        0x2600..=0x27bf | 0x1f000..=0x1faff => Class::Emoji,
        0x80..=0xbf | 0xd7 | 0xf7 | 0x2010..=0x2e7f => Class::Symbol,
        0x3001..=0x303f | 0xff00..=0xff65 | 0xffe0..=0xffef => Class::WideMark,
        0x3040..=0x309f => Class::Hiragana,
        0x30a0..=0x30ff | 0xff66..=0xff9f => Class::Katakana,
        0x2e80..=0x2fff | 0x3400..=0x9fff | 0xf900..=0xfaff => Class::Han,
        _ => Class::Rare,
    }
}

/// Decodes the character of several bytes at `at`, and returns its code and its length in bytes.
pub(super) fn decode(bytes: &[u8], at: usize) -> (u32, usize) {
    let byte = |offset: usize| u32::from(bytes.get(at + offset).copied().unwrap_or_default());
    let tail = |offset: usize| byte(offset) & 0x3f;
    match byte(0) {
        first @ 0xc0..=0xdf => ((first & 0x1f) << 6 | tail(1), 2),
        first @ 0xe0..=0xef => ((first & 0x0f) << 12 | tail(1) << 6 | tail(2), 3),
        first => (
            (first & 0x07) << 18 | tail(1) << 12 | tail(2) << 6 | tail(3),
            4,
        ),
    }
}
