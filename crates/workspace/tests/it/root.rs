//! Nothing leads out of an execution root.

use holon_domain::command::CommandFailure;
use holon_workspace::{Error, ExecutionRoot};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// `house/` with `sub/deep/`, a file, and links inside and out; `outside/` beside it.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("house/sub/deep")).unwrap();
    fs::create_dir_all(base.join("root-two")).unwrap();
    fs::create_dir_all(base.join("outside/inner")).unwrap();
    fs::write(base.join("house/file"), "").unwrap();
    symlink("sub/deep", base.join("house/short")).unwrap();
    symlink("../outside", base.join("house/out")).unwrap();
    symlink("/nowhere/at/all", base.join("house/dangling")).unwrap();
    symlink("loop", base.join("house/loop")).unwrap();
    (dir, base)
}

fn resolve(base: &Path, cwd: &str, requested: Option<&str>) -> Result<PathBuf, CommandFailure> {
    let root = ExecutionRoot::open(&base.join("house")).unwrap();
    root.resolve_dir(&base.join("house").join(cwd), requested)
}

#[test]
fn directories_inside_resolve_to_their_canonical_path() {
    let (_dir, base) = tree();
    let root = base.join("house");
    for (cwd, requested, expected) in [
        ("", None, root.clone()),
        ("sub", None, root.join("sub")),
        ("sub", Some(""), root.join("sub")),
        ("sub", Some("."), root.join("sub")),
        ("sub", Some("deep"), root.join("sub/deep")),
        ("sub/deep", Some("../.."), root.clone()),
        ("sub", Some("../short"), root.join("sub/deep")),
        ("", Some("out/../house/sub"), root.join("sub")),
        (
            "sub",
            Some(root.join("sub/deep").to_str().unwrap()),
            root.join("sub/deep"),
        ),
    ] {
        assert_eq!(
            resolve(&base, cwd, requested),
            Ok(expected),
            "{cwd:?} {requested:?}"
        );
    }
}

#[test]
fn whatever_leads_out_is_refused_whether_or_not_it_exists() {
    let (_dir, base) = tree();
    let sibling = base.join("root-two");
    for requested in [
        "..",
        "../..",
        "sub/../../outside",
        "out",
        "out/inner",
        "out/no-such",
        "../no-such",
        "/",
        "/no/such",
        "/etc",
    ] {
        let refused = resolve(&base, "", Some(requested)).unwrap_err();
        let execution_root = base.join("house").display().to_string();
        assert_eq!(
            refused,
            CommandFailure::OutsideRoot {
                workdir: requested.to_owned(),
                execution_root
            }
        );
    }
    let refused = resolve(&base, "", Some(sibling.to_str().unwrap())).unwrap_err();
    assert!(
        matches!(refused, CommandFailure::OutsideRoot { .. }),
        "a common beginning of names is not enough"
    );
    assert!(matches!(
        resolve(&base, "..", None),
        Err(CommandFailure::OutsideRoot { .. })
    ));
}

#[test]
fn what_is_not_there_is_missing_and_a_file_is_no_directory() {
    let (_dir, base) = tree();
    for requested in [
        "no-such",
        "sub/no/such",
        "file/below",
        "dangling",
        "loop",
        "a\0b",
    ] {
        let missing = CommandFailure::MissingWorkdir {
            workdir: requested.to_owned(),
        };
        assert_eq!(resolve(&base, "", Some(requested)), Err(missing));
    }
    let file = CommandFailure::WorkdirNoDirectory {
        workdir: "file".to_owned(),
    };
    assert_eq!(resolve(&base, "", Some("file")), Err(file));
    let gone = base.join("house/gone").display().to_string();
    assert_eq!(
        resolve(&base, "gone", None),
        Err(CommandFailure::MissingWorkdir { workdir: gone })
    );
}

#[test]
fn a_root_is_an_existing_directory_named_in_full() {
    let (_dir, base) = tree();
    let refusal = |path: &Path| ExecutionRoot::open(path).unwrap_err();
    assert!(matches!(
        refusal(&base.join("no-such")),
        Error::Missing { .. }
    ));
    assert!(matches!(
        refusal(&base.join("house/file")),
        Error::NotADirectory { .. }
    ));
    assert!(matches!(
        refusal(&base.join("house/file/below")),
        Error::NotADirectory { .. }
    ));
    assert!(matches!(
        refusal(Path::new("relative")),
        Error::Relative { .. }
    ));
    let through_link = ExecutionRoot::open(&base.join("house/short")).unwrap();
    assert_eq!(through_link.path(), base.join("house/sub/deep"));
}
