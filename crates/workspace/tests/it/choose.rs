//! The workspace that results from an operator's options.

use crate::git::fixture::{git, make_repository};
use holon_domain::workspace::{ProjectionKind, ReservedDirs, RootOwnership, WorkspaceEntry};
use holon_workspace::{Error, choose};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// `project/sub/`, a link to the project, and `home/`.
fn tree() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    fs::create_dir_all(base.join("project/sub")).unwrap();
    fs::create_dir_all(base.join("home/work")).unwrap();
    symlink("project", base.join("link")).unwrap();
    (dir, base)
}

fn reserved(base: &Path) -> ReservedDirs {
    ReservedDirs::new(vec![base.join("host")])
}

fn chosen(base: &Path, root: Option<&Path>, cwd: Option<&Path>) -> Result<WorkspaceEntry, Error> {
    choose(root, cwd, &base.join("home"), &reserved(base))
}

#[test]
fn without_any_choice_the_agent_works_in_its_home_even_before_it_exists() {
    let home = Path::new("/not/yet/there");
    assert_eq!(
        choose(None, None, home, &ReservedDirs::none()).unwrap(),
        WorkspaceEntry::agent_home("/not/yet/there")
    );
}

#[test]
fn a_root_alone_is_also_where_the_agent_stands() {
    let (_dir, base) = tree();
    let project = base.join("project");
    let entry = chosen(&base, Some(&project), None).unwrap();
    assert_eq!(entry.execution_root, project.display().to_string());
    assert_eq!(
        (&entry.workspace_anchor, &entry.cwd),
        (&entry.execution_root, &entry.execution_root)
    );
    assert_eq!(entry.projection_kind, ProjectionKind::CanonicalRoot);
    let id = entry.workspace_id.as_str().strip_prefix("ws-").unwrap();
    assert!(id.len() == 20 && id.bytes().all(|byte| byte.is_ascii_hexdigit()));
}

#[test]
fn a_current_directory_alone_is_the_root() {
    let (_dir, base) = tree();
    let project = base.join("project");
    let by_cwd = chosen(&base, None, Some(&project)).unwrap();
    assert_eq!(by_cwd, chosen(&base, Some(&project), None).unwrap());
}

#[test]
fn a_current_directory_inside_the_root_may_be_relative_to_it() {
    let (_dir, base) = tree();
    let project = base.join("project");
    let absolute = chosen(&base, Some(&project), Some(&project.join("sub"))).unwrap();
    let relative = chosen(&base, Some(&project), Some(Path::new("sub"))).unwrap();
    assert_eq!(absolute, relative);
    assert_eq!(absolute.cwd, project.join("sub").display().to_string());
    assert_eq!(absolute.execution_root, project.display().to_string());
}

#[test]
fn one_project_has_one_id_however_it_is_reached() {
    let (_dir, base) = tree();
    let direct = chosen(&base, Some(&base.join("project")), None).unwrap();
    assert_eq!(
        chosen(&base, Some(&base.join("link")), None).unwrap(),
        direct
    );
    assert_eq!(
        chosen(&base, Some(&base.join("project/sub/..")), None).unwrap(),
        direct
    );
    let other = chosen(&base, Some(&base.join("project/sub")), None).unwrap();
    assert_ne!(other.workspace_id, direct.workspace_id);
}

#[test]
fn the_home_named_by_its_path_is_still_the_home() {
    let (_dir, base) = tree();
    let home = base.join("home");
    let entry = chosen(&base, Some(&home), Some(Path::new("work"))).unwrap();
    let expected = WorkspaceEntry::agent_home(&home.display().to_string());
    assert_eq!(
        entry,
        WorkspaceEntry {
            cwd: home.join("work").display().to_string(),
            ..expected
        }
    );
}

#[test]
fn the_home_named_by_its_path_is_the_home_before_it_is_made() {
    let (_dir, base) = tree();
    let home = base.join("agents/main");
    fs::create_dir(base.join("agents")).unwrap();
    symlink("agents", base.join("by-link")).unwrap();
    let expected = WorkspaceEntry::agent_home(&home.display().to_string());
    let none = ReservedDirs::none();
    for named in [home.clone(), base.join("by-link/main")] {
        assert_eq!(choose(Some(&named), None, &home, &none).unwrap(), expected);
        assert_eq!(choose(None, Some(&named), &home, &none).unwrap(), expected);
    }
    assert!(!home.exists());
    for other in ["agents/other", "elsewhere/main"] {
        let refused = choose(Some(&base.join(other)), None, &home, &none).unwrap_err();
        assert!(matches!(refused, Error::Missing { .. }), "{refused}");
    }
}

