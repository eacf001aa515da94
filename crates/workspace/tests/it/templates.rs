//! Templates: found by selector, written to the user's directory, and made into homes.

use crate::hub::no_fetcher;
use holon_domain::template::TemplateSelector;
use holon_domain::time::Timestamp;
use holon_workspace::{
    BUILTIN_TEMPLATES, TemplateError, TemplateOrder, TemplateOrigin, TemplateStore, apply_template,
    confirm_home, ensure_guide, make_home,
};
use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

fn id(text: &str) -> TemplateSelector {
    TemplateSelector::parse(text).expect("a selector")
}

fn order(seed: Option<&str>) -> TemplateOrder {
    TemplateOrder {
        selector: "x".to_owned(),
        seed: seed.map(str::to_owned),
        applied_at: Timestamp::from_millis(1_794_700_000_000),
    }
}

fn names(dir: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(dir).expect("a directory");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry
            .expect("an entry")
            .file_name()
            .into_string()
            .expect("a name")
    };
    entries.map(name).collect()
}

fn store(user: &TempDir) -> (TemplateStore, PathBuf) {
    let store = TemplateStore::of_user(Some(user.path()), no_fetcher());
    (store, user.path().join(".agents/templates"))
}

#[test]
fn the_builtin_templates_are_usable_without_being_written() {
    let user = TempDir::new().expect("a directory");
    let (store, dir) = store(&user);
    for template in BUILTIN_TEMPLATES {
        let found = store.resolve(&id(template.id)).expect("a template");
        assert_eq!(found.origin, TemplateOrigin::Builtin);
        assert_eq!(found.agents_md, template.agents_md);
        assert!(found.agents_md.starts_with("# Role\n"), "{}", template.id);
    }
    assert!(!dir.exists(), "reading writes nothing");
    assert_eq!(store.list().len(), BUILTIN_TEMPLATES.len());
    let unknown = store.resolve(&id("nope")).expect_err("no template");
    assert!(unknown.to_string().contains("holon-default"), "{unknown}");
    let remote = "https://github.com/acme/agents/tree/main/reviewer";
    assert!(matches!(
        store.resolve(&id(remote)),
        Err(TemplateError::Fetch { .. })
    ));
}

#[test]
fn seeding_writes_what_is_missing_and_refreshes_only_what_is_unchanged() {
    let user = TempDir::new().expect("a directory");
    let (store, dir) = store(&user);
    let first = store.seed_builtins().expect("seeded");
    assert_eq!(first.written.len(), BUILTIN_TEMPLATES.len());
    let again = store.seed_builtins().expect("seeded");
    assert_eq!(
        (again.written.len(), again.refreshed.len(), again.left.len()),
        (0, 0, 0)
    );
    assert_eq!(
        names(&dir).len(),
        BUILTIN_TEMPLATES.len(),
        "no temporary directory is left"
    );

    // As an earlier build wrote it: another text, with the marker that belongs to it.
    let old = dir.join("holon-reviewer");
    fs::write(old.join("AGENTS.md"), "# Role\n\nOld text.\n").expect("a file");
    assert_eq!(
        store.seed_builtins().expect("seeded").left,
        ["holon-reviewer"]
    );
    let digest = store
        .resolve(&id("holon-reviewer"))
        .expect("a template")
        .sha256;
    let marker = format!("{{\"sha256\":\"{digest}\"}}");
    fs::write(old.join(".holon-builtin-template.json"), marker).expect("a marker");
    assert_eq!(
        store.seed_builtins().expect("seeded").refreshed,
        ["holon-reviewer"]
    );
    let text = fs::read_to_string(old.join("AGENTS.md")).expect("a file");
    assert!(!text.contains("Old text"));

    // The user changed one, added to another, removed a third and put a link in place of a fourth.
    fs::write(dir.join("holon-default/AGENTS.md"), "# Role\n\nMine.\n").expect("a file");
    fs::write(dir.join("holon-release/notes.md"), "mine").expect("a file");
    fs::remove_dir_all(dir.join("holon-developer")).expect("removed");
    fs::rename(dir.join("holon-reviewer"), user.path().join("moved")).expect("moved");
    symlink(user.path().join("moved"), dir.join("holon-reviewer")).expect("a link");
    let report = store.seed_builtins().expect("seeded");
    assert_eq!(report.written, ["holon-developer"]);
    let left: BTreeSet<&str> = report.left.into_iter().collect();
    assert!(
        left.contains("holon-default") && left.contains("holon-reviewer"),
        "{left:?}"
    );
    let kept = store.resolve(&id("holon-default")).expect("a template");
    assert!(kept.agents_md.contains("Mine."));
    assert!(
        store.resolve(&id("holon-reviewer")).is_err(),
        "a link is no template"
    );
}

