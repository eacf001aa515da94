//! Hostile templates and skills: none leaves its place, none is run, none is installed in part.
//!
//! Every tree is made in a directory that also holds a canary, a file that nothing may read or change.

use crate::hub::{install, no_fetcher};
use holon_domain::agent::AgentKind;
use holon_domain::guidance::{GuidanceRoots, InstallMode, SkillSource};
use holon_domain::limits::{INSTALL_BYTES, INSTALL_DEPTH, INSTALL_FILES, INSTRUCTION_FILE_BYTES};
use holon_domain::template::TemplateSelector;
use holon_domain::time::Timestamp;
use holon_workspace::{SkillReader, TemplateOrder, TemplateStore, apply_template};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::os::unix::net::UnixListener;
use std::path::Path;
use tempfile::TempDir;

const CANARY: &str = "nothing of a tree may change this";
const GOOD: &str = "---\nname: tree\ndescription: Looks harmless.\n---\nBody\n";

/// A case: its name, and what makes it in the directory of the skill or template.
type Case = (&'static str, fn(&Path));

fn put(dir: &Path, name: &str, content: impl AsRef<[u8]>) {
    let path = dir.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
    fs::write(path, content).expect("a file");
}

fn good(dir: &Path) {
    put(dir, "SKILL.md", GOOD);
}

fn pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::from_raw_mode(0o600), 0).expect("a pipe");
}

fn frontmatter(dir: &Path, text: &str) {
    put(dir, "SKILL.md", format!("---\n{text}\n---\n"));
}

