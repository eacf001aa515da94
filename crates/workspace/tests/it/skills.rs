//! Skills: the first root of each scope, roles, and installation into a home.

use crate::hub::install;
use holon_domain::agent::AgentKind;
use holon_domain::guidance::{GuidanceRoots, InstallMode, SkillCatalog, SkillScope, SkillSource};
use holon_domain::time::Timestamp;
use holon_workspace::{
    BUILTIN_SKILLS, SkillError, SkillReader, installed_skills, skill_change, uninstall_skill,
};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

const LATER: Timestamp = Timestamp::from_millis(4_000_000_000_000);

/// Writes a skill and returns its directory.
fn skill(root: &Path, name: &str, description: &str) -> PathBuf {
    let dir = root.join(name);
    fs::create_dir_all(&dir).expect("a directory");
    let text = format!("---\nname: {name}\ndescription: {description}\n---\nThe body.\n");
    fs::write(dir.join("SKILL.md"), text).expect("a file");
    dir
}

/// A user with an agent and a project.
struct Roots {
    dir: TempDir,
    reader: SkillReader,
}

impl Roots {
    fn new() -> Self {
        let dir = TempDir::new().expect("a directory");
        for root in ["user", "home", "project"] {
            fs::create_dir_all(dir.path().join(root)).expect("a root");
        }
        let reader = SkillReader::new(Some(dir.path().join("user")));
        Self { dir, reader }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn read_as(&self, kind: AgentKind) -> SkillCatalog {
        let roots = GuidanceRoots {
            kind,
            agent_home: self.path("home").display().to_string(),
            workspace_anchor: Some(self.path("project").display().to_string()),
        };
        self.reader.read(&roots, LATER)
    }

    fn ids(&self, kind: AgentKind) -> Vec<String> {
        let skills = self.read_as(kind).discoverable_skills;
        skills.into_iter().map(|skill| skill.skill_id).collect()
    }
}

#[test]
fn each_scope_has_its_first_existing_root_and_no_other() {
    let roots = Roots::new();
    assert_eq!(roots.read_as(AgentKind::Default), SkillCatalog::default());
    for (root, name) in [
        ("user/.claude/skills", "u3"),
        ("user/.codex/skills", "u2"),
        ("home/.claude/skills", "a4"),
        ("home/.codex/skills", "a3"),
        ("home/.agents/skills", "a2"),
        ("project/.claude/skills", "w3"),
        ("project/.codex/skills", "w2"),
    ] {
        skill(&roots.path(root), name, "d");
    }
    let ids = || roots.ids(AgentKind::Default);
    assert_eq!(ids(), ["user:u2", "agent:a2", "workspace:w2"]);
    skill(&roots.path("user/.agents/skills"), "u1", "d");
    skill(&roots.path("home/skills"), "a1", "d");
    // An empty root counts too.
    fs::create_dir_all(roots.path("project/.agents/skills")).expect("a root");
    assert_eq!(ids(), ["user:u1", "agent:a1"]);
    let found = roots.read_as(AgentKind::Default).discovered_roots;
    assert_eq!(found.len(), 3);
    assert_eq!(found[2].scope, SkillScope::Workspace);
    assert!(found[2].path.ends_with("project/.agents/skills"));
}

#[test]
fn the_users_skills_are_for_the_default_agent_only() {
    let roots = Roots::new();
    for root in [
        "user/.agents/skills",
        "home/skills",
        "project/.agents/skills",
    ] {
        skill(&roots.path(root), "same", "d");
    }
    assert_eq!(
        roots.ids(AgentKind::Default),
        ["user:same", "agent:same", "workspace:same"],
        "no skill hides another of its name"
    );
    for kind in [AgentKind::Named, AgentKind::Child] {
        assert_eq!(roots.ids(kind), ["agent:same", "workspace:same"]);
    }
}

#[test]
fn a_catalogue_holds_metadata_and_follows_changes() {
    let roots = Roots::new();
    let dir = skill(&roots.path("project/.agents/skills"), "pdf", "Fills forms.");
    let read = || roots.read_as(AgentKind::Named);
    let entry = read().discoverable_skills.remove(0);
    assert_eq!(
        (entry.name.as_str(), entry.description.as_str()),
        ("pdf", "Fills forms.")
    );
    assert_eq!(entry.path, dir.join("SKILL.md").display().to_string());
    assert!(!format!("{:?}", read()).contains("The body"));
    skill(
        &roots.path("project/.agents/skills"),
        "pdf",
        "Fills and merges.",
    );
    assert_eq!(
        read().discoverable_skills[0].description,
        "Fills and merges."
    );
    fs::write(dir.join("SKILL.md"), "no frontmatter").expect("a file");
    let broken = read();
    assert!(broken.discoverable_skills.is_empty());
    assert_eq!(broken.notes.len(), 1);
    assert!(
        broken.notes[0].note.contains("does not begin with"),
        "{broken:?}"
    );
}

#[test]
fn links_lead_to_skills_of_the_agent_and_the_user_but_not_of_a_project() {
    let roots = Roots::new();
    let elsewhere = skill(&roots.path("elsewhere"), "linked", "d");
    for root in [
        "user/.agents/skills",
        "home/skills",
        "project/.agents/skills",
    ] {
        fs::create_dir_all(roots.path(root)).expect("a root");
        symlink(&elsewhere, roots.path(root).join("linked")).expect("a link");
    }
    let catalog = roots.read_as(AgentKind::Default);
    let ids: Vec<&str> = catalog
        .discoverable_skills
        .iter()
        .map(|skill| skill.skill_id.as_str())
        .collect();
    assert_eq!(ids, ["user:linked", "agent:linked"]);
    assert!(catalog.notes[0].note.contains("must not be a link"));
    // A root that is a link is named and not followed; no later root takes its place.
    fs::remove_dir_all(roots.path("project/.agents")).expect("removed");
    symlink(roots.path("elsewhere"), roots.path("project/.agents")).expect("a link");
    skill(&roots.path("project/.codex/skills"), "other", "d");
    let catalog = roots.read_as(AgentKind::Named);
    assert_eq!(catalog.discoverable_skills.len(), 1, "{catalog:?}");
    assert!(catalog.notes[0].path.ends_with("project/.agents/skills"));
}

#[test]
fn a_builtin_skill_is_installed_listed_and_removed() {
    let roots = Roots::new();
    let home = roots.path("home");
    for builtin in BUILTIN_SKILLS {
        let source = SkillSource::Builtin {
            name: builtin.name.to_owned(),
        };
        assert_eq!(install(&home, &source).expect("installed"), builtin.name);
        let again = install(&home, &source);
        assert!(matches!(again, Err(SkillError::AlreadyInstalled { .. })));
    }
    let names: Vec<String> = installed_skills(&home)
        .expect("a list")
        .into_iter()
        .map(|skill| {
            assert_eq!(skill.warning, None);
            assert_eq!(skill.install_mode, Some(InstallMode::Copied));
            skill.name
        })
        .collect();
    assert_eq!(names, BUILTIN_SKILLS.map(|skill| skill.name.to_owned()));
    assert_eq!(roots.ids(AgentKind::Named).len(), BUILTIN_SKILLS.len());
    uninstall_skill(&home, "ghx").expect("removed");
    assert!(matches!(
        uninstall_skill(&home, "ghx"),
        Err(SkillError::NotInstalled { .. })
    ));
    assert!(matches!(
        uninstall_skill(&home, "../home"),
        Err(SkillError::Name { .. })
    ));
    let unknown = SkillSource::Builtin {
        name: "nope".to_owned(),
    };
    let refused = install(&home, &unknown).expect_err("refused");
    assert!(refused.to_string().contains("ghx"), "{refused}");
}

#[test]
fn a_local_skill_is_linked_or_copied_and_a_changed_copy_is_told() {
    let roots = Roots::new();
    let home = roots.path("home");
    let linked = skill(&roots.path("source"), "linked", "one");
    let copied = skill(&roots.path("source"), "copied", "one");
    for (path, mode) in [
        (&linked, InstallMode::Linked),
        (&copied, InstallMode::Copied),
    ] {
        let path = path.display().to_string();
        install(&home, &SkillSource::Local { path, mode }).expect("installed");
    }
    skill(&roots.path("source"), "linked", "two");
    skill(&roots.path("source"), "copied", "two");
    let catalog = roots.read_as(AgentKind::Named);
    let described: Vec<&str> = catalog
        .discoverable_skills
        .iter()
        .map(|skill| skill.description.as_str())
        .collect();
    assert_eq!(
        described,
        ["one", "two"],
        "a link shows changes of its source"
    );
    // Python leaves its cache beside a script that ran. That is no change.
    let cache = home.join("skills/copied/scripts/__pycache__");
    fs::create_dir_all(&cache).expect("a directory");
    fs::write(cache.join("run.cpython-312.pyc"), "x").expect("a file");
    fs::write(home.join("skills/copied/scripts/old.pyc"), "x").expect("a file");
    let entrypoint = home.join("skills/copied/SKILL.md");
    assert_eq!(skill_change(&entrypoint), None);
    assert_eq!(installed_skills(&home).expect("a list")[0].warning, None);
    fs::write(home.join("skills/copied/added"), "x").expect("a file");
    assert!(skill_change(&entrypoint).is_some());
    fs::remove_dir_all(&linked).expect("removed");
    let list = installed_skills(&home).expect("a list");
    assert!(
        list[0]
            .warning
            .as_ref()
            .is_some_and(|told| told.contains("changed since"))
    );
    assert_eq!(list[1].link_target, Some(linked.display().to_string()));
    assert!(list[1].warning.is_some(), "the link leads nowhere");
    uninstall_skill(&home, "linked").expect("removed");
    uninstall_skill(&home, "copied").expect("removed");
    assert!(copied.join("SKILL.md").exists(), "the source stays");
    assert_eq!(
        fs::read_dir(home.join("skills")).expect("a root").count(),
        0
    );
}

#[test]
fn a_skill_in_a_directory_with_another_name_is_noted() {
    let roots = Roots::new();
    let root = roots.path("home/skills");
    skill(&root, "good", "d");
    for name in ["My_Skill", ".hidden", "Docs"] {
        fs::create_dir_all(root.join(name)).expect("a directory");
    }
    for name in ["My_Skill", ".hidden"] {
        fs::write(root.join(name).join("SKILL.md"), "x").expect("a file");
    }
    let catalog = roots.read_as(AgentKind::Named);
    assert_eq!(catalog.discoverable_skills.len(), 1);
    let [note] = catalog.notes.as_slice() else {
        panic!("{:?}", catalog.notes);
    };
    assert!(note.path.ends_with("skills/My_Skill"), "{}", note.path);
    assert!(note.note.contains("lower-case"), "{}", note.note);
}
