//! Files that an agent or a repository owns: a pipe in their place makes no reader wait, and a link leads nowhere.

use crate::git::fixture::World;
use crate::hub::{install, no_fetcher};
use holon_domain::guidance::SkillSource;
use holon_domain::workspace::UseMode;
use holon_workspace::{Attachment, BUILTIN_SKILLS, TemplateStore, installed_skills};
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;
use tempfile::TempDir;

/// Longest time that a read may take on a busy machine. A read of a pipe without a writer takes for ever.
const PATIENCE: Duration = Duration::from_secs(60);

/// Puts a pipe that has no writer at a path.
pub(crate) fn make_pipe(path: &Path) {
    mknodat(CWD, path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
}

/// Runs a function on a thread of its own, and fails if it waits for something that never comes.
pub(crate) fn within<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, result) = mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    result
        .recv_timeout(PATIENCE)
        .expect("an answer without a writer")
}

#[test]
fn a_pipe_in_the_place_of_an_installation_record_is_named() {
    let home = TempDir::new().unwrap();
    let source = SkillSource::Builtin {
        name: BUILTIN_SKILLS[0].name.to_owned(),
    };
    let skill = install(home.path(), &source).unwrap();
    let place = home.path().join("skills").join(skill);
    let record = place.join(".holon-skill-install.json");
    fs::remove_file(&record).unwrap();
    make_pipe(&record);
    let agent_home = home.path().to_owned();
    let listed = within(move || installed_skills(&agent_home)).unwrap();
    let warning = listed[0].warning.as_deref().expect("a warning");
    assert!(warning.contains("not a regular file"), "{warning}");
}

#[test]
fn a_template_with_a_pipe_or_a_link_for_its_marker_is_the_users() {
    for make in [make_pipe, |path: &Path| {
        symlink("/etc/hostname", path).unwrap()
    }] {
        let user = TempDir::new().unwrap();
        let store = TemplateStore::of_user(Some(user.path()), no_fetcher());
        let seeded = store.seed_builtins().unwrap().written;
        let place = user.path().join(".agents/templates").join(seeded[0]);
        let marker = place.join(".holon-builtin-template.json");
        fs::remove_file(&marker).unwrap();
        make(&marker);
        let report = within(move || store.seed_builtins()).unwrap();
        assert_eq!(report.left, [seeded[0]]);
    }
}

#[test]
fn an_attachment_record_that_cannot_be_read_is_an_error_and_stays() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("a pipe", make_pipe),
        ("a link", |path| symlink("elsewhere.json", path).unwrap()),
        ("garbage", |path| fs::write(path, "{\"root\":").unwrap()),
        ("a directory", |path| fs::create_dir(path).unwrap()),
    ];
    for (name, damage) in damages {
        for is_former in [false, true] {
            let dir = TempDir::new().unwrap();
            let base = dir.path().canonicalize().unwrap();
            fs::create_dir(base.join("project")).unwrap();
            fs::create_dir(base.join("state")).unwrap();
            let (own, former) = (base.join("state/new.json"), base.join("state/old.json"));
            damage(if is_former { &former } else { &own });
            let attachment = Attachment::at(own.clone()).with_former_record(former);
            let project = base.join("project");
            let used = attachment.clone();
            let refused = within(move || used.open(&project, None)).unwrap_err();
            assert!(
                refused.to_string().contains("cannot be read"),
                "{name}: {refused}"
            );
            let used = attachment.clone();
            within(move || used.renew(None)).unwrap_err();
            assert_eq!(fs::symlink_metadata(&own).is_ok(), !is_former, "{name}");
        }
    }
}

/// The repository owns its administrative directories, and git is interrupted where a record says so.
#[test]
fn a_pipe_in_an_administrative_directory_does_not_hold_up_a_creation() {
    for file in ["locked", "gitdir"] {
        let world = World::new();
        let order = world.by_path(&world.repo(), UseMode::Isolated);
        let made = world.selection().select(&order).unwrap();
        let record = Path::new(&made.entry.execution_root).with_extension("json");
        let text = fs::read_to_string(&record).unwrap();
        fs::write(&record, text.replace("\"ready\"", "\"creating\"")).unwrap();
        let admins = world.repo().join(".git/worktrees");
        let admin = fs::read_dir(admins)
            .unwrap()
            .next()
            .unwrap()
            .unwrap()
            .path();
        let place = admin.join(file);
        if place.exists() {
            fs::remove_file(&place).unwrap();
        }
        make_pipe(&place);
        let selection = world.selection();
        let again = within(move || selection.select(&order));
        assert_eq!(again.is_ok(), file == "locked", "{file}: {again:?}");
    }
}
