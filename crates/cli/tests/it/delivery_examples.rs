//! The examples of the guide for programs that bring deliveries, run as they are written there, with stand-ins for
//! `notify-send` and `sendmail`.

use crate::support::{hello, world};
use holon_testkit::World;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::Command;

const GUIDE: &str = include_str!("../../../../docs/guide/delivery.md");

/// Writes a program that records its arguments and its standard input.
fn stand_in(bin: &Path, name: &str) {
    let log = bin.join(format!("{name}.log"));
    let script = format!(
        "#!/bin/sh\n{{ for word; do printf '<%s>' \"$word\"; done; echo; cat; }} > '{}'\n",
        log.display()
    );
    let path = bin.join(name);
    std::fs::write(&path, script).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(0o755)).unwrap();
}

/// Runs the line of the guide that begins so in a shell that finds the programs of `path`.
fn run_line(world: &World, path: &str, begin: &str) {
    let mut lines = GUIDE.lines();
    let line = lines.find(|line| line.starts_with(begin));
    let line = line.expect("the example is in the guide");
    let host = world.command();
    let set = host
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    let ran = Command::new("sh")
        .args(["-c", line])
        .env_clear()
        .envs(set)
        .env("PATH", path)
        .current_dir(world.path())
        .output()
        .unwrap();
    assert!(ran.status.success(), "{line}: {ran:?}");
}

#[test]
fn the_examples_for_a_desktop_and_for_mail_bring_title_and_text() {
    let world = world();
    let bin = world.path().join("bin");
    std::fs::create_dir(&bin).unwrap();
    symlink(world.command().get_program(), bin.join("holon")).unwrap();
    for name in ["notify-send", "sendmail"] {
        stand_in(&bin, name);
    }
    let host = world.command();
    let mut set = host.get_envs();
    let known = set.find(|(name, _)| *name == "PATH").and_then(|it| it.1);
    let path = format!("{}:{}", bin.display(), known.unwrap().display());
    let _served = world.serve_with(&["--model", &hello(&world)], &[("PATH", &path)]);
    for name in ["desk", "mail"] {
        run_line(&world, &path, &format!("holon delivery add {name} "));
        let tried = world.run(&["delivery", "test", name]);
        assert_eq!(tried.code, Some(0), "{tried:?}");
    }
    let read = |name: &str| std::fs::read_to_string(bin.join(format!("{name}.log"))).unwrap();
    let words = "This is a trial of Holon's operator delivery. Nothing needs to be done.";
    let shown = read("notify-send");
    assert!(
        shown.starts_with(&format!("<--><main has a notice for you><{words}>\n")),
        "{shown}"
    );
    let mail = read("sendmail");
    let (head, body) = mail.split_once("\n\n").expect("a head and a body");
    assert_eq!(
        head,
        "<-t>\nTo: me@example.org\nSubject: main has a notice for you\nContent-Type: text/plain; charset=utf-8"
    );
    assert_eq!(body, format!("{words}\n"));
}
