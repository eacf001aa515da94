//! Tests of keys and pastes as bytes.

use super::*;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

const MOMENT: Duration = Duration::from_millis(1);

fn chunk(bytes: &[u8], silence: Duration) -> Chunk<'_> {
    Chunk {
        bytes,
        is_full: false,
        silence,
    }
}

/// Names what was read: keys by their code and modifiers, pastes by their text.
fn names(found: Vec<Msg>) -> Vec<String> {
    let name = |message: Msg| match message {
        Msg::Key(KeyEvent {
            code, modifiers, ..
        }) => match modifiers {
            KeyModifiers::NONE => format!("{code}"),
            held => format!("{held}+{code}"),
        },
        Msg::Paste(text) => format!("paste {text:?}"),
        other => format!("{other:?}"),
    };
    found.into_iter().map(name).collect()
}

fn read(keys: &mut Keys, bytes: &[u8], silence: Duration) -> Vec<String> {
    names(keys.take(chunk(bytes, silence)))
}

#[test]
fn keys_are_what_terminals_send_for_them() {
    let key = |code, modifiers| names(vec![Msg::Key(KeyEvent::new(code, modifiers))]);
    let none = KeyModifiers::NONE;
    let control = KeyModifiers::CONTROL;
    let cases: [(&[u8], KeyCode, KeyModifiers); 27] = [
        (b"a", KeyCode::Char('a'), none),
        (b"A", KeyCode::Char('A'), KeyModifiers::SHIFT),
        ("é".as_bytes(), KeyCode::Char('é'), none),
        ("漢".as_bytes(), KeyCode::Char('漢'), none),
        (b"\r", KeyCode::Enter, none),
        (b"\n", KeyCode::Char('j'), control),
        (b"\t", KeyCode::Tab, none),
        (b"\x7f", KeyCode::Backspace, none),
        (b"\x03", KeyCode::Char('c'), control),
        (b"\0", KeyCode::Char(' '), control),
        (b"\x1b", KeyCode::Esc, none),
        (b"\x1b\r", KeyCode::Enter, KeyModifiers::ALT),
        (b"\x1bb", KeyCode::Char('b'), KeyModifiers::ALT),
        (b"\x1b[A", KeyCode::Up, none),
        (b"\x1bOB", KeyCode::Down, none),
        (b"\x1b[1;5C", KeyCode::Right, control),
        (b"\x1b[1;5H", KeyCode::Home, control),
        (b"\x1b[H", KeyCode::Home, none),
        (b"\x1b[4~", KeyCode::End, none),
        (b"\x1b[3~", KeyCode::Delete, none),
        (b"\x1b[5~", KeyCode::PageUp, none),
        (b"\x1b[6;5~", KeyCode::PageDown, control),
        (b"\x1b[Z", KeyCode::BackTab, KeyModifiers::SHIFT),
        (b"\x1b[15~", KeyCode::F(5), none),
        (b"\x1b[[A", KeyCode::F(1), none),
        (b"\x1b[13;2u", KeyCode::Enter, KeyModifiers::SHIFT),
        (b"\x1b[99;5u", KeyCode::Char('c'), control),
    ];
    for (bytes, code, modifiers) in cases {
        let mut keys = Keys::default();
        assert_eq!(
            read(&mut keys, bytes, MOMENT),
            key(code, modifiers),
            "{bytes:?}"
        );
        // The bytes before the last one are no key by themselves, except where an escape is one.
        let (last, before) = bytes.split_last().expect("bytes");
        let mut keys = Keys::default();
        let first = Chunk {
            is_full: true,
            ..chunk(before, MOMENT)
        };
        assert_eq!(names(keys.take(first)), [""; 0], "{bytes:?}");
        assert_eq!(
            read(&mut keys, &[*last], MOMENT),
            key(code, modifiers),
            "{bytes:?}"
        );
    }
}

