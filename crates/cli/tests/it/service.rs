//! `holon service`: the files for service managers.

use crate::support::world;
use holon_testkit::World;
use std::path::{Path, PathBuf};
use std::process::Command;

fn unit_dir(world: &World) -> PathBuf {
    world.path().join("user/.config/systemd/user")
}

/// If this variable is set, a missing program fails the test instead of skipping it.
const NEEDED: &str = "HOLON_TESTS_NEED_PROGRAMS";

/// Runs `systemd-analyze verify` on a unit file and returns what it says about the file. `None` if the program is not
/// there.
#[allow(
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "what is not tested has to be said, and what may be left out is no setting of the product"
)]
fn complaints(path: &Path) -> Option<Vec<String>> {
    let ran = Command::new("systemd-analyze")
        .args(["verify", "--user"])
        .arg(path)
        .env("XDG_RUNTIME_DIR", path.parent().unwrap())
        .output();
    let Ok(ran) = ran else {
        let is_needed = std::env::var_os(NEEDED).is_some_and(|value| !value.is_empty());
        assert!(!is_needed, "systemd-analyze is not installed");
        println!("the unit is not checked by systemd-analyze (Debian package systemd)");
        return None;
    };
    assert!(ran.status.success(), "{ran:?}");
    let said = String::from_utf8_lossy(&ran.stderr);
    let name = path.file_name().unwrap().to_str().unwrap();
    let about = said.lines().filter(|line| line.contains(name));
    Some(about.map(str::to_owned).collect())
}

#[test]
fn the_unit_keeps_commands_alive_reports_readiness_and_is_accepted_by_systemd() {
    let world = world();
    let printed = world.run(&[
        "service",
        "install",
        "--dry-run",
        "--manager",
        "systemd",
        "--port",
        "0",
    ]);
    let unit = printed.answer().to_owned();
    for line in [
        "Type=notify",
        "KillMode=process",
        "OOMPolicy=continue",
        "WatchdogSec=60",
        "Restart=on-failure",
        "WantedBy=default.target",
    ] {
        assert!(unit.lines().any(|found| found == line), "{line}: {unit}");
    }
    let home = world.home();
    let start = format!(r#""serve" "--home" "{}" "--port" "0""#, home.display());
    assert!(unit.contains(&start), "{unit}");
    assert!(!unit_dir(&world).exists(), "nothing was written");
    let accepted = complaints(&world.write("holon.service", &unit));
    assert_eq!(accepted.unwrap_or_default(), [""; 0]);
    let odd = world.path().join("a b%n $HOME \"q\"");
    let odd = odd.to_str().unwrap();
    let printed = world.run(&[
        "--home",
        odd,
        "service",
        "install",
        "--dry-run",
        "--manager",
        "systemd",
    ]);
    let unit = printed.answer().to_owned();
    assert!(unit.contains(r#"a b%%n $$HOME \"q\""#), "{unit}");
    let accepted = complaints(&world.write("odd.service", &unit));
    assert_eq!(accepted.unwrap_or_default(), [""; 0]);
    // A wrong line is noticed, so the checks above can fail.
    let wrong = unit.replace("Type=notify", "Type=nonsense");
    if let Some(said) = complaints(&world.write("wrong.service", &wrong)) {
        assert!(said.concat().contains("nonsense"), "{said:?}");
    }
}

#[test]
fn a_service_is_installed_shown_and_removed_and_a_foreign_file_is_left_alone() {
    let world = world();
    let install = ["service", "install", "--manager", "systemd", "--json"];
    let installed = world.run(&install);
    assert_eq!(installed.code, Some(0), "{installed:?}");
    let path = PathBuf::from(installed.json()["path"].as_str().unwrap());
    assert_eq!(path.parent(), Some(unit_dir(&world).as_path()));
    assert!(
        std::fs::read_to_string(&path)
            .unwrap()
            .contains("Type=notify")
    );
    let notes = installed.json()["notes"].to_string();
    assert!(notes.contains("loginctl enable-linger"), "{notes}");
    assert!(
        notes.contains("systemctl --user enable --now holon"),
        "{notes}"
    );
    assert_eq!(world.run(&install).code, Some(0), "it may be repeated");
    let status = world.run(&["service", "status", "--manager", "systemd", "--json"]);
    assert_eq!(status.json()["installed"], true, "{status:?}");
    let removed = world.run(&["service", "uninstall", "--manager", "systemd", "--json"]);
    assert_eq!(removed.json()["action"], "uninstalled", "{removed:?}");
    assert!(!path.exists());
    let status = world.run(&["service", "status", "--manager", "systemd"]);
    assert_eq!(status.code, Some(1), "{status:?}");
    assert!(
        status.stdout.contains("holon service install"),
        "{status:?}"
    );
    std::fs::write(&path, "[Service]\nExecStart=/bin/true\n").unwrap();
    for command in ["install", "uninstall"] {
        let refused = world.run(&["service", command, "--manager", "systemd", "--json"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(
            refused.stderr.contains("service_file_foreign"),
            "{refused:?}"
        );
    }
    assert!(path.exists());
}

#[test]
fn the_default_home_has_a_plain_name_and_other_homes_their_own() {
    let world = world();
    let path_of = |home: &str| {
        let line = [
            "--home",
            home,
            "service",
            "status",
            "--manager",
            "systemd",
            "--json",
        ];
        let status = world.run(&line).json();
        let path = PathBuf::from(status["path"].as_str().unwrap());
        path.file_name().unwrap().to_str().unwrap().to_owned()
    };
    let default = world.path().join("user/.holon");
    assert_eq!(path_of(default.to_str().unwrap()), "holon.service");
    let (one, two) = (path_of("one"), path_of("two"));
    assert!(one.starts_with("holon-") && one != two, "{one} {two}");
}

#[test]
fn the_agent_of_launchd_starts_with_the_session_and_leaves_commands_alone() {
    let world = world();
    let line = ["service", "install", "--manager", "launchd", "--dry-run"];
    let plist = world.run(&line).answer().to_owned();
    for words in [
        "<key>RunAtLoad</key>",
        "<key>AbandonProcessGroup</key>",
        "<string>serve</string>",
        "run/daemon.log",
    ] {
        assert!(plist.contains(words), "{words}: {plist}");
    }
    let installed = world.run(&["service", "install", "--manager", "launchd", "--json"]);
    let path = installed.json()["path"].as_str().unwrap().to_owned();
    assert!(path.contains("Library/LaunchAgents/holon.host"), "{path}");
    assert_eq!(std::fs::read_to_string(path).unwrap(), plist);
}

#[test]
fn a_service_is_given_no_token_on_its_command_line() {
    let world = world();
    let token = "a-token-of-the-operator-0123456789";
    let refused = world.run(&[
        "service",
        "install",
        "--dry-run",
        "--token",
        token,
        "--json",
    ]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("--token-file FILE"), "{refused:?}");
    assert!(refused.stdout.is_empty());
}
