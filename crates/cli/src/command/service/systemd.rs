//! The user unit of systemd, and what systemd says about it.

use super::manager::{Asked, ask};
use super::view::ServiceStatus;
use super::{MARK, ServiceSpec};

/// Seconds within which a host must give a sign of life.
const WATCHDOG_SECS: u32 = 60;
/// Seconds for a shutdown; the host drains in less.
const STOP_SECS: u32 = 30;

/// Renders the unit of a host.
///
/// Only the host's own process is stopped with it: its commands run on under their shims, and the next host finds
/// them. A command that uses too much memory is killed alone, and the host goes on.
pub(super) fn unit(spec: &ServiceSpec) -> String {
    let command: Vec<String> = spec.command.iter().map(|word| quote(word)).collect();
    let command = command.join(" ");
    format!(
        "# {MARK}; holon service uninstall removes it.\n\
         [Unit]\n\
         Description=Holon host\n\
         StartLimitIntervalSec=300\n\
         StartLimitBurst=10\n\
         \n\
         [Service]\n\
         Type=notify\n\
         NotifyAccess=main\n\
         ExecStart={command}\n\
         ExecReload=/bin/kill -HUP $MAINPID\n\
         Restart=on-failure\n\
         RestartSec=2\n\
         TimeoutStartSec=infinity\n\
         TimeoutStopSec={STOP_SECS}\n\
         WatchdogSec={WATCHDOG_SECS}\n\
         KillMode=process\n\
         OOMPolicy=continue\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n"
    )
}

/// Quotes a word of a command line: specifiers and variables are not expanded in it.
fn quote(word: &str) -> String {
    let mut quoted = String::from("\"");
    for c in word.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '%' | '$' => quoted.extend([c, c]),
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Commands that start, restart, stop and watch a unit.
pub(super) fn commands(name: &str) -> Vec<String> {
    vec![
        format!("systemctl --user enable --now {name}"),
        format!("systemctl --user restart {name}"),
        format!("systemctl --user stop {name}"),
        format!("journalctl --user -u {name} -f"),
    ]
}

/// The condition under which a user unit outlives the user's sessions.
pub(super) fn linger_note() -> String {
    "the service ends with your last session unless lingering is on; turn it on with: loginctl enable-linger"
        .to_owned()
}

/// Returns true if services of this user outlive the user's sessions; `None` if the system does not say.
pub(super) async fn lingering() -> Option<bool> {
    let user = rustix::process::geteuid().as_raw().to_string();
    match ask(
        "loginctl",
        &["show-user", &user, "--property=Linger", "--value"],
    )
    .await
    {
        Asked::Done(said) => Some(said.trim() == "yes"),
        Asked::Refused(_) => None,
    }
}

/// Adds what systemd says about a unit.
pub(super) async fn fill(status: &mut ServiceStatus) {
    let properties = "--property=ActiveState,UnitFileState";
    let unit = format!("{}.service", status.name);
    if let Asked::Done(said) = ask("systemctl", &["--user", "show", &unit, properties]).await {
        let value = |key: &str| {
            let mut found = said.lines().filter_map(|line| line.split_once('='));
            found
                .find(|(name, _)| *name == key)
                .map(|(_, value)| value.to_owned())
        };
        status.active = value("ActiveState");
        status.enabled = value("UnitFileState").map(|state| state == "enabled");
    }
    status.lingering = lingering().await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_so_that_nothing_in_it_is_expanded() {
        for (word, quoted) in [
            ("serve", r#""serve""#),
            ("/a b/c", r#""/a b/c""#),
            ("100%", r#""100%%""#),
            ("$HOME", r#""$$HOME""#),
            (r#"say "x\y""#, r#""say \"x\\y\"""#),
        ] {
            assert_eq!(quote(word), quoted);
        }
    }
}