/// Trees that are no skills, or hold something that is not copied.
const SKILLS: &[Case] = &[
    ("without a SKILL.md", |dir| put(dir, "README.md", "x")),
    ("an empty SKILL.md", |dir| put(dir, "SKILL.md", "")),
    ("SKILL.md as a link out", |dir| {
        symlink("../../canary", dir.join("SKILL.md")).expect("a link");
    }),
    ("SKILL.md as a link inside", |dir| {
        put(dir, "real.md", GOOD);
        symlink("real.md", dir.join("SKILL.md")).expect("a link");
    }),
    ("SKILL.md as a dangling link", |dir| {
        symlink("nowhere", dir.join("SKILL.md")).expect("a link");
    }),
    ("SKILL.md as a link to itself", |dir| {
        symlink("SKILL.md", dir.join("SKILL.md")).expect("a link");
    }),
    ("SKILL.md as a pipe", |dir| pipe(&dir.join("SKILL.md"))),
    ("SKILL.md as a directory", |dir| {
        fs::create_dir(dir.join("SKILL.md")).expect("a directory");
    }),
    ("SKILL.md as a socket", |dir| {
        drop(UnixListener::bind(dir.join("SKILL.md")).expect("a socket"));
    }),
    ("SKILL.md as a link to a device", |dir| {
        symlink("/dev/zero", dir.join("SKILL.md")).expect("a link");
    }),
    ("a SKILL.md of a hundred megabytes", |dir| {
        let file = fs::File::create(dir.join("SKILL.md")).expect("a file");
        file.set_len(100 << 20).expect("a hole");
    }),
    ("a SKILL.md that is not UTF-8", |dir| {
        put(dir, "SKILL.md", b"---\nname: \xff\n---\n")
    }),
    ("no frontmatter", |dir| put(dir, "SKILL.md", "# Title\n")),
    ("frontmatter without an end", |dir| {
        put(dir, "SKILL.md", "---\nname: tree\ndescription: d\n");
    }),
    ("frontmatter of a megabyte", |dir| {
        put(
            dir,
            "SKILL.md",
            format!("---\n# {}\nname: tree\n---\n", "x".repeat(1 << 19)),
        );
    }),
    ("another name", |dir| {
        frontmatter(dir, "name: other\ndescription: d")
    }),
    ("a name that climbs", |dir| {
        frontmatter(dir, "name: ../tree\ndescription: d")
    }),
    ("a name with a slash", |dir| {
        frontmatter(dir, "name: a/tree\ndescription: d")
    }),
    ("a name in capitals", |dir| {
        frontmatter(dir, "name: Tree\ndescription: d")
    }),
    ("a name with a direction mark", |dir| {
        frontmatter(dir, "name: \"\u{202e}eert\"\ndescription: d");
    }),
    ("a name of another alphabet", |dir| {
        frontmatter(dir, "name: trеe\ndescription: d")
    }),
    ("a name that is a number", |dir| {
        frontmatter(dir, "name: 1\ndescription: d")
    }),
    ("a name that is a list", |dir| {
        frontmatter(dir, "name: [tree]\ndescription: d")
    }),
    ("two names", |dir| {
        frontmatter(dir, "name: tree\nname: tree\ndescription: d")
    }),
    ("no description", |dir| frontmatter(dir, "name: tree")),
    ("an empty description", |dir| {
        frontmatter(dir, "name: tree\ndescription: \"\"")
    }),
    ("a description that is too long", |dir| {
        frontmatter(
            dir,
            &format!("name: tree\ndescription: {}", "d".repeat(1_025)),
        );
    }),
    ("a description that is a mapping", |dir| {
        frontmatter(dir, "name: tree\ndescription:\n  a: b");
    }),
    ("a description with a bell", |dir| {
        frontmatter(dir, "name: tree\ndescription: a\u{7}b")
    }),
    ("anchors and aliases", |dir| {
        frontmatter(dir, "name: tree\ndescription: &a d\nmetadata:\n  x: *a");
    }),
    ("a bomb of aliases", |dir| {
        frontmatter(
            dir,
            "name: tree\ndescription: d\na: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]",
        );
    }),
    ("a tag that makes an object", |dir| {
        frontmatter(
            dir,
            "name: tree\ndescription: !!python/object/apply:os.system [id]",
        );
    }),
    ("a merge key", |dir| {
        frontmatter(dir, "<<: {name: tree}\nname: tree\ndescription: d")
    }),
    ("metadata that is nested", |dir| {
        frontmatter(dir, "name: tree\ndescription: d\nmetadata:\n  a:\n    b: c");
    }),
    ("a flow mapping", |dir| {
        frontmatter(dir, "{name: tree, description: d}")
    }),
    ("tabs for indentation", |dir| {
        frontmatter(dir, "name: tree\ndescription: d\nmetadata:\n\ta: b");
    }),
];

