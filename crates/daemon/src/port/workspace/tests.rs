//! Tests of the lock around changes of worktrees.

use super::*;
use holon_domain::workspace::{ReservedDirs, WorktreeStage};
use holon_workspace::{ClaimFolders, Git, ManagedWorktrees};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use tempfile::TempDir;
use tokio::task::JoinSet;

/// A host with one managed worktree on record, and a git that waits for the test.
struct House {
    dir: TempDir,
}

impl House {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let house = Self { dir };
        for folder in ["repo/.git", "roots/ws-1"] {
            fs::create_dir_all(house.path(folder)).expect("a folder");
        }
        house.write_record();
        house
    }

    fn path(&self, name: &str) -> PathBuf {
        // Without symlinks, as the paths of worktrees are always stored.
        self.dir.path().canonicalize().expect("a path").join(name)
    }

    fn repository(&self) -> String {
        self.path("repo").display().to_string()
    }

    fn write_record(&self) {
        let record = serde_json::json!({
            "stage": WorktreeStage::Ready,
            "workspace_id": "ws-1",
            "workspace_anchor": self.path("repo"),
            "name": "fix-1",
            "path": self.path("roots/ws-1/fix-1"),
            "branch": "holon/fix-1",
            "base_commit": "f".repeat(40),
            "owner": "session",
            "agent_id": "main",
        });
        fs::write(self.path("roots/ws-1/fix-1.json"), record.to_string()).expect("a record");
    }

    /// Writes a git that says that it began, and goes on once the test wrote to `go`. Later ones do not wait.
    fn write_git(&self) -> PathBuf {
        for name in ["begun", "go"] {
            let mode = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, self.path(name), FileType::Fifo, mode, 0).expect("a pipe");
        }
        let dir = self.path("");
        let script = format!(
            "#!/bin/sh\ncd '{}'\nif [ -p begun ]; then echo > begun; cat go; fi\nexit 1\n",
            dir.display()
        );
        let program = self.path("git.sh");
        fs::write(&program, script).expect("a program");
        let permissions = fs::Permissions::from_mode(0o700);
        fs::set_permissions(&program, permissions).expect("a program");
        program
    }

    fn workspaces(&self, program: &Path) -> Workspaces {
        let git = Git::with_program(program.to_owned(), "/usr/bin:/bin".into());
        let selection = WorkspaceSelection {
            worktrees: ManagedWorktrees::new(self.path("roots"), git),
            reserved: ReservedDirs::none(),
            agents_dir: self.path("agents"),
        };
        Workspaces::new(
            selection,
            Attachments::new(ClaimFolders::of_host(self.dir.path())),
            HostFacts {
                system: "linux".to_owned(),
                name: "workshop".to_owned(),
                shell: "/bin/sh".to_owned(),
                has_ripgrep: true,
            },
        )
    }
}

/// Looks at the lock when it is asked.
#[derive(Debug)]
struct Watcher {
    locks: [Arc<tokio::sync::Mutex<()>>; 2],
    was_held: AtomicBool,
}

impl Watcher {
    fn of(house: &House, workspaces: &Workspaces) -> Self {
        let repository = house.repository();
        Self {
            locks: [
                workspaces.changes.of(&repository),
                workspaces.entries.of(&repository),
            ],
            was_held: AtomicBool::new(false),
        }
    }
}

#[async_trait]
impl WorktreeUsers for Watcher {
    async fn list(&self) -> Result<Vec<WorktreeUser>, String> {
        let is_held = self.locks.iter().all(|lock| lock.try_lock().is_err());
        self.was_held.store(is_held, Ordering::SeqCst);
        Ok(Vec::new())
    }
}

#[tokio::test]
async fn the_users_of_worktrees_are_listed_once_no_worktree_can_be_made() {
    let house = House::new();
    let workspaces = house.workspaces(Path::new("/bin/false"));
    let watcher = Watcher::of(&house, &workspaces);
    let report = workspaces.clean(&watcher, false).await.expect("a report");
    assert_eq!(report.worktrees.len(), 1);
    assert!(watcher.was_held.load(Ordering::SeqCst));
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_the_lock_to_the_thread_that_works() {
    let house = House::new();
    let workspaces = house.workspaces(&house.write_git());
    let (cleaning, begun, go) = (workspaces.clone(), house.path("begun"), house.path("go"));
    let mut callers = JoinSet::new();
    let watcher = Watcher::of(&house, &workspaces);
    callers.spawn(async move { cleaning.clean(&watcher, false).await });
    let waited = begun.clone();
    let begins = tokio::task::spawn_blocking(move || fs::read(waited));
    begins.await.expect("a thread").expect("git began");
    fs::remove_file(&begun).expect("later ones do not wait");
    callers.shutdown().await;
    let changes = workspaces.changes.of(&house.repository());
    assert!(changes.try_lock().is_err(), "git still works");
    let goes = tokio::task::spawn_blocking(move || fs::write(go, "go"));
    goes.await.expect("a thread").expect("git goes on");
    drop(changes.lock().await);
}

#[tokio::test(start_paused = true)]
async fn a_repository_in_which_git_waits_keeps_no_other_one_waiting() {
    let house = House::new();
    let workspaces = house.workspaces(Path::new("/bin/false"));
    let watcher = Watcher::of(&house, &workspaces);
    let busy = workspaces
        .changes
        .of(&house.repository())
        .lock_owned()
        .await;
    // A look waits for no lock, and a clean-up keeps what it cannot lock.
    let report = workspaces.clean(&watcher, true).await.expect("a report");
    assert_eq!(report.worktrees.len(), 1);
    let report = workspaces.clean(&watcher, false).await.expect("a report");
    let CleanVerdict::Kept { reasons } = &report.worktrees[0].verdict else {
        panic!("{report:?}");
    };
    let [KeepReason::Unknown { detail }] = reasons.as_slice() else {
        panic!("{reasons:?}");
    };
    assert!(detail.contains(&house.repository()), "{detail}");
    let other = house.path("other").display().to_string();
    drop(
        workspaces
            .changes
            .of(&other)
            .try_lock()
            .expect("a free lock"),
    );
    drop(busy);
}
