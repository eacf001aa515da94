//! Paths and links that try to lead out.

use super::*;
use std::os::unix::net::UnixListener;

/// Tries every operation with a path; all are refused alike and nothing changes.
fn refuses(sandbox: &Sandbox, path: &str, expected: fn(&TreeError) -> bool) {
    let before = snapshot(sandbox.dir.path());
    let mut refusals = vec![sandbox.tree().read(path, 100).unwrap_err()];
    for change in [
        add(path, "new\n"),
        rewrite(path, "content\n", "new\n"),
        delete(path, "content\n"),
    ] {
        // A valid change beside an invalid one is not made either.
        let good = rewrite("file", "content\n", "changed\n");
        refusals.push(sandbox.replace(&[good, change]).unwrap_err());
    }
    for refusal in refusals {
        assert!(expected(&refusal), "{path:?}: {refusal:?}");
    }
    assert_eq!(snapshot(sandbox.dir.path()), before, "{path:?}");
}

#[test]
fn a_path_that_is_not_plain_is_refused_by_its_text() {
    let sandbox = Sandbox::new();
    for path in [
        "/etc/passwd",
        "/",
        "//x",
        "..",
        "../outside/file",
        "sub/../../outside/file",
        "sub/../file",
        "sub/..",
    ] {
        refuses(&sandbox, path, |error| {
            matches!(error, TreeError::Escape { .. })
        });
    }
    let deep = ["d"; 70].join("/");
    for path in [
        "",
        "a\0b",
        "./file",
        "sub/./file",
        "sub//file",
        "sub/",
        "sub/.",
        ".",
        ".git",
        ".git/config",
        ".git/hooks/x",
        ".GIT/config",
        "sub/.Git/x",
        ".git./config",
        ".git /config",
        ".holon/state/x",
        ".Holon",
        &deep,
    ] {
        refuses(&sandbox, path, |error| {
            matches!(error, TreeError::Refused { .. })
        });
    }
    let long = "n".repeat(300);
    refuses(&sandbox, &long, |error| {
        matches!(error, TreeError::Io { .. })
    });
}

#[test]
fn a_link_on_the_way_out_is_an_escape() {
    let sandbox = Sandbox::new();
    let absolute = sandbox.base.join("outside");
    let into_root = sandbox.path("sub");
    for (name, target) in [
        ("out", "../outside"),
        ("absolute", absolute.to_str().unwrap()),
        ("absolute-inside", into_root.to_str().unwrap()),
        ("winding", "sub/../../outside"),
        ("again", "../house/sub"),
        ("chain", "chain-two"),
        ("chain-two", "sub/deep/up"),
        ("sub/deep/up", "../../../outside"),
        ("slash", "/"),
        ("proc", "/proc/self/root"),
    ] {
        sandbox.link(name, target);
        if name != "chain" && name != "chain-two" {
            refuses(&sandbox, &format!("{name}/file"), |error| {
                matches!(error, TreeError::Escape { .. })
            });
        }
    }
    for path in [
        "chain/file",
        "chain/new/file",
        "out/inner/file",
        "out/no/such",
    ] {
        refuses(&sandbox, path, |error| {
            matches!(error, TreeError::Escape { .. })
        });
    }
    let process = Tree::open(Path::new("/proc/self")).unwrap();
    for path in ["root/etc/passwd", "cwd/Cargo.toml"] {
        let refused = process.read(path, 10_000).unwrap_err();
        assert!(matches!(refused, TreeError::Escape { .. }), "{refused:?}");
    }
}

#[test]
fn a_link_into_a_reserved_directory_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.link("hooks", ".git/hooks");
    sandbox.link("sub/git", "../.git");
    sandbox.link("state", "./.holon/state");
    for path in ["hooks/x", "sub/git/config", "sub/git/hooks/x", "state/x"] {
        refuses(&sandbox, path, |error| {
            matches!(error, TreeError::Refused { .. })
        });
    }
}

#[test]
fn what_is_no_regular_file_is_named_for_what_it_is() {
    let sandbox = Sandbox::new();
    sandbox.link("file-link", "file");
    sandbox.link("link-out", "../outside/file");
    sandbox.link("dangling", "no/such");
    sandbox.link("sub/chain", "../link-out");
    sandbox.link("circle", "circle");
    let _listener = UnixListener::bind(sandbox.path("socket")).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        sandbox.path("pipe"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    for (path, kind) in [
        ("file-link", "symbolic link"),
        ("link-out", "symbolic link"),
        ("dangling", "symbolic link"),
        ("sub/chain", "symbolic link"),
        ("circle", "symbolic link"),
        ("a-directory", "directory"),
        ("pipe", "pipe"),
        ("socket", "socket"),
    ] {
        refuses(&sandbox, path, |error| {
            matches!(error, TreeError::NotAFile { .. })
        });
        let refused = sandbox.tree().read(path, 100).unwrap_err().to_string();
        assert!(refused.contains(kind), "{refused}");
    }
    let devices = Tree::open(Path::new("/dev")).unwrap();
    let refused = devices.read("null", 100).unwrap_err();
    assert!(
        matches!(
            refused,
            TreeError::NotAFile {
                found: "device",
                ..
            }
        ),
        "{refused:?}"
    );
}

#[test]
fn a_parent_that_is_no_directory_or_leads_nowhere_is_refused() {
    let sandbox = Sandbox::new();
    sandbox.link("loop-a", "loop-b");
    sandbox.link("loop-b", "loop-a");
    sandbox.link("self", "self");
    sandbox.link("to-file", "sub/file");
    sandbox.link("grows", "sub/../grows/x");
    for path in [
        "loop-a/file",
        "self/file",
        "to-file/x",
        "file/x",
        "file/x/y",
        "grows/file",
    ] {
        refuses(&sandbox, path, |error| {
            matches!(error, TreeError::NotADirectory { .. })
        });
    }
    sandbox.link("nowhere", "no/such");
    sandbox.link("nowhere-near", "sub/no-such");
    for path in [
        "nowhere/file",
        "nowhere-near/file",
        "nowhere-near/deeper/file",
    ] {
        refuses(&sandbox, path, |error| {
            matches!(error, TreeError::Missing { .. })
        });
    }
}
