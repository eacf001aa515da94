//! A store that is removed under a running host: from then on the host acknowledges nothing, and it ends.

use crate::support::{silent, until, wait_for_status, world};
use holon_testkit::{HostProcess, World};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// Response of a host to a prompt.
#[derive(Debug)]
struct Answer {
    status: u16,
    body: Value,
}

impl Answer {
    /// Returns the message's id, if it was acknowledged.
    fn taken(&self) -> Option<String> {
        let is_taken = (200..300).contains(&self.status);
        is_taken.then(|| self.body["message_id"].as_str().unwrap().to_owned())
    }
}

/// A client that knows the host's address and token, independent of the files.
#[derive(Clone)]
struct Caller {
    addr: String,
    token: String,
}

impl Caller {
    fn of(world: &World, served: &HostProcess) -> Self {
        let token = fs::read_to_string(world.home().join("run/control.token")).unwrap();
        Self {
            addr: served.addr.clone(),
            token: token.trim().to_owned(),
        }
    }

    /// Sends a prompt; `None` if the host is gone.
    fn prompt(&self, text: &str) -> Option<Answer> {
        let body = serde_json::json!({ "text": text }).to_string();
        let request = format!(
            "POST /control/agents/main/prompt HTTP/1.1\r\nHost: localhost\r\n\
             Authorization: Bearer {}\r\nContent-Type: application/json\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.token,
            body.len()
        );
        let mut stream = TcpStream::connect(&self.addr).ok()?;
        stream.write_all(request.as_bytes()).ok()?;
        let mut said = String::new();
        stream.read_to_string(&mut said).ok()?;
        let (head, body) = said.split_once("\r\n\r\n")?;
        Some(Answer {
            status: head.split(' ').nth(1)?.parse().ok()?,
            body: serde_json::from_str(body).ok()?,
        })
    }
}

/// Counts the messages that the store in the home does not hold. No process has it open, and its log is empty.
fn missing(world: &World, ids: &[String]) -> usize {
    let wal = fs::metadata(world.home().join("state/holon.sqlite3-wal"));
    assert!(wal.map_or(true, |wal| wal.len() == 0), "it was closed");
    let file = fs::read(world.home().join("state/holon.sqlite3")).unwrap();
    let found = |id: &str| file.windows(id.len()).any(|bytes| bytes == id.as_bytes());
    ids.iter().filter(|id| !found(id)).count()
}

/// Starts a host on the existing store, stops it, and asserts that none of these messages is missing.
fn assert_kept(world: &World, ids: &[String]) {
    let again = world.serve(&["--model", &silent(world)]);
    let (code, log) = again.terminate();
    assert_eq!(code, Some(0), "{log}");
    assert_eq!(missing(world, ids), 0, "of {}", ids.len());
}

fn hosted(world: &World) -> (HostProcess, Caller) {
    let served = world.serve(&["--model", &silent(world)]);
    let caller = Caller::of(world, &served);
    // Once the agent is prepared, only what a test sends makes the host write.
    until("the agent is prepared", || {
        !world.run(&["status"]).answer().contains("booting")
    });
    (served, caller)
}

/// Asserts that the host ended because of this file, and says so.
fn assert_ended(mut served: HostProcess, path: &Path, fate: &str) {
    let (code, log) = served.wait();
    assert_eq!(code, Some(1), "{log}");
    let words = format!("the store is no longer there: {} {fate}", path.display());
    assert!(log.contains(&format!("error: {words}")), "{words}: {log}");
    assert!(log.contains("next: "), "{log}");
}

#[test]
fn a_host_whose_store_loses_a_file_acknowledges_nothing_more_and_ends() {
    for name in [
        "state/holon.sqlite3",
        "state/holon.sqlite3-wal",
        "state/holon.sqlite3-shm",
        "run/holon.lock",
    ] {
        let world = world();
        let (served, caller) = hosted(&world);
        let path = world.home().join(name);
        let one = caller.prompt("one").unwrap().taken().unwrap();
        fs::remove_file(&path).unwrap();
        let refused = caller.prompt("two").unwrap();
        assert_eq!(refused.status, 500, "{name}: {refused:?}");
        assert_eq!(refused.body["code"], "store_lost", "{name}: {refused:?}");
        let said = refused.body["error"].as_str().unwrap();
        assert!(said.contains(path.to_str().unwrap()), "{said}");
        assert_ended(served, &path, "was deleted");
        if name != "state/holon.sqlite3" {
            assert_kept(&world, &[one]);
        }
    }
}

#[test]
fn a_run_that_is_waited_for_ends_with_the_store_of_its_host() {
    let world = world();
    let (served, _) = hosted(&world);
    let mut command = world.command();
    command.args(["run", "hi", "--agent", "main"]);
    let command = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let run = command.spawn().unwrap();
    wait_for_status(&world, "awake_running");
    let lock = world.home().join("run/holon.lock");
    fs::remove_file(&lock).unwrap();
    let ended = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    let words = format!("{} was deleted", lock.display());
    assert!(
        said.contains(&words) && said.contains("next: put the store back"),
        "{said}"
    );
    assert_ended(served, &lock, "was deleted");
}