#[test]
fn a_home_from_a_template_is_complete_and_names_its_origin() {
    let user = TempDir::new().expect("a directory");
    let (store, _) = store(&user);
    let home = user.path().join("agents/solver");
    let template = store
        .resolve(&id("holon-github-solve"))
        .expect("a template");
    apply_template(&home, &template, &order(Some("Work for the kernel team."))).expect("made");
    let parts = ["AGENTS.md", "memory", "notes", "work", "skills", ".holon"];
    assert_eq!(names(&home), parts.map(str::to_owned).into());
    let text = fs::read_to_string(home.join("AGENTS.md")).expect("a file");
    let places: Vec<Option<usize>> = [
        "# Role",
        "## This home",
        "## From your operator",
        "kernel team",
    ]
    .iter()
    .map(|part| text.find(part))
    .collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{text}"
    );
    let skills = [
        "ghx",
        "github-issue-solve",
        "github-pr-fix",
        "github-review",
    ];
    assert_eq!(
        names(&home.join("skills")),
        skills.map(str::to_owned).into()
    );
    let record = fs::read(home.join(".holon/state/template-provenance.json")).expect("a record");
    let record: serde_json::Value = serde_json::from_slice(&record).expect("JSON");
    assert_eq!(record["template_id"], "holon-github-solve");
    assert_eq!(record["origin"], "builtin");
    assert_eq!(record["sha256"], template.sha256.as_str());
    confirm_home(&home).expect("confirmed");
    confirm_home(&home).expect("once more");
    assert_eq!(
        names(&home.join(".holon/state")),
        ["template-provenance.json".to_owned()].into()
    );
}

#[test]
fn a_home_that_is_in_use_is_left_alone_and_a_leftover_is_replaced() {
    let user = TempDir::new().expect("a directory");
    let (store, _) = store(&user);
    let template = store.resolve(&id("holon-reviewer")).expect("a template");
    let home = user.path().join("agents/main");
    apply_template(&home, &template, &order(None)).expect("made");
    // The agent was not stored: the next attempt takes the place.
    fs::write(home.join("half"), "x").expect("a file");
    apply_template(&home, &template, &order(None)).expect("made again");
    assert!(!home.join("half").exists());
    confirm_home(&home).expect("confirmed");
    assert!(matches!(
        apply_template(&home, &template, &order(None)),
        Err(TemplateError::HomeInUse { .. })
    ));
    let empty = user.path().join("agents/empty");
    fs::create_dir(&empty).expect("a directory");
    apply_template(&empty, &template, &order(None)).expect("made");
    let linked = user.path().join("agents/linked");
    symlink(&empty, &linked).expect("a link");
    assert!(apply_template(&linked, &template, &order(None)).is_err());
}

#[test]
fn a_missing_guide_is_written_and_an_existing_one_is_not_changed() {
    let dir = TempDir::new().expect("a directory");
    let home = dir.path().join("agents/main");
    let guide = home.join("AGENTS.md");
    ensure_guide(&home).expect("made");
    let first = fs::read_to_string(&guide).expect("a guide");
    assert!(
        first.starts_with("# Role\n") && first.contains("## This home"),
        "{first}"
    );
    fs::write(&guide, "mine").expect("a file");
    ensure_guide(&home).expect("left");
    assert_eq!(fs::read_to_string(&guide).expect("a guide"), "mine");
    fs::remove_file(&guide).expect("removed");
    ensure_guide(&home).expect("made");
    assert_eq!(fs::read_to_string(&guide).expect("a guide"), first);
    fs::remove_file(&guide).expect("removed");
    symlink("elsewhere", &guide).expect("a link");
    ensure_guide(&home).expect("left");
    assert!(guide.is_symlink());
    assert_eq!(
        names(&home),
        ["AGENTS.md", "memory"].map(str::to_owned).into()
    );
    let other = dir.path().join("agents/other");
    make_home(&other, || true).expect("made");
    assert_eq!(
        fs::read_to_string(other.join("AGENTS.md")).expect("a guide"),
        first
    );
}

#[test]
fn a_guide_that_would_be_too_large_to_load_is_refused_and_nothing_is_left() {
    let user = TempDir::new().expect("a directory");
    let (store, dir) = store(&user);
    let template = dir.join("long");
    fs::create_dir_all(&template).expect("a directory");
    let text = format!("# Role\n\n{}\n", "word ".repeat(11 << 10));
    fs::write(template.join("AGENTS.md"), text).expect("a file");
    let template = store.resolve(&id("long")).expect("a template");
    let home = user.path().join("home");
    let seed = "seed ".repeat(3 << 10);
    let refused = apply_template(&home, &template, &order(Some(&seed))).expect_err("refused");
    let refused = refused.to_string();
    assert!(
        refused.contains("shorten the template or the seed"),
        "{refused}"
    );
    assert!(!home.exists());
    apply_template(&home, &template, &order(None)).expect("made");
}
