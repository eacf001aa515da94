//! A patch whose agent is stopped or removed while it is applied, and whose host is killed in the middle of it. After
//! the next start all of its files are in place or none, and nothing else of it is left in the workspace.
//!
//! The lock on the directory of journals is the gate: a patch takes it before it touches a file. A test that holds the
//! lock cancels the turn while the patch is at work, and kills the host at a visible step of the patch.

use crate::processes::ProcessCleanup;
use crate::support::{until, world};
use holon_domain::agent::Lifecycle;
use holon_testkit::{HostProcess, Meeting, World};
use serde_json::json;
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

/// Number of files that the patch adds. With the rewritten ones it is the maximum of a patch.
const ADDED: usize = 196;
/// Number of files that the patch rewrites after the first one that it adds. The former content of each is read again
/// once it is replaced, which takes some milliseconds. So a kill falls between two files, also on a busy machine.
const REWRITTEN: usize = 4;
/// Bytes of a rewritten file after its first line.
const FILLER: usize = 4 << 20;
/// Number of worlds in which a kill may come too late before the test gives up.
const WORLDS: u32 = 10;

/// Visible progress of a patch when its host is killed.
#[derive(Debug, Clone, Copy)]
enum PatchProgress {
    /// New contents stand beside their targets; no file has been changed.
    Staged,
    /// The first file is in place.
    InPlace,
}

/// Files that the patch has left in the workspace.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    added: usize,
    rewritten: usize,
    /// Files that are in place only while a patch is applied.
    staged: usize,
}

impl Traces {
    fn of(root: &Path) -> Self {
        let (added, rewritten) = (names(&root.join("d")), names(&root.join("old")));
        let is_staged = |name: &&String| name.starts_with(".holon-");
        let is_rewritten = |name: &&String| {
            let path = root.join("old").join(name);
            begins_with(&path, b"new\n")
        };
        Self {
            staged: added.iter().chain(&rewritten).filter(is_staged).count(),
            added: added.iter().filter(|name| !is_staged(name)).count(),
            rewritten: rewritten
                .iter()
                .filter(|name| !is_staged(name))
                .filter(is_rewritten)
                .count(),
        }
    }

    /// Returns true if the patch has to be completed or rolled back.
    const fn is_half_done(&self) -> bool {
        self.staged > 0 || (self.added > 0 && self.added < ADDED)
    }

    /// Asserts that all files are in place or none, and nothing else of the patch is left.
    fn assert_whole(&self, at: PatchProgress) {
        assert_eq!(self.staged, 0, "{at:?}");
        let whole = [(0, 0), (ADDED, REWRITTEN)];
        assert!(
            whole.contains(&(self.added, self.rewritten)),
            "{at:?}: {self:?}"
        );
    }
}

/// Lists the names in a directory. Empty if it is missing.
fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect()
}

fn begins_with(path: &Path, beginning: &[u8]) -> bool {
    let mut found = vec![0; beginning.len()];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut found));
    read.is_ok() && found == beginning
}

/// A workspace, and a model that waits for the test and then patches it.
struct Scene<'a> {
    world: &'a World,
    root: PathBuf,
    model: String,
}

impl<'a> Scene<'a> {
    fn new(world: &'a World) -> (Self, Meeting) {
        world.write("project/a.txt", "mine\n");
        let meeting = world.meeting("ready");
        let line = format!("{}\n", "x".repeat(64 << 10));
        let former = format!("old\n{}", line.repeat(FILLER / line.len()));
        for n in 0..REWRITTEN {
            world.write(&format!("project/old/r{n}"), &former);
        }
        let added = |n| format!("--- /dev/null\n+++ b/d/f{n}\n@@ -0,0 +1 @@\n+new\n");
        let rewritten = |n| format!("--- a/old/r{n}\n+++ b/old/r{n}\n@@ -1 +1 @@\n-old\n+new\n");
        let patch: String = std::iter::once(added(0))
            .chain((0..REWRITTEN).map(rewritten))
            .chain((1..ADDED).map(added))
            .collect();
        let rounds = json!([
            { "calls": [{ "tool": "ExecCommand", "input": { "cmd": meeting.shell() } }] },
            { "calls": [{ "tool": "ApplyPatch", "input": { "patch": patch } }] },
            { "text": "Done." },
        ]);
        let scene = Self {
            world,
            root: world.path().join("project"),
            model: world.model("patcher", &rounds),
        };
        (scene, meeting)
    }

    fn root(&self) -> String {
        self.root.display().to_string()
    }

    /// Makes an agent of this name begin its turn.
    fn prompt(&self, agent: &str) {
        let (model, root) = (self.model.as_str(), self.root());
        let create = ["agent", "create", agent, "--model", model];
        let place = ["--workspace-root", root.as_str()];
        let made = self.world.run(&[&create[..], &place[..]].concat());
        assert_eq!(made.code, Some(0), "{made:?}");
        let said = self.world.run(&["prompt", "patch it", "--agent", agent]);
        assert_eq!(said.code, Some(0), "{said:?}");
    }