#[test]
fn a_run_without_a_host_ends_with_its_store() {
    let world = world();
    let model = silent(&world);
    let mut command = world.command();
    command.args(["run", "hi", "--model", &model]);
    let run = command.stderr(Stdio::piped()).spawn().unwrap();
    let lock = world.home().join("run/holon.lock");
    until("the run holds the store", || {
        world.home().join("state/holon.sqlite3-held").exists()
    });
    fs::remove_file(&lock).unwrap();
    let ended = run.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert_eq!(ended.status.code(), Some(1), "{said}");
    assert!(said.contains("the store is no longer there"), "{said}");
}

#[test]
fn a_host_without_work_notices_that_its_home_was_moved_and_leaves_what_took_its_place_alone() {
    let world = world();
    let (mut served, caller) = hosted(&world);
    let one = caller.prompt("one").unwrap().taken().unwrap();
    let away = world.path().join("away");
    fs::rename(world.home(), &away).unwrap();
    fs::create_dir_all(world.home().join("run")).unwrap();
    let other = world.write("holon/run/daemon.json", "another host's");
    let (code, log) = served.wait();
    assert_eq!(code, Some(1), "{log}");
    let moved = format!("was moved to {}", away.join("run/holon.lock").display());
    assert!(log.contains(&moved), "{log}");
    assert_eq!(fs::read_to_string(other).unwrap(), "another host's");
    fs::remove_dir_all(world.home()).unwrap();
    fs::rename(&away, world.home()).unwrap();
    assert_kept(&world, &[one]);
}

#[test]
fn a_host_whose_home_or_run_directory_is_deleted_ends_by_itself() {
    for name in ["", "run", "state"] {
        let world = world();
        let (served, caller) = hosted(&world);
        assert!(caller.prompt("one").unwrap().taken().is_some());
        let gone = world.home().join(name);
        // The agent's current work may create a file while its directory is removed.
        until("the directory is gone", || {
            fs::remove_dir_all(&gone).is_ok()
        });
        let lost = match name {
            "state" => "state/holon.sqlite3",
            _ => "run/holon.lock",
        };
        assert_ended(served, &world.home().join(lost), "was deleted");
        for made in ["holon.lock", "state", "holon.sqlite3"] {
            assert!(!gone.join(made).exists(), "{name}: {made}");
        }
    }
}

#[test]
fn a_second_host_does_not_start_because_the_lock_file_of_the_first_was_deleted() {
    let world = world();
    let (mut served, _) = hosted(&world);
    // It cannot notice before the second host has tried.
    served.signal(Signal::STOP);
    fs::remove_file(world.home().join("run/holon.lock")).unwrap();
    let second = world.run(&["serve", "--port", "0"]);
    assert_eq!(second.code, Some(1), "{second:?}");
    assert!(second.stderr.contains("already runs on"), "{second:?}");
    served.signal(Signal::CONT);
    assert_eq!(served.wait().0, Some(1));
}

#[test]
fn files_that_only_help_others_to_find_the_host_may_go() {
    let world = world();
    let (served, caller) = hosted(&world);
    let names = [
        "run/holon.sock",
        "run/control.token",
        "run/daemon.json",
        "state/holon.sqlite3-held",
        "state/holon.sqlite3-reserve",
    ];
    let ids = names.map(|name| {
        fs::remove_file(world.home().join(name)).unwrap();
        let answer = caller.prompt("more").unwrap();
        answer
            .taken()
            .unwrap_or_else(|| panic!("{name}: {answer:?}"))
    });
    assert_eq!(served.terminate().0, Some(0));
    assert_eq!(missing(&world, &ids), 0);
}

#[test]
fn a_host_whose_socket_is_deleted_or_moved_creates_it_again() {
    let world = world();
    let (served, _) = hosted(&world);
    let socket = world.home().join("run/holon.sock");
    let is_answered = || world.run(&["status"]).code == Some(0);
    fs::remove_file(&socket).unwrap();
    until("the host answers after the deletion", is_answered);
    fs::rename(&socket, world.home().join("run/away")).unwrap();
    until("the host answers after the move", is_answered);
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0), "{log}");
    let words = "the control socket was missing and is created again";
    assert_eq!(log.matches(words).count(), 2, "{log}");
}

