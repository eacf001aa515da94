//! Tests of the detection of repositories, worktrees and plain directories.

use super::fixture::{World, git, make_repository};
use holon_domain::workspace::{DetectedKind, ReservedDirs};
use holon_workspace::detect;
use std::fs;

#[test]
fn a_path_is_a_repository_a_part_of_one_a_worktree_or_a_plain_directory() {
    let world = World::new();
    let (repo, base) = (world.repo(), world.base());
    git(&repo, &["worktree", "add", "--quiet", "../linked"]);
    fs::create_dir_all(base.join("plain/below")).unwrap();
    let linked = base.join("linked");
    for (path, kind, anchor, root) in [
        (repo.clone(), DetectedKind::CanonicalRepo, &repo, &repo),
        (repo.join("sub"), DetectedKind::RepoSubdir, &repo, &repo),
        (
            linked.clone(),
            DetectedKind::ExistingGitWorktree,
            &repo,
            &linked,
        ),
        (
            linked.join("sub"),
            DetectedKind::ExistingGitWorktree,
            &repo,
            &linked,
        ),
        (
            base.join("plain/below"),
            DetectedKind::PlainDirectory,
            &base.join("plain/below"),
            &base.join("plain/below"),
        ),
    ] {
        let found = detect(&path, &ReservedDirs::none()).unwrap();
        assert_eq!(found.kind, kind, "{}", path.display());
        assert_eq!((&found.anchor, &found.execution_root), (anchor, root));
        assert_eq!(found.cwd, path);
        assert_eq!(found.can_isolate, kind != DetectedKind::PlainDirectory);
    }
}

#[test]
fn a_directory_that_names_another_repository_is_refused() {
    let world = World::new();
    let forged = world.base().join("forged");
    make_repository(&forged);
    for name in ["commondir", "gitdir"] {
        let pointer = forged.join(".git").join(name);
        fs::write(&pointer, format!("{}/.git\n", world.repo().display())).unwrap();
        let refused = detect(&forged, &ReservedDirs::none()).unwrap_err();
        assert!(
            refused.to_string().contains("another repository"),
            "{refused}"
        );
        fs::remove_file(&pointer).unwrap();
    }
    detect(&forged, &ReservedDirs::none()).unwrap();
}

#[test]
fn a_repository_around_the_hosts_own_directories_does_not_count() {
    let world = World::new();
    make_repository(world.base());
    let plain = world.base().join("plain");
    fs::create_dir(&plain).unwrap();
    let reserved = ReservedDirs::new(vec![world.home().join("state")]);
    let found = detect(&plain, &reserved).unwrap();
    assert_eq!(found.kind, DetectedKind::PlainDirectory);
    let found = detect(&plain, &ReservedDirs::none()).unwrap();
    assert_eq!(found.kind, DetectedKind::RepoSubdir);
}

#[test]
fn a_submodule_and_a_repository_with_a_separate_directory_stand_for_themselves() {
    let world = World::new();
    let base = world.base();
    let separate = base.join("separate");
    git(
        base,
        &["init", "--quiet", "--separate-git-dir=store", "separate"],
    );
    make_repository(&base.join("inner"));
    let url = base.join("inner").display().to_string();
    git(&world.repo(), &["submodule", "--quiet", "add", &url, "mod"]);
    for root in [separate, world.repo().join("mod")] {
        let found = detect(&root, &ReservedDirs::none()).unwrap();
        assert_eq!(
            (found.kind, &found.anchor),
            (DetectedKind::CanonicalRepo, &root)
        );
        assert!(!found.can_isolate, "{}", root.display());
    }
}

#[test]
fn a_worktree_of_a_bare_repository_is_a_project_of_its_own() {
    let world = World::new();
    let source = world.repo().display().to_string();
    git(
        world.base(),
        &["clone", "--quiet", "--bare", &source, "bare.git"],
    );
    git(
        &world.base().join("bare.git"),
        &["worktree", "add", "--quiet", "../linked", "main"],
    );
    let linked = world.base().join("linked");
    let found = detect(&linked, &ReservedDirs::none()).unwrap();
    assert_eq!(found.kind, DetectedKind::ExistingGitWorktree);
    assert_eq!((found.anchor, found.can_isolate), (linked, false));
}