    /// Makes a temporary agent begin its turn, for a caller that may disconnect.
    fn run(&self) -> Child {
        let (model, root) = (self.model.as_str(), self.root());
        let mut run = self.world.command();
        run.args(["run", "patch it", "--model", model]);
        run.args(["--workspace-root", root.as_str()]);
        run.stdout(Stdio::null()).stderr(Stdio::null());
        run.spawn().expect("a run begins")
    }

    /// Returns the home of the agent that is not the default one.
    fn agent_home(&self) -> PathBuf {
        let homes = std::fs::read_dir(self.world.home().join("agents")).expect("agents");
        let homes = homes.map(|entry| entry.expect("an entry").path());
        let mut others = homes.filter(|home| !home.ends_with("main"));
        others.next().expect("an agent")
    }

    /// Lets the agent go on to its patch, holds the patch before its first step, and returns the gate.
    fn hold_patch(meeting: Meeting, host: &HostProcess, home: &Path) -> File {
        let journals = journals(home);
        std::fs::create_dir_all(&journals).expect("a directory");
        let gate = File::open(&journals).expect("a directory");
        gate.lock().expect("a lock");
        meeting.let_go();
        let waits = |line: &str| {
            let of_host = line
                .split_whitespace()
                .any(|word| word == host.pid().to_string());
            line.contains("-> FLOCK") && of_host
        };
        until("the patch waits at the gate", || {
            let locks = std::fs::read_to_string("/proc/locks").expect("a list of locks");
            locks.lines().any(waits)
        });
        gate
    }

    /// Opens the gate, kills the host at this progress of the patch, and returns true if that was in the middle of it.
    fn kill_in_patch(&self, host: HostProcess, gate: File, at: PatchProgress) -> bool {
        drop(gate);
        let is_in_place = || self.root.join("d/f0").exists();
        // The staged files are there for a moment only. A look that comes later finds the first one in its place.
        until("the patch gets to work", || match at {
            PatchProgress::Staged => Traces::of(&self.root).staged > 0 || is_in_place(),
            PatchProgress::InPlace => is_in_place(),
        });
        host.crash();
        Traces::of(&self.root).is_half_done()
    }
}

/// Returns the directory of the journals of the agent with this home.
fn journals(home: &Path) -> PathBuf {
    let host = home.ancestors().nth(2).expect("the host's home");
    let name = home.file_name().expect("a name");
    host.join("state/tasks").join(name).join("patches")
}

/// Plays a scene in new worlds until a kill fell into the middle of the patch.
fn until_killed_in_time(play: impl Fn(&World) -> bool) {
    let hit = (0..WORLDS).any(|_| {
        let world = world();
        let _swept = ProcessCleanup(&world);
        play(&world)
    });
    assert!(hit, "every kill came too late");
}

fn stopped_and_killed(world: &World, at: PatchProgress) -> bool {
    let (scene, meeting) = Scene::new(world);
    let host = world.serve(&[]);
    scene.prompt("patcher");
    meeting.wait();
    let home = scene.agent_home();
    let gate = Scene::hold_patch(meeting, &host, &home);
    let stopped = world.run(&["agent", "stop", "patcher"]);
    assert_eq!(stopped.code, Some(0), "{stopped:?}");
    let in_time = scene.kill_in_patch(host, gate, at);

    let _host = world.serve(&[]);
    until("the patch is settled", || {
        let mut left = std::fs::read_dir(journals(&home)).expect("journals");
        left.next().is_none()
    });
    Traces::of(&scene.root).assert_whole(at);
    in_time
}

#[test]
fn a_patch_that_was_being_staged_when_its_agent_was_stopped_leaves_nothing_half_done() {
    until_killed_in_time(|world| stopped_and_killed(world, PatchProgress::Staged));
}

#[test]
fn a_patch_that_was_being_put_in_place_when_its_agent_was_stopped_leaves_nothing_half_done() {
    until_killed_in_time(|world| stopped_and_killed(world, PatchProgress::InPlace));
}

fn hung_up_and_killed(world: &World, at: PatchProgress) -> bool {
    let (scene, meeting) = Scene::new(world);
    let host = world.serve(&[]);
    let mut caller = scene.run();
    meeting.wait();
    let home = scene.agent_home();
    let gate = Scene::hold_patch(meeting, &host, &home);
    caller.kill().expect("the caller is there");
    caller.wait().expect("the caller ends");
    let name = home.file_name().and_then(|name| name.to_str());
    let name = name.expect("a name of text");
    until("the agent is being removed", || {
        let agent = world.agent_record(name).expect("its row stays");
        agent.lifecycle == Lifecycle::Deleting
    });
    let in_time = scene.kill_in_patch(host, gate, at);

    let _host = world.serve(&[]);
    until("the agent is gone", || {
        !home.exists() && !journals(&home).exists()
    });
    Traces::of(&scene.root).assert_whole(at);
    in_time
}

#[test]
fn a_patch_of_a_run_whose_caller_hung_up_leaves_nothing_half_done() {
    for at in [PatchProgress::Staged, PatchProgress::InPlace] {
        until_killed_in_time(|world| hung_up_and_killed(world, at));
    }
}
