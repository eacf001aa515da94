//! Instruction files: found at stable roots, read again when they change, and refused unless they are plain text files.

use holon_domain::agent::AgentKind;
use holon_domain::guidance::{
    GuidanceRoots, InstructionContent, InstructionKind, InstructionRefusal, InstructionScope,
    Instructions,
};
use holon_domain::limits::{INSTRUCTION_FILE_BYTES, INSTRUCTION_FILES_KEPT};
use holon_domain::time::Timestamp;
use holon_workspace::InstructionReader;
use rustix::fs::{CWD, FileType, Mode, Timespec, Timestamps, mknodat, utimensat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// A time long after every change that a test makes, so that files count as settled.
const LATER: Timestamp = Timestamp::from_millis(4_000_000_000_000);

/// A user with an agent and a project.
struct Roots {
    dir: TempDir,
    reader: InstructionReader,
}

impl Roots {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        for root in ["user/.agents", "home", "project"] {
            fs::create_dir_all(dir.path().join(root)).expect("a root");
        }
        let reader = InstructionReader::new(Some(dir.path().join("user/.agents")));
        Self { dir, reader }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).expect("a file");
    }

    fn read_as(&self, kind: AgentKind) -> Instructions {
        let roots = GuidanceRoots {
            kind,
            agent_home: self.path("home").display().to_string(),
            workspace_anchor: Some(self.path("project").display().to_string()),
        };
        self.reader.read(&roots, LATER)
    }

    fn read(&self) -> Instructions {
        self.read_as(AgentKind::Default)
    }

    /// Returns the content of the only file.
    fn only(&self) -> InstructionContent {
        let mut files = self.read().files;
        assert_eq!(files.len(), 1, "{files:?}");
        files.remove(0).content
    }
}

fn texts(instructions: &Instructions) -> Vec<(InstructionScope, InstructionKind, String)> {
    let text = |content: &InstructionContent| match content {
        InstructionContent::Text(text) => text.to_string(),
        InstructionContent::Refused(refusal) => panic!("{refusal:?}"),
    };
    instructions
        .files
        .iter()
        .map(|file| (file.source.scope, file.source.kind, text(&file.content)))
        .collect()
}

#[test]
fn the_three_roots_are_read_in_the_order_of_the_prompt() {
    use InstructionKind::AgentsMd;
    use InstructionScope::{Agent, UserGlobal, Workspace};
    let roots = Roots::new();
    assert_eq!(roots.read(), Instructions::default());
    roots.write("project/AGENTS.md", "project");
    roots.write("home/AGENTS.md", "agent");
    roots.write("user/.agents/AGENTS.md", "user");
    let all = [
        (UserGlobal, AgentsMd, "user".to_owned()),
        (Agent, AgentsMd, "agent".to_owned()),
        (Workspace, AgentsMd, "project".to_owned()),
    ];
    assert_eq!(texts(&roots.read_as(AgentKind::Default)), all);
    assert_eq!(texts(&roots.read_as(AgentKind::Named)), all);
    assert_eq!(texts(&roots.read_as(AgentKind::Child)), all[1..]);
    let sources = roots.read().sources();
    let path = sources.workspace_source.expect("a source").path;
    assert_eq!(path, roots.path("project/AGENTS.md").display().to_string());
    assert!(sources.notes.is_empty());
}

#[test]
fn the_compatibility_file_counts_in_a_workspace_without_the_other_one_only() {
    let roots = Roots::new();
    roots.write("home/CLAUDE.md", "agent");
    roots.write("user/.agents/CLAUDE.md", "user");
    assert_eq!(roots.read(), Instructions::default());
    roots.write("project/CLAUDE.md", "compatible");
    let found = texts(&roots.read());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].1, InstructionKind::ClaudeMd);
    roots.write("project/AGENTS.md", "own");
    assert_eq!(texts(&roots.read())[0].2, "own");
    // A link inside of the root is the file that it leads to.
    fs::remove_file(roots.path("project/AGENTS.md")).expect("removed");
    symlink("CLAUDE.md", roots.path("project/AGENTS.md")).expect("a link");
    let found = texts(&roots.read());
    assert_eq!(found[0].1, InstructionKind::AgentsMd);
    assert_eq!(found[0].2, "compatible");
    roots.write("project/CLAUDE.md", "changed behind the link");
    assert_eq!(texts(&roots.read())[0].2, "changed behind the link");
    // A file that is refused is not absent.
    fs::remove_file(roots.path("project/AGENTS.md")).expect("removed");
    symlink("../home/CLAUDE.md", roots.path("project/AGENTS.md")).expect("a link");
    assert_eq!(
        roots.only(),
        InstructionContent::Refused(InstructionRefusal::SymbolicLink)
    );
}

#[test]
fn files_below_a_root_are_not_loaded() {
    let roots = Roots::new();
    fs::create_dir(roots.path("project/sub")).expect("a directory");
    roots.write("project/sub/AGENTS.md", "sub");
    roots.write("AGENTS.md", "above");
    assert_eq!(roots.read(), Instructions::default());
}

/// Puts something in the place of the project's file, and names the reason for its refusal.
type Obstacle = (fn(&Path), InstructionRefusal);

