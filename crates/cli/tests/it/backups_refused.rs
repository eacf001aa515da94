//! Backups and restorations that fail: on a full disk, of a damaged file, and onto a home that holds something. Each says
//! why, and changes nothing.

use crate::disk::{on_disk, said};
use crate::support::{hello, record, world};
use holon_testkit::World;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// Reads everything below a directory, by its path.
fn tree(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![root.to_owned()];
    while let Some(directory) = left.pop() {
        for entry in fs::read_dir(&directory).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            if kind.is_dir() {
                found.insert(format!("{name}/"), Vec::new());
                left.push(path);
            } else {
                found.insert(name, fs::read(&path).unwrap_or_default());
            }
        }
    }
    found
}

/// Makes a home without a host, and the backup `home.tar` of it.
fn backed_up(world: &World) -> Vec<u8> {
    let ran = world.run(&["run", "hi", "--model", &hello(world)]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let made = world.run(&["backup", "home.tar"]);
    assert_eq!(made.code, Some(0), "{made:?}");
    fs::read(world.path().join("home.tar")).unwrap()
}

#[test]
fn a_backup_onto_a_full_disk_fails_leaves_nothing_and_the_host_goes_on() {
    let world = world();
    let model = hello(&world);
    // The room on the disk grows until a backup succeeds, so that it runs out in every part of the work.
    let script = format!(
        "holon() {{ {} --home here \"$@\"; }}
         holon serve --port 0 --model {model} > ready 2> log & host=$!
         until grep -qs logs: ready; do kill -0 $host || {{ cat log; exit 8; }}; done
         holon run hi --agent main
         room=0; code=1
         until [ $code = 0 ]; do
             [ $room -lt 6144 ] || exit 9
             head -c $(( (6144 - room) * 1024 )) /dev/zero > small/filler
             holon --json backup small/home.tar > told 2> error; code=$?
             echo \"$code $(ls -A small | tr '\\n' ' ')$(grep -o '\"code\":\"[a-z_]*\"' error)\"
             [ $code = 0 ] || tail -n 1 error >&2
             room=$((room + 96))
         done
         holon run hi --agent main; echo after $?",
        env!("CARGO_BIN_EXE_holon")
    );
    let Some(output) = on_disk(&world, "size=6m", &script) else {
        return;
    };
    let (said, errors) = said(&output);
    let lines: Vec<&str> = said.lines().collect();
    let [first, refused @ .., done, answer, after] = lines.as_slice() else {
        panic!("{said}{errors}");
    };
    assert_eq!(
        (*first, *answer, *after),
        ("Hello there.", "Hello there.", "after 0")
    );
    assert_eq!(*done, "0 filler home.tar ", "{said}");
    assert!(refused.len() > 3, "{said}");
    for line in refused {
        assert_eq!(*line, "1 filler \"code\":\"no_space\"", "{said}{errors}");
    }
    assert_eq!(errors.lines().count(), refused.len(), "{errors}");
    for line in errors.lines() {
        assert!(line.contains("small/home.tar"), "{line}");
    }
}

#[test]
fn a_restoration_onto_a_full_disk_fails_and_leaves_nothing() {
    let world = world();
    backed_up(&world);
    let script = format!(
        "holon() {{ {} --home small/new \"$@\"; }}
         room=0; code=1
         until [ $code = 0 ]; do
             [ $room -lt 6144 ] || exit 9
             head -c $(( (6144 - room) * 1024 )) /dev/zero > small/filler
             holon --json restore home.tar > told 2> error; code=$?
             echo \"$code $(ls -A small | tr '\\n' ' ')$(grep -o '\"code\":\"[a-z_]*\"' error)\"
             [ $code = 0 ] || tail -n 1 error >&2
             room=$((room + 96))
         done
         rm small/filler
         holon run hi --model {}; echo after $?",
        env!("CARGO_BIN_EXE_holon"),
        hello(&world)
    );
    let Some(output) = on_disk(&world, "size=6m", &script) else {
        return;
    };
    let (said, errors) = said(&output);
    let lines: Vec<&str> = said.lines().collect();
    let [refused @ .., done, _, after] = lines.as_slice() else {
        panic!("{said}{errors}");
    };
    assert_eq!(
        (*done, *after),
        ("0 filler new ", "after 0"),
        "{said}{errors}"
    );
    assert!(refused.len() > 2, "{said}");
    for line in refused {
        assert_eq!(*line, "1 filler \"code\":\"no_space\"", "{said}{errors}");
    }
}

#[test]
fn half_a_backup_and_one_with_a_changed_byte_are_refused_and_the_place_stays_as_it_was() {
    let world = world();
    let whole = backed_up(&world);
    let empty = world.path().join("empty");
    fs::create_dir(&empty).unwrap();
    let flipped = |at: usize| {
        let mut changed = whole.clone();
        changed[at] ^= 1;
        changed
    };
    let find = |words: &[u8]| {
        let found = whole.windows(words.len()).position(|part| part == words);
        found.expect("is inside")
    };
    let store = find(b"SQLite format 3\0");
    let manifest = find(b"\"created_at\":\"") + 20;
    let index = find(b"\"directories\":[\"") + 18;
    for (name, content) in [
        ("half", whole[..whole.len() / 2].to_vec()),
        ("without its end", whole[..whole.len() - 2_048].to_vec()),
        ("a changed head", flipped(0)),
        ("a changed manifest", flipped(manifest)),
        ("a changed page", flipped(store + 5_000)),
        ("a changed index", flipped(index)),
        ("empty", Vec::new()),
        ("another file", b"hello".repeat(1_000)),
    ] {
        fs::write(world.path().join("bad.tar"), content).unwrap();
        for place in ["missing", "empty"] {
            let home = world.path().join(place);
            let args = [
                "--json",
                "--home",
                home.to_str().unwrap(),
                "restore",
                "bad.tar",
            ];
            let before = tree(world.path());
            let refused = world.run(&args);
            let told = record(&world, &["restore", name, place], &refused);
            assert_eq!(refused.code, Some(1), "{told}");
            assert!(refused.stderr.contains("\"invalid_backup\""), "{told}");
            assert!(refused.stderr.contains("bad.tar"), "{told}");
            assert!(tree(world.path()) == before, "{told}");
        }
    }
    let args = ["--home", empty.to_str().unwrap(), "restore", "home.tar"];
    assert_eq!(world.run(&args).code, Some(0), "the whole one is taken");
}

#[test]
fn a_home_that_holds_something_is_not_touched_by_a_restoration() {
    let world = world();
    backed_up(&world);
    world.write("other/notes.txt", "mine");
    world.write("file", "no directory");
    let before = tree(world.path());
    for (home, code) in [
        (world.home(), "home_not_empty"),
        (world.path().join("other"), "home_not_empty"),
        (world.path().join("file"), "file_failed"),
    ] {
        let home = home.to_str().unwrap();
        let refused = world.run(&["--json", "--home", home, "restore", "home.tar"]);
        let told = record(&world, &["restore"], &refused);
        assert_eq!(refused.code, Some(1), "{told}");
        assert!(refused.stderr.contains(&format!("\"{code}\"")), "{told}");
        assert!(refused.stderr.contains(home), "{told}");
        assert!(tree(world.path()) == before, "{told}");
    }
    // Nor is the home of a host at work.
    let host = world.serve(&["--model", &hello(&world)]);
    let refused = world.run(&["--json", "restore", "home.tar"]);
    assert!(refused.stderr.contains("home_not_empty"), "{refused:?}");
    assert_eq!(world.run(&["run", "hi", "--agent", "main"]).code, Some(0));
    assert_eq!(host.terminate().0, Some(0));
}
