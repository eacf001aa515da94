//! Hostile repositories: each leaves a canary when anything of it runs, and none does under the runtime's git.

use super::fixture::{World, commit, git, make_repository, plain_git};
use holon_domain::AgentId;
use holon_domain::workspace::{CleanVerdict, KeepReason, UseMode, WorktreeUser};
use holon_workspace::Git;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

/// Treatment of a hostile repository in isolated mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Isolation {
    /// The worktree is made and cleaned up.
    Works,
    /// The worktree is made and kept, because of its submodule's files or its dirty state.
    Refused,
}

struct Fixture {
    name: &'static str,
    plant: fn(&World),
    /// A plain git command by which the fixture is seen to bite. Empty if plain git needs a terminal or a network for it.
    bite: &'static [&'static str],
    isolation: Isolation,
}

const ADD: &[&str] = &["worktree", "add", "--quiet", "../bitten"];
const STATUS: &[&str] = &["status", "--porcelain"];
const DIFF: &[&str] = &["diff"];

const fn works(name: &'static str, bite: &'static [&'static str], plant: fn(&World)) -> Fixture {
    Fixture {
        name,
        plant,
        bite,
        isolation: Isolation::Works,
    }
}

const fn refused(name: &'static str, bite: &'static [&'static str], plant: fn(&World)) -> Fixture {
    Fixture {
        isolation: Isolation::Refused,
        ..works(name, bite, plant)
    }
}

fn hook(world: &World, name: &str) {
    let hooks = world.repo().join(".git/hooks");
    fs::create_dir_all(&hooks).unwrap();
    fs::copy(world.evil(), hooks.join(name)).unwrap();
}

fn set(world: &World, key: &str, value: &str) {
    git(&world.repo(), &["config", key, value]);
}

fn set_evil(world: &World, key: &str) {
    set(world, key, &world.evil().display().to_string());
}

/// Commits attributes, so that every text file has the filter, the diff driver and the merge driver `x`.
fn attributes(world: &World) {
    let text = "*.txt filter=x diff=x merge=x\n";
    fs::write(world.repo().join(".gitattributes"), text).unwrap();
    commit(&world.repo(), "attributes");
}

/// Writes a configuration file with an evil filter, to be included.
fn evil_config(world: &World) -> PathBuf {
    let file = world.base().join("evil.config");
    let evil = world.evil();
    let text = format!(
        "[filter \"x\"]\n\tsmudge = {0}\n\tclean = {0}\n",
        evil.display()
    );
    fs::write(&file, text).unwrap();
    file
}

fn touch(world: &World) {
    fs::write(world.repo().join("a.txt"), "changed\n").unwrap();
}

/// Changes the file's content and time, but not its size: git calls a filter only where these leave a doubt.
fn rewrite(world: &World) {
    let path = world.repo().join("a.txt");
    let known = fs::metadata(&path).unwrap();
    let length = usize::try_from(known.len()).unwrap();
    fs::write(&path, "x".repeat(length)).unwrap();
    let later = known.modified().unwrap() + std::time::Duration::from_secs(60);
    let file = fs::File::options().write(true).open(&path).unwrap();
    file.set_modified(later).unwrap();
}

/// Removes the blob of `a.txt` from a repository that claims to be a partial clone.
fn partial_clone(world: &World, url: &str) {
    let blob = git(&world.repo(), &["rev-parse", "HEAD:a.txt"]);
    let (dir, file) = blob.split_at(2);
    let object = world.repo().join(".git/objects").join(dir).join(file);
    fs::remove_file(object).unwrap();
    set(world, "core.repositoryFormatVersion", "1");
    set(world, "extensions.partialClone", "origin");
    set(world, "remote.origin.url", url);
    set(world, "remote.origin.promisor", "true");
    set(world, "protocol.ext.allow", "always");
}

fn submodule(world: &World) -> PathBuf {
    let inner = world.base().join("inner");
    make_repository(&inner);
    let url = inner.display().to_string();
    git(&world.repo(), &["submodule", "--quiet", "add", &url, "mod"]);
    commit(&world.repo(), "submodule");
    world.repo().join("mod")
}

fn fixtures() -> Vec<Fixture> {
    let mut all = programs();
    all.extend(filters());
    all.extend(elsewhere());
    all
}

/// Programs that a repository names in its hooks and settings.
fn programs() -> Vec<Fixture> {
    vec![
        works("post-checkout hook", ADD, |w| hook(w, "post-checkout")),
        works("reference-transaction hook", &["branch", "x"], |w| {
            hook(w, "reference-transaction")
        }),
        works("post-index-change hook", &["read-tree", "HEAD"], |w| {
            hook(w, "post-index-change")
        }),
        works("hooks path", ADD, |w| {
            hook(w, "post-checkout");
            let hooks = w.repo().join(".git/hooks").display().to_string();
            set(w, "core.hooksPath", &hooks);
        }),
        // Only git 2.54 and newer run these. The arguments test looks at the overrides under any version.
        works("hooks of the configuration", &[], |w| {
            for event in [
                "post-checkout",
                "reference-transaction",
                "post-index-change",
            ] {
                set(w, &format!("hook.evil-{event}.event"), event);
                set_evil(w, &format!("hook.evil-{event}.command"));
            }
        }),
        works("hook of a file included by branch", &[], |w| {
            let file = w.base().join("hook.config");
            let evil = w.evil().display().to_string();
            let text =
                format!("[hook \"evil\"]\n\tevent = post-index-change\n\tcommand = {evil}\n");
            fs::write(&file, text).unwrap();
            let key = "includeIf.onbranch:holon/**.path";
            set(w, key, &file.display().to_string());
        }),
        works("fsmonitor", STATUS, |w| set_evil(w, "core.fsmonitor")),
        works("fsmonitor with a version", STATUS, |w| {
            set_evil(w, "core.fsmonitor");
            set(w, "core.fsmonitorHookVersion", "1");
        }),
        works("external diff", DIFF, |w| {
            touch(w);
            set_evil(w, "diff.external");
        }),
        works("diff command of a driver", DIFF, |w| {
            attributes(w);
            touch(w);
            set_evil(w, "diff.x.command");
        }),
        works("text conversion", DIFF, |w| {
            attributes(w);
            touch(w);
            set_evil(w, "diff.x.textconv");
        }),
        works("merge driver", &[], |w| {
            attributes(w);
            set(w, "merge.x.driver", &format!("{} %A", w.evil().display()));
        }),
        works("signature program", &["log", "-1"], |w| {
            sign_head(w);
            set_evil(w, "gpg.program");
            set(w, "log.showSignature", "true");
        }),
        works("editor", &["commit", "--allow-empty"], |w| {
            set_evil(w, "core.editor")
        }),
        works("pager", &[], |w| set_evil(w, "core.pager")),
        works("credential helper", &[], |w| {
            set(w, "credential.helper", &format!("!{}", w.evil().display()))
        }),
        works("password prompt", &[], |w| set_evil(w, "core.askPass")),
        works("alias", &["evil"], |w| {
            for name in ["evil", "status", "worktree", "rev-parse"] {
                set(
                    w,
                    &format!("alias.{name}"),
                    &format!("!{}", w.evil().display()),
                );
            }
        }),
        works("proxy", &[], |w| set_evil(w, "core.gitProxy")),
        works("command for refs of alternates", &[], |w| {
            let other = w.base().join("other");
            make_repository(&other);
            let objects = other.join(".git/objects").display().to_string();
            fs::write(w.repo().join(".git/objects/info/alternates"), objects).unwrap();
            set_evil(w, "core.alternateRefsCommand");
        }),
        works("pack hook", &[], |w| {
            set_evil(w, "uploadpack.packObjectsHook")
        }),
    ]
}

/// Writes a commit with something that looks like a signature.
fn sign_head(world: &World) {
    let repo = world.repo();
    let text = git(&repo, &["cat-file", "commit", "HEAD"]);
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----";
    let signed = text.replacen("\n\n", &format!("\n{signature}\n\n"), 1) + "\n";
    let file = world.base().join("signed");
    fs::write(&file, signed).unwrap();
    let path = file.display().to_string();
    let id = git(&repo, &["hash-object", "-t", "commit", "-w", "--", &path]);
    git(&repo, &["update-ref", "refs/heads/main", &id]);
}

/// Filters, by every way in which a repository can configure one.
fn filters() -> Vec<Fixture> {
    vec![
        works("smudge filter", ADD, |w| {
            attributes(w);
            set_evil(w, "filter.x.smudge");
        }),
        works("clean filter", STATUS, |w| {
            attributes(w);
            set_evil(w, "filter.x.clean");
            rewrite(w);
        }),
        works("required long-running filter", ADD, |w| {
            attributes(w);
            set_evil(w, "filter.x.process");
            set(w, "filter.x.required", "true");
        }),
        works("filter with a strange name", ADD, |w| {
            fs::write(w.repo().join(".gitattributes"), "*.txt filter=a=b.c\n").unwrap();
            commit(&w.repo(), "attributes");
            set_evil(w, "filter.a=b.c.smudge");
        }),
        works("filter of private attributes", ADD, |w| {
            let info = w.repo().join(".git/info");
            fs::create_dir_all(&info).unwrap();
            fs::write(info.join("attributes"), "*.txt filter=x\n").unwrap();
            set_evil(w, "filter.x.smudge");
        }),
        works("filter of an attributes file elsewhere", ADD, |w| {
            let file = w.base().join("attributes");
            fs::write(&file, "*.txt filter=x\n").unwrap();
            set(w, "core.attributesFile", &file.display().to_string());
            set_evil(w, "filter.x.smudge");
        }),
        works("filter of an included file", ADD, |w| {
            attributes(w);
            let file = evil_config(w).display().to_string();
            set(w, "include.path", &file);
        }),
        works("filter of a file included by directory", ADD, |w| {
            attributes(w);
            let file = evil_config(w).display().to_string();
            set(w, "includeIf.gitdir:/**.path", &file);
        }),
        works(
            "filter of a file included by branch",
            &["worktree", "add", "--quiet", "-b", "holon/y", "../bitten"],
            |w| {
                attributes(w);
                let file = evil_config(w).display().to_string();
                set(w, "includeIf.onbranch:holon/**.path", &file);
            },
        ),
        works("filter of one worktree", ADD, |w| {
            attributes(w);
            set(w, "extensions.worktreeConfig", "true");
            let evil = w.evil().display().to_string();
            git(
                &w.repo(),
                &["config", "--worktree", "filter.x.smudge", &evil],
            );
        }),
    ]
}

/// Repositories that lead elsewhere: over a network, into a submodule, or into another directory.
fn elsewhere() -> Vec<Fixture> {
    vec![
        refused("missing object behind an ssh command", ADD, |w| {
            partial_clone(w, "ssh://nowhere.invalid/x");
            set_evil(w, "core.sshCommand");
        }),
        refused("missing object behind an ext remote", ADD, |w| {
            let url = format!("ext::{}", w.evil().display());
            partial_clone(w, &url);
        }),
        works("submodule with a file-system monitor", STATUS, |w| {
            let module = submodule(w);
            let evil = w.evil().display().to_string();
            git(&module, &["config", "core.fsmonitor", &evil]);
        }),
        works("recursion into submodules", &[], |w| {
            let module = submodule(w);
            let evil = w.evil().display().to_string();
            git(&module, &["config", "core.fsmonitor", &evil]);
            set(w, "submodule.recurse", "true");
            set(w, "status.submoduleSummary", "true");
            set(
                w,
                "submodule.mod.update",
                &format!("!{}", w.evil().display()),
            );
        }),
        refused("files in another directory", STATUS, |w| {
            set_evil(w, "core.fsmonitor");
            let elsewhere = w.base().display().to_string();
            set(w, "core.worktree", &elsewhere);
        }),
    ]
}

#[test]
fn there_are_enough_fixtures_and_they_bite_under_plain_git() {
    let all = fixtures();
    assert!(all.len() >= 25, "{}", all.len());
    for fixture in all.iter().filter(|fixture| !fixture.bite.is_empty()) {
        let world = World::new();
        (fixture.plant)(&world);
        world.take_canaries();
        drop(plain_git(&world.repo(), fixture.bite));
        assert!(world.take_canaries() > 0, "{} does not bite", fixture.name);
    }
}

#[test]
fn nothing_of_a_hostile_repository_runs() {
    for fixture in fixtures() {
        let world = World::new();
        (fixture.plant)(&world);
        world.take_canaries();
        let isolated = use_everything(&world, fixture.name);
        assert_eq!(isolated, fixture.isolation, "{}", fixture.name);
        assert_eq!(world.take_canaries(), 0, "{} ran", fixture.name);
    }
}

/// Runs every operation that the runtime has for a repository.
fn use_everything(world: &World, name: &str) -> Isolation {
    let selection = world.selection();
    // A repository that is refused has no state that is told.
    let _told = selection.repository_work(&world.repo());
    let direct = selection
        .select(&world.by_path(&world.repo(), UseMode::Direct))
        .unwrap();
    assert_eq!(
        direct.entry.execution_root,
        world.repo().display().to_string()
    );
    selection
        .select(&world.by_path(&world.repo().join("sub"), UseMode::Direct))
        .unwrap();
    if let Ok(repository) = Git::default().open(&world.repo()) {
        repository.current_branch().unwrap();
        repository.commit_of("HEAD").unwrap();
    }
    let Ok(isolated) = selection.select(&world.by_path(&world.repo(), UseMode::Isolated)) else {
        return Isolation::Refused;
    };
    let root = PathBuf::from(&isolated.entry.execution_root);
    assert_eq!(
        fs::read_to_string(root.join("a.txt")).unwrap(),
        "one\n",
        "{name}"
    );
    selection
        .select(&world.by_path(&root, UseMode::Direct))
        .unwrap();
    let worktrees = world.worktrees();
    let records = worktrees.records().unwrap().records;
    let user = WorktreeUser {
        agent_id: AgentId::parse("main").unwrap(),
        execution_roots: vec![root.display().to_string()],
        in_turn: false,
        tasks: Vec::new(),
    };
    for record in &records {
        let kept = worktrees.clean(record, std::slice::from_ref(&user), false);
        assert!(
            matches!(kept, CleanVerdict::Kept { .. }),
            "{name}: {kept:?}"
        );
        assert_eq!(
            worktrees.clean(record, &[], true),
            CleanVerdict::Removable,
            "{name}"
        );
        // What git still holds of a directory that is gone is looked at with other commands.
        let away = root.with_extension("away");
        fs::rename(&root, &away).unwrap();
        let gone = worktrees.clean(record, &[], true);
        let is_removed = matches!(gone, CleanVerdict::Removed { .. });
        assert!(!is_removed, "{name}: a dry run removes nothing");
        fs::rename(&away, &root).unwrap();
        fs::write(root.join("a.txt"), "changed\n").unwrap();
        let changed = vec![KeepReason::TrackedChanges { files: 1 }];
        let verdict = worktrees.clean(record, &[], false);
        assert_eq!(verdict, CleanVerdict::Kept { reasons: changed }, "{name}");
        fs::write(root.join("a.txt"), "one\n").unwrap();
        let removed = worktrees.clean(record, &[], false);
        assert!(
            matches!(removed, CleanVerdict::Removed { .. }),
            "{name}: {removed:?}"
        );
        assert!(!root.exists(), "{name}");
    }
    Isolation::Works
}

/// Writes the pointer files of a worktree by hand.
fn forge(world: &World, back: &Path, common: &Path) -> PathBuf {
    let (forged, admin) = (world.base().join("forged"), world.base().join("admin"));
    for dir in [&forged, &admin] {
        fs::create_dir_all(dir).unwrap();
    }
    fs::write(
        forged.join(".git"),
        format!("gitdir: {}\n", admin.display()),
    )
    .unwrap();
    fs::write(admin.join("gitdir"), format!("{}\n", back.display())).unwrap();
    fs::write(admin.join("commondir"), format!("{}\n", common.display())).unwrap();
    fs::write(admin.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    forged
}

#[test]
fn pointers_that_do_not_lead_back_are_refused_and_run_nothing() {
    type Plant = fn(&World) -> PathBuf;
    let plants: [(&str, Plant); 8] = [
        ("a common directory that is spoofed", |w| {
            forge(w, &w.base().join("forged/.git"), &w.repo().join(".git"))
        }),
        ("a back pointer to another directory", |w| {
            forge(w, &w.repo().join(".git"), &w.repo().join(".git"))
        }),
        ("an administrative directory of another worktree", |w| {
            git(&w.repo(), &["worktree", "add", "--quiet", "../real"]);
            let stolen = w.base().join("stolen");
            fs::create_dir(&stolen).unwrap();
            fs::copy(w.base().join("real/.git"), stolen.join(".git")).unwrap();
            stolen
        }),
        ("a link in place of the repository", |w| {
            let linked = w.base().join("linked");
            fs::create_dir(&linked).unwrap();
            symlink(w.repo().join(".git"), linked.join(".git")).unwrap();
            linked
        }),
        ("a link in place of a pointer", |w| {
            let forged = forge(w, &w.base().join("forged/.git"), &w.repo().join(".git"));
            fs::remove_file(w.base().join("admin/gitdir")).unwrap();
            fs::write(w.base().join("admin/gitdir"), "x\n").unwrap();
            let pipe = w.base().join("admin/commondir");
            fs::remove_file(&pipe).unwrap();
            symlink("/dev/zero", &pipe).unwrap();
            forged
        }),
        ("a pointer of many lines", |w| {
            let forged = w.base().join("forged");
            fs::create_dir(&forged).unwrap();
            fs::write(forged.join(".git"), "gitdir: /x\ngitdir: /y\n").unwrap();
            forged
        }),
        ("a huge pointer", |w| {
            let forged = w.base().join("forged");
            fs::create_dir(&forged).unwrap();
            fs::write(
                forged.join(".git"),
                format!("gitdir: /{}", "x".repeat(100_000)),
            )
            .unwrap();
            forged
        }),
        ("a pointer over a link", |w| {
            git(&w.repo(), &["worktree", "add", "--quiet", "../real"]);
            let real = w.base().join("real");
            symlink(w.repo(), w.base().join("by-link")).unwrap();
            let admin = w.base().join("by-link/.git/worktrees/real");
            fs::write(real.join(".git"), format!("gitdir: {}\n", admin.display())).unwrap();
            real
        }),
    ];
    for (name, plant) in plants {
        let world = World::new();
        set_evil(&world, "core.fsmonitor");
        let path = plant(&world);
        world.take_canaries();
        for mode in [UseMode::Direct, UseMode::Isolated] {
            let selected = world.selection().select(&world.by_path(&path, mode));
            // A pointer that names no worktree is a repository of its own, which cannot be isolated.
            let is_own = name == "a link in place of a pointer" && mode == UseMode::Direct;
            assert_eq!(selected.is_ok(), is_own, "{name}, {mode:?}: {selected:?}");
        }
        assert_eq!(world.take_canaries(), 0, "{name} ran");
    }
}

#[test]
fn a_bare_repository_in_the_tree_is_only_a_directory() {
    let world = World::new();
    let bare = world.repo().join("bare");
    git(world.base(), &["init", "--quiet", "--bare", "repo/bare"]);
    let evil = world.evil().display().to_string();
    git(&bare, &["config", "core.fsmonitor", &evil]);
    git(&bare, &["config", "core.bare", "false"]);
    git(&bare, &["config", "core.worktree", ".."]);
    world.take_canaries();
    drop(plain_git(&bare, STATUS));
    assert!(world.take_canaries() > 0, "it does not bite");
    let found = world
        .selection()
        .select(&world.by_path(&bare, UseMode::Direct))
        .unwrap();
    assert_eq!(
        found.entry.execution_root,
        world.repo().display().to_string()
    );
    assert!(
        Git::default().open(&bare).is_err(),
        "only a repository at the root itself is opened"
    );
    assert_eq!(world.take_canaries(), 0);
}

#[test]
fn a_repository_of_another_user_is_not_isolated() {
    let world = World::new();
    let paths = [world.repo(), world.repo().join(".git")];
    let given_away = paths
        .iter()
        .all(|path| std::os::unix::fs::chown(path, Some(4242), None).is_ok());
    if !given_away {
        // Only root can give files away; others cannot meet this case by their own doing.
        return;
    }
    let selected = world
        .selection()
        .select(&world.by_path(&world.repo(), UseMode::Isolated));
    let message = selected.unwrap_err().message;
    assert!(message.contains("dubious ownership"), "{message}");
    assert!(message.contains("direct mode"), "{message}");
    fs::set_permissions(world.repo(), fs::Permissions::from_mode(0o755)).unwrap();
}
