//! What each crate may not call, as one table from which every `clippy.toml` is written.
//!
//! A crate's own `clippy.toml` replaces the root's, so each must repeat the whole list minus its privilege;
//! writing them from here keeps them from drifting apart. A privilege is the job of the crate: `config` reads
//! the environment because that is what `config` is for.

use crate::repo::{Generated, Repo};

/// Things that only some crates may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ban {
    Environment,
    Spawn,
    Task,
    Sleep,
    Monotonic,
    Wall,
    Sqlite,
    Exit,
    Files,
    Network,
}

/// Calls that every crate is denied unless [`CRATES`] allows them.
const EVERYWHERE: &[Ban] = &[
    Ban::Environment,
    Ban::Spawn,
    Ban::Task,
    Ban::Sleep,
    Ban::Monotonic,
    Ban::Wall,
    Ban::Sqlite,
    Ban::Exit,
];

impl Ban {
    /// The functions it covers.
    const fn methods(self) -> &'static [&'static str] {
        match self {
            Self::Environment => &[
                "std::env::var",
                "std::env::var_os",
                "std::env::vars",
                "std::env::vars_os",
                "std::env::set_var",
                "std::env::remove_var",
            ],
            Self::Spawn => &["std::process::Command::new", "tokio::process::Command::new"],
            Self::Task => &["tokio::spawn", "tokio::task::spawn"],
            Self::Sleep => &[
                "std::thread::sleep",
                "tokio::time::sleep",
                "tokio::time::sleep_until",
            ],
            Self::Monotonic => &["std::time::Instant::now", "tokio::time::Instant::now"],
            Self::Wall => &[
                "std::time::SystemTime::now",
                "jiff::Timestamp::now",
                "jiff::Zoned::now",
            ],
            Self::Sqlite => &[
                "rusqlite::Connection::open",
                "rusqlite::Connection::open_in_memory",
                "rusqlite::Connection::open_with_flags",
                "rusqlite::Connection::open_with_flags_and_vfs",
            ],
            Self::Exit => &["std::process::exit", "std::process::abort"],
            Self::Files => &[
                "std::fs::canonicalize",
                "std::fs::copy",
                "std::fs::create_dir",
                "std::fs::create_dir_all",
                "std::fs::metadata",
                "std::fs::read",
                "std::fs::read_dir",
                "std::fs::read_to_string",
                "std::fs::remove_dir_all",
                "std::fs::remove_file",
                "std::fs::rename",
                "std::fs::write",
                "std::path::Path::exists",
                "std::path::Path::is_dir",
                "std::path::Path::is_file",
                "std::path::Path::canonicalize",
            ],
            Self::Network => &["std::net::ToSocketAddrs::to_socket_addrs"],
        }
    }

    /// The types it covers.
    const fn types(self) -> &'static [&'static str] {
        match self {
            Self::Files => &["std::fs::File", "std::fs::OpenOptions"],
            Self::Network => &[
                "std::net::TcpListener",
                "std::net::TcpStream",
                "std::net::UdpSocket",
                "std::os::unix::net::UnixListener",
                "std::os::unix::net::UnixStream",
            ],
            Self::Environment
            | Self::Spawn
            | Self::Task
            | Self::Sleep
            | Self::Monotonic
            | Self::Wall
            | Self::Sqlite
            | Self::Exit => &[],
        }
    }

    /// The advice that the lint prints.
    const fn instead(self) -> &'static str {
        match self {
            Self::Environment => {
                "only config reads the environment; take a resolved setting as an argument"
            }
            Self::Spawn => "only process starts commands; go through its run",
            Self::Task => {
                "an untracked task outlives its owner unnoticed; use a JoinSet or a TaskTracker"
            }
            Self::Sleep => "waiting is the clock's business; use the Clock port or a due entry",
            Self::Monotonic | Self::Wall => {
                "time is an argument; the daemon's clock adapter is the only source"
            }
            Self::Sqlite => "only store opens SQLite",
            Self::Exit => "return an ExitCode from main, so that destructors run",
            Self::Files => "this crate is pure; the caller reads and hands in the text",
            Self::Network => "this crate is pure; the caller does the talking",
        }
    }
}

/// The exceptions of one crate.
struct Row {
    /// The directory that gets a file.
    dir: &'static str,
    /// Calls allowed here and denied elsewhere.
    may: &'static [Ban],
    /// Calls denied here and allowed elsewhere.
    may_not: &'static [Ban],
    lines: u32,
}

const fn pure(dir: &'static str) -> Row {
    Row {
        dir,
        may: &[],
        may_not: &[Ban::Files, Ban::Network],
        lines: FUNCTION_LINES,
    }
}

const fn privileged(dir: &'static str, may: &'static [Ban]) -> Row {
    Row {
        dir,
        may,
        may_not: &[],
        lines: FUNCTION_LINES,
    }
}

const FUNCTION_LINES: u32 = 100;
/// Longest function where every decision is made.
const CORE_FUNCTION_LINES: u32 = 70;

