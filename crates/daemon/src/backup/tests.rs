//! Which paths belong into a backup, and what a restoration refuses.

use super::*;
use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Seek as _, SeekFrom, Write as _};

fn now() -> holon_domain::Timestamp {
    crate::wall_clock()
}

#[test]
fn only_the_store_the_settings_and_agents_files_are_backed_up() {
    for (path, expected) in [
        ("state/holon.sqlite3", true),
        ("state/images/0f", true),
        ("state/images", false),
        ("config.toml", true),
        ("agents/main/AGENTS.md", true),
        ("agents", false),
        ("agentsmith/x", false),
        ("credentials.json", false),
        ("run/control.token", false),
        ("state/tasks/main/x", false),
        ("state/holon.sqlite3-wal", false),
        ("agents/../credentials.json", false),
        ("/agents/main/x", false),
        ("agents/main/./x", true),
    ] {
        assert_eq!(is_backed_up(path), expected, "{path}");
    }
}

/// A path that does not fit the header of its entry.
fn long_path() -> String {
    format!("agents/main/{}/{}", "d".repeat(120), "f".repeat(120))
}

/// A home with a store, one agent's files, and the host's secrets.
fn home(directory: &Path) -> std::path::PathBuf {
    let home = directory.join("home");
    let opened = holon_store::Home::open(&home).expect("a home");
    let db = holon_store::Db::open(&opened.db_path()).expect("a store");
    db.close().expect("closes");
    for (path, content) in [
        ("config.toml", "# settings\n"),
        ("credentials.json", "{\"secret\":1}"),
        ("run/control.token", "secret"),
        ("agents/main/AGENTS.md", "guide"),
        ("scripts/hello.json", "{}"),
        ("state/images/0f", "bytes"),
        ("agents/main/memory/self.md", "me"),
        (long_path().as_str(), "deep"),
        ("agents/main/.holon/cache/big", "again"),
    ] {
        let path = home.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("makes");
        fs::write(path, content).expect("writes");
    }
    fs::create_dir_all(home.join("agents/main/repository/.git/refs")).expect("makes");
    std::os::unix::fs::symlink("/nowhere/skill", home.join("agents/main/skill")).expect("links");
    home
}

#[test]
fn a_restored_home_has_the_files_and_none_of_the_secrets() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = home(directory.path());
    let file = directory.path().join("a.tar");
    let made = back_up(&home, &file, now(), &|_| {}).expect("backs up");
    assert_eq!(made.left_out, []);
    let target = directory.path().join("new");
    let restored = restore(&file, &target).expect("restores");
    assert_eq!(restored.files, made.files);
    let read = |path: &str| fs::read_to_string(target.join(path)).ok();
    assert_eq!(read("agents/main/AGENTS.md").as_deref(), Some("guide"));
    assert_eq!(read("agents/main/memory/self.md").as_deref(), Some("me"));
    assert_eq!(read(&long_path()).as_deref(), Some("deep"));
    assert_eq!(read("config.toml").as_deref(), Some("# settings\n"));
    assert_eq!(read("scripts/hello.json").as_deref(), Some("{}"));
    assert_eq!(read("state/images/0f").as_deref(), Some("bytes"));
    assert_eq!(read("credentials.json"), None);
    assert_eq!(read("run/control.token"), None);
    assert_eq!(read("agents/main/.holon/cache/big"), None);
    assert!(target.join("agents/main/repository/.git/refs").is_dir());
    let link = fs::read_link(target.join("agents/main/skill")).expect("a link");
    assert_eq!(link, Path::new("/nowhere/skill"));
    let names: Vec<_> = fs::read_dir(directory.path()).expect("reads").collect();
    assert_eq!(names.len(), 3, "nothing temporary is left: {names:?}");
}

#[test]
fn a_restored_store_has_another_identity() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = home(directory.path());
    let epoch = |home: &Path| {
        let db = holon_store::Db::open(&home.join(STORE)).expect("opens");
        db.epoch().to_owned()
    };
    let before = epoch(&home);
    let file = directory.path().join("a.tar");
    back_up(&home, &file, now(), &|_| {}).expect("backs up");
    let target = directory.path().join("new");
    restore(&file, &target).expect("restores");
    assert_ne!(epoch(&target), before);
}