#[test]
fn a_host_whose_socket_is_covered_is_not_called_absent() {
    let world = world();
    let (served, _) = hosted(&world);
    let file = world.write("holon/run/precious", "kept");
    let socket = world.home().join("run/holon.sock");
    fs::rename(file, &socket).unwrap();
    let refused = world.run(&["status"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    let words = format!("holon (pid {}) runs on", served.pid());
    assert!(refused.stderr.contains(&words), "{refused:?}");
    assert!(refused.stderr.contains("next: "), "{refused:?}");
    assert!(!refused.stderr.contains("no host"), "{refused:?}");
    assert_eq!(fs::read_to_string(&socket).unwrap(), "kept");
    fs::remove_file(&socket).unwrap();
    until("the host answers again", || {
        world.run(&["status"]).code == Some(0)
    });
    assert_eq!(served.terminate().0, Some(0));
}

#[test]
fn a_store_moved_behind_a_link_ends_its_host_and_opens_again_only_in_its_place() {
    let world = world();
    let (served, caller) = hosted(&world);
    let one = caller.prompt("one").unwrap().taken().unwrap();
    let (db, away) = (
        world.home().join("state/holon.sqlite3"),
        world.path().join("moved.sqlite3"),
    );
    fs::rename(&db, &away).unwrap();
    std::os::unix::fs::symlink(&away, &db).unwrap();
    let refused = caller.prompt("two").unwrap();
    assert_eq!(refused.body["code"], "store_lost", "{refused:?}");
    assert_ended(served, &db, "was");
    let words = "is a symbolic link to";
    let refused = world.run(&["serve", "--port", "0"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains(words), "{refused:?}");
    let doctor = world.run(&["config", "doctor"]);
    assert!(doctor.stdout.contains(words), "{doctor:?}");
    fs::rename(&away, &db).unwrap();
    assert_kept(&world, &[one]);
}

#[test]
fn a_home_that_became_read_only_costs_nothing_that_was_acknowledged() {
    use std::os::unix::fs::PermissionsExt as _;
    let world = world();
    let (served, caller) = hosted(&world);
    let parts = ["run", "state", ""].map(|part| world.home().join(part));
    let set = |mode| {
        let all = |part: &PathBuf| fs::set_permissions(part, fs::Permissions::from_mode(mode));
        parts.iter().try_for_each(all).unwrap();
    };
    set(0o500);
    let answer = caller.prompt("one").unwrap();
    set(0o700);
    let taken = answer.taken().expect("its files are open");
    served.crash();
    assert_kept(&world, &[taken]);
}

#[test]
fn a_backup_put_in_the_place_of_the_store_while_clients_write_costs_nothing_acknowledged() {
    let world = world();
    let (served, caller) = hosted(&world);
    assert!(caller.prompt("before").unwrap().taken().is_some());
    assert_eq!(served.terminate().0, Some(0));
    let db = world.home().join("state/holon.sqlite3");
    let backup = fs::read(&db).unwrap();
    let copy = world.home().join("state/copy");
    fs::write(&copy, &backup).unwrap();

    let (served, caller) = hosted(&world);
    let clients: Vec<_> = (0..4)
        .map(|client| {
            let caller = caller.clone();
            std::thread::spawn(move || {
                let mut taken = Vec::new();
                loop {
                    match caller.prompt(&format!("of {client}")) {
                        Some(answer) => match answer.taken() {
                            Some(id) => taken.push(id),
                            None => return (taken, Some(answer)),
                        },
                        None => return (taken, None),
                    }
                }
            })
        })
        .collect();
    let wal = world.home().join("state/holon.sqlite3-wal");
    until("clients write", || {
        fs::metadata(&wal).is_ok_and(|found| found.len() > 1 << 20)
    });
    let held = world.home().join("state/held");
    fs::rename(&db, &held).unwrap();
    fs::rename(&copy, &db).unwrap();

    let (mut acknowledged, mut told) = (Vec::new(), 0);
    for client in clients {
        let (taken, last) = client.join().unwrap();
        acknowledged.extend(taken);
        told += u32::from(last.is_some_and(|last| last.body["code"] == "store_lost"));
    }
    assert!(told > 0, "those who were waiting were told");
    assert!(acknowledged.len() > 4, "clients had written");
    assert_ended(served, &db, "was");
    assert!(fs::read(&db).unwrap() == backup, "the backup is untouched");

    let refused = world.run(&["serve", "--port", "0"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("move the log aside"), "{refused:?}");
    assert!(fs::read(&db).unwrap() == backup, "and still is");

    fs::rename(&held, &db).unwrap();
    assert_kept(&world, &acknowledged);
}

#[test]
fn a_start_and_the_doctor_name_what_is_missing() {
    let world = world();
    let (served, caller) = hosted(&world);
    assert!(caller.prompt("one").unwrap().taken().is_some());
    let note = world.home().join("state/holon.sqlite3-held");
    until("the progress is noted", || {
        fs::read_to_string(&note).is_ok_and(|note| note.contains("row_no"))
    });
    served.crash();
    fs::remove_file(world.home().join("state/holon.sqlite3-wal")).unwrap();
    fs::create_dir(world.home().join("agents/stray")).unwrap();
    let doctor = world.run(&["config", "doctor"]);
    for words in ["rows that were committed", "agents/stray is the home"] {
        assert!(doctor.stdout.contains(words), "{words}: {doctor:?}");
    }
    let served = world.serve(&["--model", &silent(&world)]);
    let (code, log) = served.terminate();
    assert_eq!(code, Some(0), "{log}");
    for words in [
        "rows that were committed",
        "write-ahead log",
        "agents/stray is the home",
    ] {
        assert!(log.contains(words), "{words}: {log}");
    }
}