/// Trees that are skills and hold something that a copy refuses.
const COPIES: &[Case] = &[
    ("a link out of the tree", |dir| {
        good(dir);
        symlink("../../canary", dir.join("notes.md")).expect("a link");
    }),
    ("an absolute link", |dir| {
        good(dir);
        symlink("/etc/passwd", dir.join("notes.md")).expect("a link");
    }),
    ("a link inside the tree", |dir| {
        good(dir);
        symlink("SKILL.md", dir.join("again.md")).expect("a link");
    }),
    ("a directory that is a link", |dir| {
        good(dir);
        symlink("../..", dir.join("scripts")).expect("a link");
    }),
    ("a loop of directories", |dir| {
        good(dir);
        symlink(".", dir.join("self")).expect("a link");
    }),
    ("a pipe", |dir| {
        good(dir);
        pipe(&dir.join("scripts.fifo"));
    }),
    ("a socket", |dir| {
        good(dir);
        drop(UnixListener::bind(dir.join("s")).expect("a socket"));
    }),
    ("a pipe deep inside", |dir| {
        good(dir);
        fs::create_dir_all(dir.join("a/b/c")).expect("directories");
        pipe(&dir.join("a/b/c/p"));
    }),
    ("a name that is not UTF-8", |dir| {
        good(dir);
        fs::write(dir.join(OsStr::from_bytes(b"bad\xff")), "x").expect("a file");
    }),
    ("a name with a line end", |dir| {
        good(dir);
        put(dir, "a\nb", "x");
    }),
    ("a name with an escape", |dir| {
        good(dir);
        put(dir, "a\u{1b}[2Jb", "x");
    }),
    ("a name with a direction mark", |dir| {
        good(dir);
        put(dir, "a\u{202e}txt.sh", "x");
    }),
    ("a name with a backslash", |dir| {
        good(dir);
        put(dir, "..\\canary", "x");
    }),
    ("names that differ in case", |dir| {
        good(dir);
        put(dir, "Notes.md", "x");
        put(dir, "notes.md", "y");
    }),
    ("directories that differ in case", |dir| {
        good(dir);
        put(dir, "Scripts/a", "x");
        put(dir, "scripts/a", "y");
    }),
    ("too deep", |dir| {
        good(dir);
        put(dir, &format!("{}x", "d/".repeat(INSTALL_DEPTH + 2)), "x");
    }),
    ("too many files", |dir| {
        good(dir);
        for number in 0..=INSTALL_FILES {
            fs::write(dir.join(format!("f{number}")), "").expect("a file");
        }
    }),
    ("one file that is too large", |dir| {
        good(dir);
        let file = fs::File::create(dir.join("big")).expect("a file");
        file.set_len(INSTALL_BYTES + 1).expect("a hole");
    }),
    ("many files that are too large together", |dir| {
        good(dir);
        for number in 0..3 {
            let file = fs::File::create(dir.join(format!("big{number}"))).expect("a file");
            file.set_len(INSTALL_BYTES / 3 + 1).expect("a hole");
        }
    }),
];