#[test]
fn a_backup_never_replaces_a_file_or_lies_in_the_home() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = home(directory.path());
    let taken = directory.path().join("taken");
    fs::write(&taken, "mine").expect("writes");
    let refused = |target: &Path| back_up(&home, target, now(), &|_| {}).expect_err("is refused");
    assert_eq!(refused(&taken).code(), "file_exists");
    assert_eq!(fs::read_to_string(&taken).expect("reads"), "mine");
    assert_eq!(refused(&home.join("agents/b.tar")).code(), "invalid_target");
    let empty = directory.path().join("empty");
    let no_store = back_up(&empty, &directory.path().join("b"), now(), &|_| {});
    assert_eq!(no_store.expect_err("is refused").code(), "no_store");
}

#[test]
fn half_a_backup_or_a_changed_one_restores_nothing() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = home(directory.path());
    let file = directory.path().join("a.tar");
    back_up(&home, &file, now(), &|_| {}).expect("backs up");
    let whole = fs::read(&file).expect("reads");
    let guide = whole
        .windows(5)
        .position(|part| part == b"guide")
        .expect("is inside");
    let mut changed = whole.clone();
    changed[guide] = b'G';
    let half = whole[..whole.len() / 2].to_vec();
    let headless = whole[1024..].to_vec();
    let cut_before = |path: &str| {
        let path = path.as_bytes();
        let found = whole.windows(path.len()).rposition(|part| part == path);
        whole[..found.expect("is inside")].to_vec()
    };
    let without_index = cut_before(manifest::INDEX);
    let without_seal = cut_before(manifest::SEAL);
    let target = directory.path().join("new");
    for (name, content) in [
        ("changed", changed),
        ("half", half),
        ("headless", headless),
        ("without index", without_index),
        ("without seal", without_seal),
        ("empty", Vec::new()),
        ("no tar", b"hello ".repeat(200)),
    ] {
        fs::write(&file, content).expect("writes");
        let error = restore(&file, &target).expect_err(name);
        assert_eq!(error.code(), "invalid_backup", "{name}: {error}");
        let quoted = error.to_string().contains("hello");
        assert!(!quoted && !target.exists(), "{name}: {error}");
    }
}

