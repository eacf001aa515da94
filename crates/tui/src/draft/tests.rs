//! Editing by whole characters, pastes, and the layout of a draft.

use super::*;

fn typed(text: &str) -> Draft {
    Draft::of(text)
}

#[test]
fn editing_moves_by_whole_characters() {
    let mut draft = typed("a👩‍👩‍👧é漢");
    draft.left();
    draft.left();
    draft.backspace();
    assert_eq!(draft.text(), "aé漢");
    draft.delete();
    assert_eq!(draft.text(), "a漢");
    draft.home();
    draft.left();
    draft.right();
    draft.insert("b");
    assert_eq!(draft.text(), "ab漢");
    draft.end();
    draft.right();
    draft.delete();
    assert_eq!(draft.take(), "ab漢");
    assert!(draft.is_empty());
}

#[test]
fn words_and_lines_are_removed_as_in_a_shell() {
    let mut draft = typed("one two  three");
    draft.remove_word();
    assert_eq!(draft.text(), "one two  ");
    draft.remove_word();
    assert_eq!(draft.text(), "one ");
    draft.insert("x\nyy zz");
    draft.word_left();
    draft.remove_to_end();
    assert_eq!(draft.text(), "one x\nyy ");
    draft.remove_to_start();
    assert_eq!(draft.text(), "one x\n");
    draft.backspace();
    draft.home();
    draft.word_right();
    draft.insert("!");
    assert_eq!(draft.text(), "one! x");
}

#[test]
fn up_and_down_keep_the_column_and_report_the_ends() {
    let mut draft = typed("abcd\nx\nefgh");
    assert!(!draft.down());
    assert!(draft.up());
    assert!(draft.up());
    draft.insert("|");
    assert_eq!(draft.text(), "a|bcd\nx\nefgh");
    assert!(!draft.up());
    assert!(draft.down());
}

#[test]
fn a_long_paste_is_a_token_and_is_sent_whole() {
    let mut draft = typed("see ");
    let log = "line\r\n".repeat(1_000);
    assert_eq!(draft.paste(&log), 0);
    assert_eq!(draft.text(), "see [paste 1: 5000 bytes, 1000 lines]");
    draft.insert(" and");
    let mut again = draft.clone();
    assert_eq!(draft.take(), format!("see {} and", log.replace('\r', "")));
    for _ in 0..5 {
        again.backspace();
    }
    assert_eq!(again.text(), "see ", "a token goes as one character");
    assert_eq!(again.take(), "see ");
}

#[test]
fn a_paste_of_ten_megabytes_is_bounded_and_says_how_much_is_left_out() {
    let mut draft = Draft::default();
    let cut = draft.paste(&"x".repeat(10 << 20));
    assert!(draft.text().len() < 100);
    let sent = draft.take();
    assert_eq!(sent.len() + cut, 10 << 20);
    assert!(sent.len() <= MAX_BYTES);
    assert!(cut > 0);
}

#[test]
fn a_backslash_at_the_end_continues_the_line() {
    let mut draft = typed("one\\");
    assert!(draft.continue_line());
    assert_eq!(draft.text(), "one\n");
    assert!(!draft.continue_line());
}

#[test]
fn the_layout_breaks_between_wide_characters_and_places_the_cursor() {
    let draft = typed("漢字仮\nab");
    let laid = draft.layout(6);
    assert_eq!(laid.lines, ["漢字", "仮", "ab"]);
    assert_eq!(laid.cursor, (2, 2));
    let mut draft = typed("abcdef\u{1b}");
    assert_eq!(draft.layout(4).lines, ["abc", "def", "␛"]);
    draft.home();
    assert_eq!(draft.layout(4).cursor, (0, 0));
    assert_eq!(typed("").layout(0).lines, [""]);
}

#[test]
fn what_a_script_or_an_emoji_needs_is_shown_as_it_is_typed() {
    for (text, shown) in [
        ("می\u{200c}خواهم", "می\u{200c}خواهم"),
        ("क\u{94d}\u{200d}ष", "क\u{94d}\u{200d}ष"),
        ("👩\u{200d}💻 ❤\u{fe0f}", "👩\u{200d}💻 ❤\u{fe0f}"),
        ("pass\u{200c}word", "pass\u{fffd}word"),
        ("می\u{200c}", "می\u{fffd}"),
        ("❤\u{fe0f}a\tb", "❤\u{fffd}a    b"),
    ] {
        assert_eq!(typed(text).layout(80).lines, [shown], "{text:?}");
    }
    let laid = typed("ab\tمی\u{200c}خواهم").layout(8);
    assert_eq!(laid.lines, ["ab    م", "ی\u{200c}خواهم"]);
    assert_eq!(laid.cursor, (1, 6));
}

#[test]
fn up_and_down_keep_the_column_of_wide_characters() {
    let mut draft = typed("漢字仮\nabcd");
    assert!(draft.up());
    draft.insert("|");
    assert_eq!(draft.text(), "漢字|仮\nabcd");
    assert!(draft.down());
    draft.insert("|");
    assert_eq!(draft.text(), "漢字|仮\nabcd|");
}

#[test]
fn the_token_of_a_paste_is_one_character() {
    let log = "line\n".repeat(1_000);
    let pasted = || {
        let mut draft = typed("see ");
        draft.paste(&log);
        draft.insert(" end");
        draft
    };
    let whole = format!("see {log} end");
    type Edit = fn(&mut Draft);
    let table: [(&str, Edit, String); 8] = [
        (
            "left over the token",
            |draft| (0..5).for_each(|_| draft.left()),
            format!("see |{log} end"),
        ),
        (
            "left and right",
            |draft| {
                (0..5).for_each(|_| draft.left());
                draft.right();
            },
            format!("see {log}| end"),
        ),
        (
            "words to the left",
            |draft| {
                draft.word_left();
                draft.word_left();
            },
            format!("see |{log} end"),
        ),
        (
            "words to the right",
            |draft| {
                draft.home();
                draft.word_right();
                draft.word_right();
            },
            format!("see {log}| end"),
        ),
        (
            "delete",
            |draft| {
                (0..5).for_each(|_| draft.left());
                draft.delete();
            },
            "see | end".to_owned(),
        ),
        (
            "remove the word",
            |draft| {
                (0..4).for_each(|_| draft.left());
                draft.remove_word();
            },
            "see | end".to_owned(),
        ),
        (
            "remove the word after it",
            Draft::remove_word,
            format!("see {log} |"),
        ),
        (
            "remove to the end",
            |draft| {
                (0..5).for_each(|_| draft.left());
                draft.remove_to_end();
            },
            "see |".to_owned(),
        ),
    ];
    assert_eq!(pasted().take(), whole);
    for (name, edit, expected) in table {
        let mut draft = pasted();
        edit(&mut draft);
        draft.insert("|");
        assert_eq!(draft.take(), expected, "{name}");
    }
}

#[test]
fn a_text_that_looks_like_a_token_is_no_paste() {
    let mut draft = Draft::default();
    let log = "line\n".repeat(1_000);
    draft.paste(&log);
    let token = draft.text().to_owned();
    draft.home();
    draft.insert(&token);
    assert_eq!(draft.take(), format!("{token}{log}"));
}
