//! An agent works in the directory it was attached to, and in no other that takes its place.

use holon_workspace::{AttachedRoot, Attachment, TreeError};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

/// A project, another directory beside it, and the record of an attachment.
struct Place {
    _dir: tempfile::TempDir,
    base: PathBuf,
}

impl Place {
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

    /// Whether files may be changed in the project.
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
    for replace in [Place::replace_by_directory, Place::replace_by_link] {
        let place = Place::new();
        assert!(place.opens() && place.opens());
        replace(&place);
        assert!(!place.opens() && !place.opens());
        place.attachment().renew(None).unwrap();
        assert!(place.opens() && place.opens());
    }
}

#[test]
fn a_link_on_the_way_to_it_is_noticed_even_where_it_leads_to_the_same_directory() {
    let place = Place::new();
    assert!(place.opens());
    fs::rename(place.project(), place.base.join("moved")).unwrap();
    symlink("moved", place.project()).unwrap();
    assert!(!place.opens());
}

#[test]
fn a_directory_that_is_put_back_is_the_same_one() {
    let place = Place::new();
    assert!(place.opens());
    place.replace_by_directory();
    fs::rename(place.project(), place.base.join("other")).unwrap();
    fs::rename(place.base.join("moved"), place.project()).unwrap();
    assert!(place.opens());
}

#[test]
fn what_was_seen_when_the_agent_was_attached_counts_from_then_on() {
    let place = Place::new();
    let seen = AttachedRoot::look(&place.project()).unwrap();
    place.replace_by_directory();
    for _ in 0..2 {
        let refused = place
            .attachment()
            .open(&place.project(), Some(seen.clone()))
            .unwrap_err();
        assert!(matches!(refused, TreeError::Replaced { .. }), "{refused}");
    }
    assert!(!place.opens(), "it is on record");
    // Somebody named the path again, and meant what is there now.
    let seen = AttachedRoot::look(&place.project()).unwrap();
    let opened = place.attachment().open(&place.project(), Some(seen));
    assert!(opened.is_ok() && place.opens());
}

#[test]
fn a_start_attaches_to_what_is_there_whatever_was_seen_before() {
    let place = Place::new();
    assert!(place.opens());
    let seen = AttachedRoot::look(&place.project()).unwrap();
    place.replace_by_directory();
    place.attachment().renew(Some(seen)).unwrap();
    assert!(place.opens());
}

#[test]
fn another_path_is_another_attachment() {
    let place = Place::new();
    assert!(place.opens());
    let other = place.base.join("other");
    assert!(place.attachment().open(&other, None).is_ok());
    fs::rename(&other, place.base.join("away")).unwrap();
    fs::create_dir(&other).unwrap();
    assert!(place.attachment().open(&other, None).is_err());
    assert!(place.opens());
}

#[test]
fn an_attachment_is_renewed_to_nothing_while_there_is_no_directory() {
    let place = Place::new();
    assert!(place.opens());
    fs::remove_dir(place.project()).unwrap();
    let missing = place.attachment().open(&place.project(), None).unwrap_err();
    assert!(matches!(missing, TreeError::Io { .. }), "{missing}");
    place.attachment().renew(None).unwrap();
    place.attachment().renew(None).unwrap();
    fs::create_dir(place.project()).unwrap();
    assert!(place.opens());
}

#[test]
fn the_first_start_puts_on_record_what_was_seen() {
    let place = Place::new();
    let seen = AttachedRoot::look(&place.project()).unwrap();
    place.attachment().renew(Some(seen)).unwrap();
    place.replace_by_directory();
    assert!(!place.opens());
}

#[test]
fn a_record_of_an_earlier_build_counts_until_there_is_one_in_the_new_place() {
    let place = Place::new();
    let former = place.base.join("former/root.json");
    let before = Attachment::at(former.clone());
    before.open(&place.project(), None).unwrap();
    let moved = || place.attachment().formerly_at(former.clone());
    moved().open(&place.project(), None).unwrap();
    place.replace_by_directory();
    let refused = moved().open(&place.project(), None).unwrap_err();
    assert!(matches!(refused, TreeError::Replaced { .. }), "{refused}");
    // A start attaches it to what is there, and notes that in the new place.
    moved().renew(None).unwrap();
    moved().open(&place.project(), None).unwrap();
    assert!(place.base.join("state/root.json").exists());
    // Nothing to be attached to: neither record speaks of it any more.
    fs::rename(place.project(), place.base.join("away")).unwrap();
    moved().renew(None).unwrap();
    assert!(!former.exists() && !place.base.join("state/root.json").exists());
}
