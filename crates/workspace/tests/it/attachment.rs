//! An agent works in the directory it was attached to, and in no other that takes its place.

use holon_workspace::{AttachedRoot, Attachment, TreeError};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A project, another directory beside it, and the record of an attachment.
struct AttachmentFixture {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl AttachmentFixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        for name in ["project", "other"] {
            fs::create_dir(base.join(name)).unwrap();
        }
        Self { _dir: dir, base }
    }

    fn project(&self) -> PathBuf {
        self.base.join("project")
    }

    fn attachment(&self) -> Attachment {
        Attachment::at(self.base.join("state/root.json"))
    }

    /// Returns true if files may be changed in the project.
    fn opens(&self) -> bool {
        match self.attachment().open(&self.project(), None) {
            Ok(_) => true,
            Err(TreeError::Replaced { .. }) => false,
            Err(other) => panic!("{other}"),
        }
    }

    fn replace_by_directory(&self) {
        fs::rename(self.project(), self.base.join("moved")).unwrap();
        fs::rename(self.base.join("other"), self.project()).unwrap();
    }

    fn replace_by_link(&self) {
        fs::rename(self.project(), self.base.join("moved")).unwrap();
        symlink("other", self.project()).unwrap();
    }
}

#[test]
fn another_directory_or_a_link_in_its_place_is_refused_until_the_attachment_is_renewed() {
    for replace in [
        AttachmentFixture::replace_by_directory,
        AttachmentFixture::replace_by_link,
    ] {
        let fixture = AttachmentFixture::new();
        assert!(fixture.opens() && fixture.opens());
        replace(&fixture);
        assert!(!fixture.opens() && !fixture.opens());
        fixture.attachment().renew(None).unwrap();
        assert!(fixture.opens() && fixture.opens());
    }
}

#[test]
fn a_link_on_the_way_to_it_is_noticed_even_where_it_leads_to_the_same_directory() {
    let fixture = AttachmentFixture::new();
    assert!(fixture.opens());
    fs::rename(fixture.project(), fixture.base.join("moved")).unwrap();
    symlink("moved", fixture.project()).unwrap();
    assert!(!fixture.opens());
}

#[test]
fn a_directory_that_is_put_back_is_the_same_one() {
    let fixture = AttachmentFixture::new();
    assert!(fixture.opens());
    fixture.replace_by_directory();
    fs::rename(fixture.project(), fixture.base.join("other")).unwrap();
    fs::rename(fixture.base.join("moved"), fixture.project()).unwrap();
    assert!(fixture.opens());
}

#[test]
fn what_was_seen_when_the_agent_was_attached_counts_from_then_on() {
    let fixture = AttachmentFixture::new();
    let seen = AttachedRoot::inspect(&fixture.project()).unwrap();
    fixture.replace_by_directory();
    for _ in 0..2 {
        let refused = fixture
            .attachment()
            .open(&fixture.project(), Some(seen.clone()))
            .unwrap_err();
        assert!(matches!(refused, TreeError::Replaced { .. }), "{refused}");
    }
    assert!(!fixture.opens(), "it is on record");
    // The operator named the path again and means the current directory.
    let seen = AttachedRoot::inspect(&fixture.project()).unwrap();
    let opened = fixture.attachment().open(&fixture.project(), Some(seen));
    assert!(opened.is_ok() && fixture.opens());
}

#[test]
fn a_start_attaches_to_what_is_there_whatever_was_seen_before() {
    let fixture = AttachmentFixture::new();
    assert!(fixture.opens());
    let seen = AttachedRoot::inspect(&fixture.project()).unwrap();
    fixture.replace_by_directory();
    fixture.attachment().renew(Some(seen)).unwrap();
    assert!(fixture.opens());
}

#[test]
fn another_path_is_another_attachment() {
    let fixture = AttachmentFixture::new();
    assert!(fixture.opens());
    let other = fixture.base.join("other");
    assert!(fixture.attachment().open(&other, None).is_ok());
    fs::rename(&other, fixture.base.join("away")).unwrap();
    fs::create_dir(&other).unwrap();
    assert!(fixture.attachment().open(&other, None).is_err());
    assert!(fixture.opens());
}

#[test]
fn an_attachment_is_renewed_to_nothing_while_there_is_no_directory() {
    let fixture = AttachmentFixture::new();
    assert!(fixture.opens());
    fs::remove_dir(fixture.project()).unwrap();
    let missing = fixture
        .attachment()
        .open(&fixture.project(), None)
        .unwrap_err();
    assert!(matches!(missing, TreeError::Io { .. }), "{missing}");
    fixture.attachment().renew(None).unwrap();
    fixture.attachment().renew(None).unwrap();
    fs::create_dir(fixture.project()).unwrap();
    assert!(fixture.opens());
}

#[test]
fn the_first_start_puts_on_record_what_was_seen() {
    let fixture = AttachmentFixture::new();
    let seen = AttachedRoot::inspect(&fixture.project()).unwrap();
    fixture.attachment().renew(Some(seen)).unwrap();
    fixture.replace_by_directory();
    assert!(!fixture.opens());
}

#[test]
fn a_record_of_an_earlier_build_counts_until_there_is_one_in_the_new_place() {
    let fixture = AttachmentFixture::new();
    let former = fixture.base.join("former/root.json");
    let before = Attachment::at(former.clone());
    before.open(&fixture.project(), None).unwrap();
    let moved = || fixture.attachment().with_former_record(former.clone());
    moved().open(&fixture.project(), None).unwrap();
    fixture.replace_by_directory();
    let refused = moved().open(&fixture.project(), None).unwrap_err();
    assert!(matches!(refused, TreeError::Replaced { .. }), "{refused}");
    // A start attaches the agent to the current directory, and records that in the new file.
    moved().renew(None).unwrap();
    moved().open(&fixture.project(), None).unwrap();
    assert!(fixture.base.join("state/root.json").exists());
    // There is no directory to attach to, so both records are removed.
    fs::rename(fixture.project(), fixture.base.join("away")).unwrap();
    moved().renew(None).unwrap();
    assert!(!former.exists() && !fixture.base.join("state/root.json").exists());
}
