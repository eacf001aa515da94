//! The sequences that keys send: those of xterm and of the terminals that follow it.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

const ESCAPE: u8 = 0x1b;

/// Modifiers by their bit in the number that a sequence states, which is one more.
const MODIFIERS: [(u8, KeyModifiers); 6] = [
    (1, KeyModifiers::SHIFT),
    (2, KeyModifiers::ALT),
    (4, KeyModifiers::CONTROL),
    (8, KeyModifiers::SUPER),
    (16, KeyModifiers::HYPER),
    (32, KeyModifiers::META),
];

/// What bytes of a terminal are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Parsed {
    Key(KeyEvent),
    PasteBegins,
    /// They are the beginning of something.
    Unfinished,
    /// They are nothing that the console knows.
    Unknown,
}

impl Parsed {
    fn key(code: KeyCode) -> Self {
        Self::Key(KeyEvent::new(code, KeyModifiers::NONE))
    }
}

/// Parses the bytes since the last key. `more` is true if others follow at once: an escape alone is a key otherwise.
pub(super) fn parse(bytes: &[u8], more: bool) -> Parsed {
    match bytes {
        [] => Parsed::Unfinished,
        [ESCAPE] if more => Parsed::Unfinished,
        [ESCAPE] | [ESCAPE, ESCAPE, ..] => Parsed::key(KeyCode::Esc),
        [ESCAPE, b'O', rest @ ..] => application_key(rest),
        [ESCAPE, b'[', rest @ ..] => control_sequence(rest),
        [ESCAPE, rest @ ..] => match parse(rest, more) {
            Parsed::Key(key) => {
                let modifiers = key.modifiers | KeyModifiers::ALT;
                Parsed::Key(KeyEvent::new(key.code, modifiers))
            }
            other => other,
        },
        [byte, ..] => match single_key(*byte) {
            Some((code, modifiers)) => Parsed::Key(KeyEvent::new(code, modifiers)),
            None => character(bytes),
        },
    }
}

/// Returns the key of a byte below the printable characters, and of the one that erases.
fn single_key(byte: u8) -> Option<(KeyCode, KeyModifiers)> {
    let control = |base: u8| KeyCode::Char(char::from(base));
    Some(match byte {
        b'\r' => (KeyCode::Enter, KeyModifiers::NONE),
        b'\t' => (KeyCode::Tab, KeyModifiers::NONE),
        0x7f => (KeyCode::Backspace, KeyModifiers::NONE),
        0 => (KeyCode::Char(' '), KeyModifiers::CONTROL),
        0x01..=0x1a => (control(byte - 1 + b'a'), KeyModifiers::CONTROL),
        0x1c..=0x1f => (control(byte - 0x1c + b'4'), KeyModifiers::CONTROL),
        _ => return None,
    })
}

fn character(bytes: &[u8]) -> Parsed {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.chars().next().map_or(Parsed::Unknown, |letter| {
            Parsed::Key(typed(letter, KeyModifiers::NONE))
        }),
        Err(error) if error.error_len().is_none() => Parsed::Unfinished,
        Err(_) => Parsed::Unknown,
    }
}

fn typed(letter: char, modifiers: KeyModifiers) -> KeyEvent {
    let shift = match letter.is_uppercase() {
        true => KeyModifiers::SHIFT,
        false => KeyModifiers::NONE,
    };
    KeyEvent::new(KeyCode::Char(letter), modifiers | shift)
}

/// Parses a key of a keypad in its application mode, after `ESC O`.
fn application_key(rest: &[u8]) -> Parsed {
    match rest {
        [] => Parsed::Unfinished,
        [last, ..] => named(*last).map_or(Parsed::Unknown, Parsed::key),
    }
}

/// Parses a sequence after `ESC [`: parameters, then a byte that ends it.
fn control_sequence(rest: &[u8]) -> Parsed {
    match rest {
        // Keys of a Linux console, and a report of a mouse, which carries three bytes more.
        [b'['] | [b'M'] | [b'M', _] | [b'M', _, _] => return Parsed::Unfinished,
        [b'[', letter @ b'A'..=b'E'] => return Parsed::key(KeyCode::F(1 + letter - b'A')),
        [b'[' | b'M', ..] => return Parsed::Unknown,
        _ => {}
    }
    let Some((last, parameters)) = rest.split_last() else {
        return Parsed::Unfinished;
    };
    let is_inside = |byte: u8| (0x20..=0x3f).contains(&byte);
    match *last {
        byte if is_inside(byte) => Parsed::Unfinished,
        0x40..=0x7e => ended_sequence(parameters, *last),
        _ => Parsed::Unknown,
    }
}