/// Directories that are no templates.
const TEMPLATES: &[Case] = &[
    ("without an AGENTS.md", |dir| put(dir, "README.md", "x")),
    ("an empty AGENTS.md", |dir| put(dir, "AGENTS.md", " \n")),
    ("AGENTS.md as a link out", |dir| {
        symlink("../../canary", dir.join("AGENTS.md")).expect("a link");
    }),
    ("AGENTS.md as a pipe", |dir| pipe(&dir.join("AGENTS.md"))),
    ("AGENTS.md as a directory", |dir| {
        put(dir, "AGENTS.md/x", "x")
    }),
    ("AGENTS.md that is binary", |dir| {
        put(dir, "AGENTS.md", b"a\0b")
    }),
    ("AGENTS.md that is not UTF-8", |dir| {
        put(dir, "AGENTS.md", b"\xff\xfe")
    }),
    ("AGENTS.md that is too large", |dir| {
        let file = fs::File::create(dir.join("AGENTS.md")).expect("a file");
        file.set_len(INSTRUCTION_FILE_BYTES + 1).expect("a hole");
    }),
    ("skills.json as a link", |dir| {
        put(dir, "AGENTS.md", "x");
        symlink("../../canary", dir.join("skills.json")).expect("a link");
    }),
    ("skills.json as a pipe", |dir| {
        put(dir, "AGENTS.md", "x");
        pipe(&dir.join("skills.json"));
    }),
    ("skills.json that is too large", |dir| {
        put(dir, "AGENTS.md", "x");
        put(dir, "skills.json", " ".repeat(1 << 20));
    }),
    ("skills.json that is no JSON", |dir| skills(dir, "[")),
    ("skills.json that is a list", |dir| skills(dir, "[]")),
    ("skills.json without refs", |dir| skills(dir, "{}")),
    ("skills.json with another field", |dir| {
        skills(dir, r#"{"skill_refs":[],"hooks":["id"]}"#);
    }),
    ("skills.json with refs twice", |dir| {
        skills(dir, r#"{"skill_refs":[],"skill_refs":[]}"#)
    }),
    ("skills.json that is deeply nested", |dir| {
        skills(dir, &format!(r#"{{"skill_refs":{}"#, "[".repeat(30_000)));
    }),
    ("a ref of another kind", |dir| {
        reference(dir, r#"{"kind":"npm","name":"x"}"#)
    }),
    ("a ref without a kind", |dir| {
        reference(dir, r#"{"name":"ghx"}"#)
    }),
    ("a ref with another field", |dir| {
        reference(dir, r#"{"kind":"builtin","name":"ghx","run":"id"}"#);
    }),
    ("an unknown builtin", |dir| {
        reference(dir, r#"{"kind":"builtin","name":"nope"}"#)
    }),
    ("a builtin that climbs", |dir| {
        reference(dir, r#"{"kind":"builtin","name":"../ghx"}"#)
    }),
    ("the same skill twice", |dir| {
        reference(
            dir,
            r#"{"kind":"builtin","name":"ghx"},{"kind":"builtin","name":"ghx"}"#,
        );
    }),
    ("a good ref before a bad one", |dir| {
        reference(
            dir,
            r#"{"kind":"builtin","name":"ghx"},{"kind":"builtin","name":"nope"}"#,
        );
    }),
    ("a relative path", |dir| {
        reference(dir, r#"{"kind":"local","path":"skills/x"}"#)
    }),
    ("a path that climbs", |dir| {
        reference(dir, r#"{"kind":"local","path":"/tmp/../etc"}"#)
    }),
    ("a path to nothing", |dir| {
        reference(dir, r#"{"kind":"local","path":"/nonexistent/x"}"#)
    }),
    ("a path to a file", |dir| {
        reference(dir, r#"{"kind":"local","path":"/etc/passwd"}"#)
    }),
    ("a path to a directory that is no skill", |dir| {
        reference(dir, r#"{"kind":"local","path":"/etc"}"#);
    }),
    ("a package that is an option", |dir| {
        reference(dir, r#"{"kind":"github","package":"--upload-pack=id@x"}"#);
    }),
    ("a package that climbs", |dir| {
        reference(dir, r#"{"kind":"github","package":"a/../b@x"}"#);
    }),
    ("a package with another host", |dir| {
        reference(
            dir,
            r#"{"kind":"github","package":"https://evil.example/a/b@x"}"#,
        );
    }),
    ("a package with a line end", |dir| {
        reference(dir, r#"{"kind":"github","package":"a/b@x\n--force"}"#);
    }),
    ("too many refs", |dir| {
        let many = vec![r#"{"kind":"builtin","name":"ghx"}"#; 33];
        reference(dir, &many.join(","));
    }),
];

fn skills(dir: &Path, text: &str) {
    put(dir, "AGENTS.md", "# Role\n");
    put(dir, "skills.json", text);
}

fn reference(dir: &Path, refs: &str) {
    skills(dir, &format!(r#"{{"skill_refs":[{refs}]}}"#));
}

/// A directory with a canary, an agent's home and a tree.
struct Stage(TempDir);

impl Stage {
    fn new(make: fn(&Path)) -> Self {
        let dir = TempDir::new().expect("a directory");
        fs::write(dir.path().join("canary"), CANARY).expect("a canary");
        let stage = Self(dir);
        fs::create_dir_all(stage.home()).expect("a home");
        fs::create_dir_all(stage.tree()).expect("a tree");
        make(&stage.tree());
        stage
    }

    fn home(&self) -> std::path::PathBuf {
        self.0.path().join("agents/main")
    }

    /// The tree, in a root of skills.
    fn tree(&self) -> std::path::PathBuf {
        self.0.path().join("project/.agents/skills/tree")
    }

    fn is_untouched(&self, case: &str) {
        let canary = fs::read_to_string(self.0.path().join("canary")).expect("a canary");
        assert_eq!(canary, CANARY, "{case}");
    }

    fn entries(&self, dir: &Path) -> Vec<String> {
        let Ok(entries) = fs::read_dir(dir) else {
            return Vec::new();
        };
        let name = |entry: std::io::Result<fs::DirEntry>| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        };
        entries.map(name).collect()
    }
}

#[test]
fn the_table_has_enough_cases() {
    assert!(SKILLS.len() + COPIES.len() + TEMPLATES.len() >= 60);
}

#[test]
fn no_hostile_skill_is_installed_or_leaves_anything_behind() {
    for (case, make) in SKILLS.iter().chain(COPIES) {
        let stage = Stage::new(*make);
        let source = SkillSource::Local {
            path: stage.tree().display().to_string(),
            mode: InstallMode::Copied,
        };
        let installed = install(&stage.home(), &source);
        assert!(installed.is_err(), "{case}: {installed:?}");
        let left = stage.entries(&stage.home().join("skills"));
        assert_eq!(left, Vec::<String>::new(), "{case}");
        stage.is_untouched(case);
    }
}

#[test]
fn no_hostile_skill_of_a_project_is_listed() {
    for (case, make) in SKILLS {
        let stage = Stage::new(*make);
        let roots = GuidanceRoots {
            kind: AgentKind::Default,
            agent_home: stage.home().display().to_string(),
            workspace_anchor: Some(stage.0.path().join("project").display().to_string()),
        };
        let now = Timestamp::from_millis(0);
        let catalog = SkillReader::new(None).read(&roots, now);
        assert!(
            catalog.discoverable_skills.is_empty(),
            "{case}: {catalog:?}"
        );
        stage.is_untouched(case);
    }
}

#[test]
fn no_hostile_template_is_applied_or_leaves_anything_behind() {
    for (case, make) in TEMPLATES {
        let stage = Stage::new(*make);
        let path = stage.tree().display().to_string();
        let store = TemplateStore::of_user(Some(stage.0.path()), no_fetcher());
        let selector = TemplateSelector::parse(&path).expect("a path");
        let resolved = store.resolve(&selector);
        assert!(resolved.is_err(), "{case}: {resolved:?}");
        assert_eq!(stage.entries(&stage.home()), Vec::<String>::new(), "{case}");
        stage.is_untouched(case);
    }
}

#[test]
fn a_skill_that_turns_bad_after_the_check_leaves_no_half_of_a_home() {
    let stage = Stage::new(good);
    let template = stage.0.path().join("template");
    let refs = format!(
        r#"{{"kind":"builtin","name":"ghx"}},{{"kind":"local","path":"{}"}}"#,
        stage.tree().display()
    );
    reference(&template, &refs);
    let store = TemplateStore::of_user(None, no_fetcher());
    let selector = TemplateSelector::parse(&template.display().to_string()).expect("a path");
    let resolved = store.resolve(&selector).expect("a template");
    fs::remove_file(stage.tree().join("SKILL.md")).expect("removed");
    let order = TemplateOrder {
        selector: selector.to_string(),
        seed: None,
        applied_at: Timestamp::from_millis(0),
    };
    let home = stage.0.path().join("agents/new");
    assert!(apply_template(&home, &resolved, &order).is_err());
    assert_eq!(stage.entries(&stage.0.path().join("agents")), ["main"]);
}

#[test]
fn a_copy_keeps_no_more_than_the_execute_bit() {
    let stage = Stage::new(|dir| {
        good(dir);
        put(dir, "scripts/run.sh", "#!/bin/sh\n");
        put(dir, "notes.md", "x");
        put(dir, ".git/config", "[core]\n");
        let mode = |name: &str, mode| {
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(dir.join(name), mode).expect("a mode");
        };
        mode("scripts/run.sh", 0o6755);
        mode("notes.md", 0o666);
    });
    let source = SkillSource::Local {
        path: stage.tree().display().to_string(),
        mode: InstallMode::Copied,
    };
    install(&stage.home(), &source).expect("installed");
    let place = stage.home().join("skills/tree");
    let mode = |name: &str| {
        let found = fs::metadata(place.join(name)).expect("a file");
        found.permissions().mode() & 0o7777
    };
    assert_eq!((mode("scripts/run.sh"), mode("notes.md")), (0o700, 0o600));
    assert!(!place.join(".git").exists());
}