#[test]
fn only_plain_text_files_of_bounded_size_are_loaded() {
    let too_large = INSTRUCTION_FILE_BYTES + 1;
    let write = |path: &Path, content: &[u8]| fs::write(path, content).expect("a file");
    let obstacles: [Obstacle; 8] = [
        (
            |path| symlink("/etc/passwd", path).expect("a link"),
            InstructionRefusal::SymbolicLink,
        ),
        (
            |path| symlink("missing", path).expect("a link"),
            InstructionRefusal::SymbolicLink,
        ),
        (
            |path| {
                let mode = Mode::from_raw_mode(0o600);
                mknodat(CWD, path, FileType::Fifo, mode, 0).expect("a pipe");
            },
            InstructionRefusal::NotRegularFile,
        ),
        (
            |path| fs::create_dir(path).expect("a directory"),
            InstructionRefusal::NotRegularFile,
        ),
        (
            |path| {
                drop(std::os::unix::net::UnixListener::bind(path).expect("a socket"));
            },
            InstructionRefusal::NotRegularFile,
        ),
        (
            |path| {
                let file = fs::File::create(path).expect("a file");
                file.set_len(INSTRUCTION_FILE_BYTES + 1).expect("a hole");
            },
            InstructionRefusal::TooLarge { bytes: too_large },
        ),
        (
            |path| fs::write(path, b"\xff\xfeA\0").expect("a file"),
            InstructionRefusal::NotText,
        ),
        (
            |path| fs::write(path, b"text\0text").expect("a file"),
            InstructionRefusal::NulByte,
        ),
    ];
    for (place, refusal) in obstacles {
        let roots = Roots::new();
        place(&roots.path("project/AGENTS.md"));
        assert_eq!(
            roots.only(),
            InstructionContent::Refused(refusal.clone()),
            "{refusal:?}"
        );
        let notes = roots.read().sources().notes;
        assert_eq!(notes.len(), 1, "{refusal:?}");
        assert!(notes[0].note.starts_with("not loaded: it "), "{notes:?}");
    }
    let roots = Roots::new();
    let largest = usize::try_from(INSTRUCTION_FILE_BYTES).expect("a size");
    write(&roots.path("project/AGENTS.md"), &vec![b'x'; largest]);
    assert_eq!(texts(&roots.read())[0].2.len(), largest);
}

#[test]
fn a_root_that_is_a_link_is_followed_for_the_user_only() {
    let roots = Roots::new();
    for root in ["user/.agents", "home", "project"] {
        fs::remove_dir(roots.path(root)).expect("removed");
        symlink(roots.path("elsewhere"), roots.path(root)).expect("a link");
    }
    fs::create_dir(roots.path("elsewhere")).expect("a directory");
    roots.write("elsewhere/AGENTS.md", "linked");
    let found = texts(&roots.read());
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].0, InstructionScope::UserGlobal);
}

#[test]
fn every_kind_of_change_shows_at_the_next_read() {
    let roots = Roots::new();
    let shown = || texts(&roots.read())[0].2.clone();
    roots.write("project/AGENTS.md", "one");
    assert_eq!(shown(), "one");
    roots.write("project/AGENTS.md", "longer");
    assert_eq!(shown(), "longer");
    // Another file by rename, with the same size and the same time of modification.
    let path = roots.path("project/AGENTS.md");
    let modified = fs::metadata(&path).expect("metadata").modified();
    roots.write("project/new", "LONGER");
    let file = fs::File::open(roots.path("project/new")).expect("a file");
    file.set_modified(modified.expect("a time")).expect("set");
    fs::rename(roots.path("project/new"), &path).expect("renamed");
    assert_eq!(shown(), "LONGER");
    fs::remove_file(&path).expect("removed");
    assert_eq!(roots.read(), Instructions::default());
    roots.write("project/AGENTS.md", "back");
    assert_eq!(shown(), "back");
}

#[test]
fn a_file_that_changed_a_moment_ago_is_not_taken_from_memory() {
    // The reader takes the time of its caller. At the time of the change itself nothing is kept, so even a change that
    // leaves the same size and times behind is seen.
    let roots = Roots::new();
    let path = roots.path("project/AGENTS.md");
    fs::write(&path, "one").expect("a file");
    let times = Timestamps {
        last_access: Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        },
        last_modification: Timespec {
            tv_sec: 1,
            tv_nsec: 0,
        },
    };
    utimensat(CWD, &path, &times, rustix::fs::AtFlags::empty()).expect("set");
    let guidance = GuidanceRoots {
        kind: AgentKind::Child,
        agent_home: roots.path("home").display().to_string(),
        workspace_anchor: Some(roots.path("project").display().to_string()),
    };
    let now = Timestamp::from_millis(0);
    let first = roots.reader.read(&guidance, now);
    let second = roots.reader.read(&guidance, now);
    let same = |left: &Instructions, right: &Instructions| {
        let text = |read: &Instructions| match &read.files[0].content {
            InstructionContent::Text(text) => text.clone(),
            InstructionContent::Refused(refusal) => panic!("{refusal:?}"),
        };
        std::sync::Arc::ptr_eq(&text(left), &text(right))
    };
    assert!(!same(&first, &second), "read twice");
    let third = roots.reader.read(&guidance, LATER);
    let fourth = roots.reader.read(&guidance, LATER);
    assert!(same(&third, &fourth), "taken from memory");
}

#[test]
fn more_files_than_are_kept_are_all_read() {
    let roots = Roots::new();
    for number in 0..INSTRUCTION_FILES_KEPT + 3 {
        let home = roots.path(&format!("home-{number}"));
        fs::create_dir(&home).expect("a home");
        fs::write(home.join("AGENTS.md"), number.to_string()).expect("a file");
        let guidance = GuidanceRoots {
            kind: AgentKind::Child,
            agent_home: home.display().to_string(),
            workspace_anchor: None,
        };
        let read = roots.reader.read(&guidance, LATER);
        assert_eq!(texts(&read)[0].2, number.to_string());
    }
}