fn ended_sequence(parameters: &[u8], last: u8) -> Parsed {
    let Ok(parameters) = std::str::from_utf8(parameters) else {
        return Parsed::Unknown;
    };
    let mut fields = parameters.split(';');
    let first = fields.next().unwrap_or_default();
    let (modifiers, kind) = held_keys(fields.next().unwrap_or_default());
    // A key may come with others that it stands for.
    let number = first.split(':').next().unwrap_or_default().parse::<u32>();
    let code = match (last, number) {
        (b'~', Ok(200)) => return Parsed::PasteBegins,
        (b'~', Ok(number)) => numbered(number),
        (b'u', Ok(number)) => return encoded(number, modifiers, kind),
        (b'Z', _) => {
            return Parsed::Key(KeyEvent::new(KeyCode::BackTab, KeyModifiers::SHIFT));
        }
        // The position of a cursor ends like a key.
        (b'R', Ok(_)) => None,
        (b'A'..=b'D' | b'F' | b'H' | b'P'..=b'S', _) => named(last),
        _ => None,
    };
    code.map_or(Parsed::Unknown, |code| {
        Parsed::Key(KeyEvent::new_with_kind(code, modifiers, kind))
    })
}

/// Returns the key that a letter names in several kinds of sequences.
const fn named(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'F' => KeyCode::End,
        b'H' => KeyCode::Home,
        b'P'..=b'S' => KeyCode::F(1 + letter - b'P'),
        _ => return None,
    })
}

fn numbered(number: u32) -> Option<KeyCode> {
    let function = |first: u32, base: u8| {
        let offset = u8::try_from(number - first).unwrap_or(0);
        KeyCode::F(base + offset)
    };
    Some(match number {
        1 | 7 => KeyCode::Home,
        2 => KeyCode::Insert,
        3 => KeyCode::Delete,
        4 | 8 => KeyCode::End,
        5 => KeyCode::PageUp,
        6 => KeyCode::PageDown,
        11..=15 => function(11, 1),
        17..=21 => function(17, 6),
        23..=26 => function(23, 11),
        28..=29 => function(28, 15),
        31..=34 => function(31, 17),
        _ => return None,
    })
}

/// Returns the key that a sequence names by the number of its character.
fn encoded(number: u32, modifiers: KeyModifiers, kind: KeyEventKind) -> Parsed {
    let code = match char::from_u32(number) {
        Some('\u{1b}') => KeyCode::Esc,
        Some('\r') => KeyCode::Enter,
        Some('\t') if modifiers.contains(KeyModifiers::SHIFT) => KeyCode::BackTab,
        Some('\t') => KeyCode::Tab,
        Some('\u{7f}') => KeyCode::Backspace,
        // Keys without a character have numbers of a range for private use.
        Some('\u{e000}'..='\u{f8ff}') | None => return Parsed::Unknown,
        Some(letter) => typed(letter, modifiers).code,
    };
    Parsed::Key(KeyEvent::new_with_kind(code, modifiers, kind))
}

/// Parses the modifiers of a sequence and whether its key was pressed, repeated or let go.
fn held_keys(field: &str) -> (KeyModifiers, KeyEventKind) {
    let mut parts = field.split(':');
    let mask: u8 = parts.next().unwrap_or_default().parse().unwrap_or(1);
    let bits = mask.saturating_sub(1);
    let held = MODIFIERS.iter().filter(|(bit, _)| bits & bit != 0);
    let modifiers = held.fold(KeyModifiers::NONE, |all, (_, one)| all | *one);
    let kind = match parts.next() {
        Some("2") => KeyEventKind::Repeat,
        Some("3") => KeyEventKind::Release,
        Some(_) | None => KeyEventKind::Press,
    };
    (modifiers, kind)
}
