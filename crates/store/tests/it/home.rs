//! The home: created private, refused if it is not, and owned by one process at a time.

use holon_store::{Db, Home, HomeError};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;

fn mode(path: &std::path::Path) -> u32 {
    fs::metadata(path).expect("is there").permissions().mode() & 0o777
}

#[test]
fn a_directory_for_something_else_is_no_home_and_no_part_of_one() {
    let directory = tempfile::tempdir().expect("a directory");
    let shared = directory.path().join("shared");
    fs::create_dir(&shared).expect("makes");
    fs::write(shared.join("file"), "of others").expect("writes");
    for mode in [0o755, 0o1777] {
        fs::set_permissions(&shared, Permissions::from_mode(mode)).expect("sets");
        let error = Home::open(&shared).expect_err("is refused");
        assert!(matches!(error, HomeError::NoHome { .. }), "{error:?}");
        assert!(!error.to_string().contains("chmod"), "{error}");
    }
    let home = directory.path().join("home");
    drop(Home::open(&home).expect("opens"));
    fs::remove_dir_all(home.join("run")).expect("removes");
    std::os::unix::fs::symlink(&shared, home.join("run")).expect("links");
    assert!(matches!(Home::open(&home), Err(HomeError::NoHome { .. })));
    fs::remove_file(home.join("run")).expect("removes");
    for part in [
        "run/holon.lock",
        "state/holon.sqlite3",
        "state/holon.sqlite3-shm",
    ] {
        let place = home.join(part);
        fs::remove_file(&place).ok();
        fs::create_dir_all(&place).expect("makes");
        let error = Home::open(&home).expect_err("is refused");
        assert!(
            matches!(error, HomeError::NoFile { .. }),
            "{part}: {error:?}"
        );
        fs::remove_dir(&place).expect("removes");
    }
    drop(Home::open(&home).expect("opens"));
}

#[test]
fn a_missing_home_is_made_private_with_its_parts() {
    let directory = tempfile::tempdir().expect("a directory");
    let home = Home::open(&directory.path().join("deep/home")).expect("opens");
    for path in [
        home.root().to_owned(),
        home.state_path(),
        home.run_dir(),
        home.agents_dir(),
    ] {
        assert_eq!(mode(&path), 0o700, "{}", path.display());
    }
    assert_eq!(mode(&home.run_dir().join("holon.lock")), 0o600);
    let inside =
        |path: &std::path::Path| path.strip_prefix(home.root()).expect("inside").to_owned();
    assert_eq!(
        inside(&home.db_path()).to_str(),
        Some("state/holon.sqlite3")
    );
    assert_eq!(inside(&home.socket_path()).to_str(), Some("run/holon.sock"));
    assert_eq!(
        inside(&home.token_path()).to_str(),
        Some("run/control.token")
    );
}

#[test]
fn a_home_has_one_owner_and_the_next_one_is_told_who() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("home");
    let first = Home::open(&path).expect("opens");
    match Home::open(&path) {
        Err(HomeError::Owned {
            pid,
            path: named,
            leaving,
        }) => {
            assert_eq!((pid, named), (Some(std::process::id()), path.clone()));
            assert!(!leaving);
        }
        other => panic!("a second owner: {other:?}"),
    }
    first.note_leaving();
    match Home::open(&path) {
        Err(HomeError::Owned { pid, leaving, .. }) => {
            assert_eq!((pid, leaving), (Some(std::process::id()), true));
        }
        other => panic!("a second owner: {other:?}"),
    }
    drop(first);
    assert!(path.join("run/holon.lock").exists(), "the lock file stays");
    let _again = Home::open(&path).expect("opens again");
    match Home::open(&path) {
        Err(HomeError::Owned { leaving, .. }) => assert!(!leaving, "the new owner stays"),
        other => panic!("a second owner: {other:?}"),
    }
}

#[test]
fn a_home_others_can_look_into_is_refused_with_the_command_that_mends_it() {
    let directory = tempfile::tempdir().expect("a directory");
    for loose in [0o755, 0o750, 0o701, 0o770] {
        let path = directory.path().join(format!("home-{loose:o}"));
        fs::create_dir(&path).expect("makes");
        fs::create_dir(path.join("agents")).expect("makes");
        fs::set_permissions(&path, Permissions::from_mode(loose)).expect("sets");
        let error = Home::open(&path).expect_err("is refused");
        assert!(
            matches!(error, HomeError::Loose { mode, .. } if mode == loose),
            "{error:?}"
        );
        assert!(
            error
                .to_string()
                .contains(&format!("chmod 700 {}", path.display())),
            "{error}"
        );
        assert!(!path.join("run").exists(), "nothing was made inside");
    }
}

#[test]
fn a_home_in_which_no_host_has_run_is_made_private() {
    let directory = tempfile::tempdir().expect("a directory");
    for prepared in [&[][..], &["config.toml"], &["config.toml", "scripts"]] {
        let path = directory.path().join(format!("home-{}", prepared.len()));
        fs::create_dir(&path).expect("makes");
        for name in prepared {
            fs::write(path.join(name), "").expect("writes");
        }
        fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("sets");
        let _home = Home::open(&path).expect("opens");
        let mode = fs::metadata(&path).expect("is there").permissions().mode();
        assert_eq!(mode & 0o7777, 0o700);
    }
}

#[test]
fn a_directory_of_scripts_is_no_home_and_stays_as_it_is() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("tools");
    fs::create_dir_all(path.join("scripts")).expect("makes");
    fs::set_permissions(&path, Permissions::from_mode(0o755)).expect("sets");
    let error = Home::open(&path).expect_err("is refused");
    assert!(matches!(error, HomeError::NoHome { .. }), "{error:?}");
    let mode = fs::metadata(&path).expect("is there").permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}

#[test]
fn a_home_with_agents_but_without_its_store_is_refused_with_both_ways_out() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("home");
    let home = Home::open(&path).expect("a fresh home opens");
    let (store, agents) = (home.db_path(), home.agents_dir());
    drop(home);
    fs::write(agents.join("a stray file"), "").expect("writes");
    let home = Home::open(&path).expect("there are no agents yet");
    Db::open(&store).expect("opens").close().expect("closes");
    fs::create_dir(agents.join("main")).expect("makes");
    drop(home);
    drop(Home::open(&path).expect("the store is there"));
    fs::remove_file(&store).expect("removes");
    let error = Home::open(&path).expect_err("is refused");
    assert!(matches!(error, HomeError::StoreMissing { .. }), "{error:?}");
    let text = error.to_string();
    let ways = [
        format!("Put {} back", store.display()),
        format!("move {} aside", agents.display()),
    ];
    assert!(ways.iter().all(|way| text.contains(way)), "{text}");
    assert!(!store.exists());
    fs::rename(&agents, directory.path().join("aside")).expect("moves");
    Home::open(&path).expect("starts anew");
}

#[test]
fn a_home_that_is_a_file_is_refused() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("home");
    fs::write(&path, "a file").expect("writes");
    assert!(matches!(Home::open(&path), Err(HomeError::Io { .. })));
}