#[test]
fn a_current_directory_outside_the_root_is_refused_with_the_next_step() {
    let (_dir, base) = tree();
    for cwd in [base.clone(), PathBuf::from(".."), base.join("home")] {
        let refused = chosen(&base, Some(&base.join("project")), Some(&cwd)).unwrap_err();
        assert!(matches!(refused, Error::CwdOutsideRoot { .. }), "{refused}");
        assert!(refused.to_string().contains("name one inside it"));
    }
}

#[test]
fn directories_that_cannot_be_named_are_refused() {
    let (_dir, base) = tree();
    let strange = base.join(OsStr::from_bytes(b"caf\xe9"));
    fs::create_dir(&strange).unwrap();
    assert!(matches!(
        chosen(&base, Some(&strange), None),
        Err(Error::NotUtf8 { .. })
    ));
    assert!(matches!(
        chosen(&base, Some(Path::new("project")), None),
        Err(Error::Relative { .. })
    ));
    assert!(matches!(
        chosen(&base, None, Some(Path::new("sub"))),
        Err(Error::Relative { .. })
    ));
    assert!(matches!(
        chosen(&base, Some(&base.join("no")), None),
        Err(Error::Missing { .. })
    ));
    let missing_cwd = chosen(&base, Some(&base.join("project")), Some(Path::new("no")));
    assert!(matches!(missing_cwd, Err(Error::Missing { .. })));
}

#[test]
fn a_directory_in_a_repository_belongs_to_the_project_of_the_repository() {
    let (_dir, base) = tree();
    let repo = base.join("repo");
    make_repository(&repo);
    let worktree = base.join("fix");
    git(
        &repo,
        &["worktree", "add", "--quiet", worktree.to_str().unwrap()],
    );
    let whole = chosen(&base, Some(&repo), None).unwrap();
    let text = |path: &Path| path.display().to_string();
    assert_eq!(whole.repository, Some(text(&repo.join(".git"))));
    let cases = [
        (repo.clone(), &repo, ProjectionKind::CanonicalRoot),
        (repo.join("sub"), &repo, ProjectionKind::CanonicalRoot),
        (worktree.clone(), &worktree, ProjectionKind::GitWorktreeRoot),
        (
            worktree.join("sub"),
            &worktree,
            ProjectionKind::GitWorktreeRoot,
        ),
    ];
    for (named, root, projection_kind) in cases {
        let expected = WorkspaceEntry {
            execution_root: text(root),
            cwd: text(&named),
            projection_kind,
            ownership: RootOwnership::External,
            ..whole.clone()
        };
        assert_eq!(chosen(&base, Some(&named), None).unwrap(), expected);
        assert_eq!(chosen(&base, None, Some(&named)).unwrap(), expected);
    }
    let refused = chosen(&base, Some(&repo.join("sub")), Some(&repo)).unwrap_err();
    assert!(matches!(refused, Error::CwdOutsideRoot { .. }), "{refused}");
}

#[test]
fn a_repository_that_is_no_project_leaves_a_plain_directory() {
    let (_dir, base) = tree();
    // A repository around the host's own directories, as of a user who keeps the whole home in one.
    fs::create_dir(base.join("host")).unwrap();
    make_repository(&base);
    let plain = chosen(&base, Some(&base.join("project/sub")), None).unwrap();
    let sub = base.join("project/sub").display().to_string();
    assert_eq!((&plain.workspace_anchor, &plain.cwd), (&sub, &sub));
    assert_eq!(plain.repository, None);
    // A pointer that does not lead back, as of a repository that pretends to be another.
    fs::write(base.join("project/.git"), "gitdir: /nowhere\n").unwrap();
    let plain = chosen(&base, Some(&base.join("project")), None).unwrap();
    assert_eq!(
        plain.workspace_anchor,
        base.join("project").display().to_string()
    );
    assert_eq!(plain.repository, None);
}