#[test]
fn no_changed_byte_of_a_backup_makes_another_home() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = home(directory.path());
    let file = directory.path().join("a.tar");
    back_up(&home, &file, now(), &|_| {}).expect("backs up");
    let whole = fs::read(&file).expect("reads");
    let find = |path: &str| {
        let path = path.as_bytes();
        let found = whole.windows(path.len()).position(|part| part == path);
        found.expect("is inside")
    };
    let (index, seal) = (find(manifest::INDEX), find(manifest::SEAL));
    // Heads and descriptions closely, the pages of the store here and there.
    let places = (0..1024).chain(index..seal + 1024).step_by(11);
    let places = places.chain((1024..index).step_by(40_009));
    let target = directory.path().join("new");
    let mut refused = 0;
    for place in places {
        let mut changed = whole.clone();
        changed[place] ^= 1;
        fs::write(&file, changed).expect("writes");
        match restore(&file, &target) {
            Err(error) => {
                refused += 1;
                let code = error.code();
                let is_clear = code == "invalid_backup" || code == "newer_backup";
                assert!(is_clear && !target.exists(), "{place}: {error}");
            }
            // Bytes between two entries belong to neither.
            Ok(_) => {
                assert_eq!(whole[place], 0, "{place}");
                fs::remove_dir_all(&target).expect("removes");
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

#[test]
fn a_backup_of_the_first_format_is_restored_without_a_seal() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = home(directory.path());
    let file = directory.path().join("a.tar");
    back_up(&home, &file, now(), &|_| {}).expect("backs up");
    let first = directory.path().join("first.tar");
    let mut read = tar::Archive::new(File::open(&file).expect("opens"));
    let mut out = tar::Builder::new(File::create(&first).expect("creates"));
    for entry in read.entries().expect("reads") {
        let mut entry = entry.expect("reads");
        let path = entry.path().expect("a path").into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("reads");
        if path == Path::new(manifest::SEAL) {
            continue;
        }
        if path == Path::new(manifest::MANIFEST) {
            let text = String::from_utf8(content).expect("text");
            content = text.replace(r#""format":2"#, r#""format":1"#).into_bytes();
        }
        let mut header = entry.header().clone();
        header.set_size(content.len() as u64);
        out.append_data(&mut header, path, content.as_slice())
            .expect("adds");
    }
    out.finish().expect("ends");
    let target = directory.path().join("new");
    restore(&first, &target).expect("restores");
    assert!(target.join("agents/main/AGENTS.md").exists());
}

/// Writes a tar file with these entries behind a valid manifest.
fn hostile(path: &Path, entries: &[(&str, tar::EntryType)]) {
    let mut out = tar::Builder::new(File::create(path).expect("creates"));
    let manifest = r#"{"format":1,"created_at":"2026-01-01T00:00:00Z","holon_version":"0","schema_version":1,"epoch":"e","agents":0}"#;
    let mut add = |name: &str, kind, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(content.len() as u64);
        header.set_mode(0o600);
        let bytes = header.as_gnu_mut().expect("gnu");
        (&mut bytes.name[..])
            .write_all(name.as_bytes())
            .expect("fits");
        header.set_cksum();
        out.append(&header, content).expect("adds");
    };
    add(
        "holon-backup.json",
        tar::EntryType::Regular,
        manifest.as_bytes(),
    );
    for (name, kind) in entries {
        add(name, *kind, b"");
    }
    out.finish().expect("ends");
}

#[test]
fn a_hostile_backup_writes_nothing_outside_of_the_new_home() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.tar");
    let target = directory.path().join("new");
    for (name, kind) in [
        ("../escaped", tar::EntryType::Regular),
        ("/tmp/holon-escaped", tar::EntryType::Regular),
        ("agents/../../escaped", tar::EntryType::Regular),
        ("credentials.json", tar::EntryType::Regular),
        ("run/control.token", tar::EntryType::Regular),
        ("agents/main/link", tar::EntryType::Symlink),
        ("agents/main/pipe", tar::EntryType::Fifo),
    ] {
        hostile(&file, &[(name, kind)]);
        let error = restore(&file, &target).expect_err(name);
        assert_eq!(error.code(), "invalid_backup", "{name}: {error}");
        assert!(
            !target.exists() && !directory.path().join("escaped").exists(),
            "{name}"
        );
    }
}

#[test]
fn a_header_of_a_long_path_is_read_in_part_only() {
    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("a.tar");
    for kind in [
        tar::EntryType::GNULongName,
        tar::EntryType::GNULongLink,
        tar::EntryType::XHeader,
    ] {
        hostile(&file, &[]);
        // Two blocks of zeros end the archive. The header in their place states three gigabytes, which are a hole.
        let mut out = OpenOptions::new().write(true).open(&file).expect("opens");
        out.seek(SeekFrom::End(-1024)).expect("seeks");
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(3 << 30);
        header.set_cksum();
        out.write_all(header.as_bytes()).expect("writes");
        out.set_len(4 << 30).expect("grows");
        let error = restore(&file, &directory.path().join("new")).expect_err("is refused");
        assert_eq!(error.code(), "invalid_backup", "{error}");
        let text = error.to_string();
        let expected = ["a path in it is too long", "is not a regular file"];
        assert!(expected.iter().any(|words| text.contains(words)), "{text}");
    }
}

#[test]
fn what_a_crash_left_is_removed_by_the_next_one_and_what_is_in_use_stays() {
    let directory = tempfile::tempdir().expect("a directory");
    let used = staging::Staging::create(directory.path(), "backup").expect("creates");
    let left = directory.path().join(".holon-backup-0123456789abcdef");
    let other = directory.path().join(".holon-restore-0123456789abcdef");
    for path in [&left, &other] {
        fs::create_dir(path).expect("makes");
        fs::write(path.join("store"), "half").expect("writes");
    }
    let next = staging::Staging::create(directory.path(), "backup").expect("creates");
    assert!(used.root().exists() && next.root().exists() && other.exists());
    assert!(!left.exists());
}

#[test]
fn a_home_that_holds_something_is_left_alone() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = home(directory.path());
    let file = directory.path().join("a.tar");
    back_up(&home, &file, now(), &|_| {}).expect("backs up");
    let error = restore(&file, &home).expect_err("is refused");
    assert_eq!(error.code(), "home_not_empty");
    let empty = directory.path().join("empty");
    fs::create_dir(&empty).expect("makes");
    restore(&file, &empty).expect("an empty directory is taken");
    assert!(empty.join(STORE).exists());
}