#[test]
fn what_is_no_key_is_passed_over_and_the_next_key_counts() {
    for bytes in [
        b"\x1b[I".as_slice(),
        b"\x1b[12;40R",
        b"\x1b[?62;4c",
        b"\x1b[<0;3;4M",
        b"\x1b[M !!",
        b"\x1b[201~",
        b"\x1b[999~",
        b"\x1bOx",
        b"\xff",
    ] {
        let mut keys = Keys::default();
        let with_key = [bytes, b"k"].concat();
        assert_eq!(read(&mut keys, &with_key, MOMENT), ["k"], "{bytes:?}");
    }
    let mut keys = Keys::default();
    assert_eq!(read(&mut keys, b"\x1b[1;", MOMENT), [""; 0]);
    let after_silence = read(&mut keys, b"k", SILENCE);
    assert_eq!(after_silence, ["k"], "the rest of a sequence was lost");
    let long = [b"\x1b[".as_slice(), &[b'1'; 100]].concat();
    assert_eq!(read(&mut keys, &long, MOMENT).len(), 100 - 62);
}

#[test]
fn a_paste_is_one_text_in_however_many_pieces_it_comes() {
    let whole = "\u{1b}[200~one\r\ntwo \u{e9}\u{1b}[A\u{1b}[201~k".as_bytes();
    for size in 1..whole.len() {
        let mut keys = Keys::default();
        let pieces = whole.chunks(size);
        let found: Vec<String> = pieces
            .flat_map(|piece| {
                let piece = Chunk {
                    is_full: true,
                    ..chunk(piece, MOMENT)
                };
                names(keys.take(piece))
            })
            .collect();
        let pasted = format!("paste {:?}", "one\r\ntwo \u{e9}\u{1b}[A");
        assert_eq!(found, [pasted, "k".to_owned()], "{size}");
    }
}

#[test]
fn a_lost_end_of_a_paste_gives_the_keyboard_back_to_the_next_key_after_a_silence() {
    let mut keys = Keys::default();
    assert_eq!(read(&mut keys, b"\x1b[200~one\rtwo", MOMENT), [""; 0]);
    let shown = keys.flush().map(|text| names(vec![text]));
    assert_eq!(shown, Some(vec![r#"paste "one\rtwo""#.to_owned()]));
    assert!(keys.flush().is_none(), "it is shown once");
    assert_eq!(read(&mut keys, b"\x1b[A", SILENCE), ["Up"]);
    assert_eq!(read(&mut keys, b"\r", MOMENT), ["Enter"]);
    // An interrupt counts at once.
    read(&mut keys, b"\x1b[200~one", MOMENT);
    let found = read(&mut keys, b"\x03", MOMENT);
    assert_eq!(found, [r#"paste "one""#, "Control+c"]);
}

#[test]
fn a_paste_that_comes_in_spurts_stays_a_paste() {
    let mut keys = Keys::default();
    read(&mut keys, "\u{1b}[200~one\r\u{6f22}".as_bytes(), MOMENT);
    // A part of a character and a part of the end wait for the rest.
    read(&mut keys, &"\u{5b57}".as_bytes()[..2], MOMENT);
    let shown = keys.flush().map(|text| names(vec![text]));
    assert_eq!(shown, Some(vec![r#"paste "one\r漢""#.to_owned()]));
    let late = [&"\u{5b57}".as_bytes()[2..], b"\rthree\rfour five\x1b[20"].concat();
    assert_eq!(read(&mut keys, &late, SILENCE), [""; 0]);
    let shown = keys.flush().map(|text| names(vec![text]));
    let expected = r#"paste "字\rthree\rfour five""#.to_owned();
    assert_eq!(shown, Some(vec![expected]));
    assert_eq!(read(&mut keys, b"1~", SILENCE), [""; 0], "its end");
    assert_eq!(read(&mut keys, b"\r", MOMENT), ["Enter"]);
}

#[test]
fn a_paste_without_end_is_passed_on_in_pieces() {
    let mut keys = Keys::default();
    read(&mut keys, b"\x1b[200~", MOMENT);
    let found = keys.take(chunk(&vec![b'x'; PASTE_BYTES + 1], MOMENT));
    let [Msg::Paste(piece)] = found.as_slice() else {
        panic!("one piece: {}", found.len());
    };
    assert_eq!(piece.len(), PASTE_BYTES);
    assert!(matches!(keys.flush(), Some(Msg::Paste(rest)) if rest == "x"));
}