/// Every crate that differs from the root; one that is not here has no file of its own.
const CRATES: &[Row] = &[
    pure("crates/api"),
    Row {
        lines: CORE_FUNCTION_LINES,
        ..pure("crates/core")
    },
    pure("crates/domain"),
    pure("crates/patch"),
    pure("crates/presentation"),
    pure("crates/prompt"),
    pure("crates/sse"),
    pure("crates/tokens"),
    pure("crates/tools"),
    privileged("crates/config", &[Ban::Environment]),
    privileged("crates/store", &[Ban::Sqlite, Ban::Monotonic]),
    privileged("crates/llm", &[Ban::Sleep]),
    privileged(
        "crates/process",
        &[Ban::Spawn, Ban::Sleep, Ban::Monotonic, Ban::Wall],
    ),
    // Its own git, and no other program.
    privileged("crates/workspace", &[Ban::Spawn, Ban::Monotonic]),
    privileged("crates/command", &[Ban::Monotonic]),
    privileged("crates/engine", &[Ban::Task]),
    privileged("crates/client", &[Ban::Task, Ban::Sleep]),
    privileged("crates/server", &[Ban::Task]),
    privileged("crates/tui", &[Ban::Sleep]),
    privileged(
        "crates/daemon",
        &[Ban::Task, Ban::Sleep, Ban::Monotonic, Ban::Wall],
    ),
    privileged("crates/cli", &[Ban::Spawn]),
    privileged("crates/testkit", &[Ban::Spawn, Ban::Task, Ban::Monotonic]),
    privileged(
        "crates/bench",
        &[
            Ban::Spawn,
            Ban::Task,
            Ban::Sleep,
            Ban::Monotonic,
            Ban::Wall,
            Ban::Sqlite,
        ],
    ),
    privileged(
        "crates/storm",
        &[
            Ban::Spawn,
            Ban::Sleep,
            Ban::Monotonic,
            Ban::Wall,
            Ban::Sqlite,
        ],
    ),
    privileged("xtask", &[Ban::Spawn, Ban::Monotonic, Ban::Sleep]),
];

/// Every `clippy.toml`, for the crates that exist.
pub(crate) fn files(repo: &Repo) -> Vec<Generated> {
    let root = Row {
        dir: "",
        may: &[],
        may_not: &[],
        lines: FUNCTION_LINES,
    };
    let crates = CRATES
        .iter()
        .filter(|row| repo.root().join(row.dir).join("Cargo.toml").is_file())
        .map(|row| Generated {
            path: format!("{}/clippy.toml", row.dir),
            content: render(row),
        });
    std::iter::once(Generated {
        path: "clippy.toml".to_owned(),
        content: render(&root),
    })
    .chain(crates)
    .collect()
}

fn render(row: &Row) -> String {
    let banned: Vec<Ban> = EVERYWHERE
        .iter()
        .filter(|ban| !row.may.contains(ban))
        .chain(row.may_not)
        .copied()
        .collect();
    let mut text = String::from(HEAD);
    text.push_str(&format!("too-many-lines-threshold = {}\n", row.lines));
    push_list(&mut text, "disallowed-methods", &banned, Ban::methods);
    push_list(&mut text, "disallowed-types", &banned, Ban::types);
    text
}

/// The head of every generated file.
const HEAD: &str = "\
# Written by `cargo xtask bans` from the table in xtask/src/bans.rs; change it there.
allow-expect-in-tests = true
allow-unwrap-in-tests = true
allow-print-in-tests = true
# Records are read one at a time; a box per variant would cost more than it saves.
enum-variant-size-threshold = 512
# A failure is rare and handed on by few callers; a box would cost each of them a line.
large-error-threshold = 160
too-many-arguments-threshold = 6
";

fn push_list(
    text: &mut String,
    name: &str,
    banned: &[Ban],
    paths: impl Fn(Ban) -> &'static [&'static str],
) {
    let entries: Vec<String> = banned
        .iter()
        .flat_map(|ban| paths(*ban).iter().map(|path| (path, ban.instead())))
        .map(|(path, instead)| format!("  {{ path = \"{path}\", reason = \"{instead}\" }},\n"))
        .collect();
    if !entries.is_empty() {
        text.push_str(&format!("{name} = [\n{}]\n", entries.concat()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_privilege_lifts_only_its_own_ban() {
        let row = CRATES
            .iter()
            .find(|row| row.dir == "crates/config")
            .expect("config has a row");
        let text = render(row);
        assert!(!text.contains("std::env::var"));
        assert!(text.contains("std::time::SystemTime::now"));
        assert!(!text.contains("std::fs::File"));
    }

    #[test]
    fn a_pure_crate_may_not_touch_files_or_the_network() {
        let text = render(&pure("crates/x"));
        for banned in ["std::fs::read", "std::fs::File", "std::net::TcpStream"] {
            assert!(text.contains(banned), "{banned}");
        }
    }
}
