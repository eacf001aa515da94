//! Images of a real directory: kept once, claimed, removed when they are old.

use super::super::tests::png;
use super::*;
use std::time::Duration;

struct Place {
    dir: tempfile::TempDir,
    images: SentImages,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let images = SentImages::in_state(dir.path());
        Self { dir, images }
    }

    fn names(&self) -> Vec<String> {
        let files = self.images.files();
        files
            .map(|file| file.file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// Makes a file look as if it had been written two hours ago.
    fn age(&self, name: &str) {
        let path = self.dir.path().join(IMAGES).join(name);
        let file = File::options().write(true).open(path).expect("a file");
        let then = SystemTime::now() - Duration::from_hours(2);
        file.set_modified(then).expect("set");
    }
}

fn now() -> Timestamp {
    let age = SystemTime::now().duration_since(UNIX_EPOCH).expect("after");
    Timestamp::from_millis(i64::try_from(age.as_millis()).expect("fits"))
}

fn an_hour_ago() -> Timestamp {
    now().minus_millis(3_600_000)
}

#[test]
fn the_same_bytes_are_one_image() {
    let place = Place::new();
    let first = place.images.keep(&png(800, 600)).expect("kept");
    assert_eq!(place.images.keep(&png(800, 600)), Ok(first.clone()));
    assert_eq!((first.width, first.height), (800, 600));
    assert_eq!(place.names(), [first.digest.hex()]);
    assert_eq!(place.images.claim(&first.digest), Some(first.clone()));
    let shown = place.images.load(&first).expect("loaded");
    assert_eq!(shown.data.as_ref(), STANDARD.encode(png(800, 600)));
}

#[test]
fn what_is_no_image_is_not_kept() {
    let place = Place::new();
    let mut cut = png(1, 1);
    cut.truncate(cut.len() - 4);
    let mut large = png(1, 1);
    large.resize(SENT_IMAGE_BYTES + 1, 0);
    for (content, code) in [
        (b"some text".to_vec(), "invalid_image"),
        (Vec::new(), "invalid_image"),
        (cut, "invalid_image"),
        (png(0, 4), "invalid_image"),
        (png(8_001, 4), "image_too_wide"),
        (large, "image_too_large"),
    ] {
        let refused = place.images.keep(&content).expect_err(code);
        assert_eq!(refused.text().code, code);
    }
    assert!(place.names().is_empty());
}

#[test]
fn an_image_that_was_changed_or_is_gone_is_none() {
    let place = Place::new();
    let image = place.images.keep(&png(8, 6)).expect("kept");
    fs::write(place.images.path(&image.digest), png(6, 8)).expect("written");
    assert_eq!(place.images.claim(&image.digest), None);
    assert_eq!(place.images.load(&image), None);
    // An upload writes it again.
    assert_eq!(place.images.keep(&png(8, 6)), Ok(image.clone()));
    assert_eq!(place.images.claim(&image.digest), Some(image.clone()));
    fs::remove_file(place.images.path(&image.digest)).expect("removed");
    assert_eq!(place.images.claim(&image.digest), None);
    // A pipe in its place is not waited for, and an upload replaces it.
    let pipe = place.images.path(&image.digest);
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RWXU).expect("a pipe");
    assert_eq!(place.images.claim(&image.digest), None);
    assert_eq!(place.images.load(&image), None);
    assert_eq!(place.images.keep(&png(8, 6)), Ok(image.clone()));
    assert_eq!(place.images.load(&image).map(|shown| shown.width), Some(8));
}

#[test]
fn only_an_old_image_is_removed_and_a_claim_makes_it_new() {
    let place = Place::new();
    let image = place.images.keep(&png(8, 6)).expect("kept");
    let name = image.digest.hex().to_owned();
    assert!(place.images.before(an_hour_ago()).is_empty());
    assert!(!place.images.remove(&image.digest, an_hour_ago()));
    place.age(&name);
    let old = place.images.before(an_hour_ago());
    assert_eq!(old, std::slice::from_ref(&image.digest));
    // A prompt claims the image between the look and the removal.
    assert!(place.images.claim(&image.digest).is_some());
    assert!(!place.images.remove(&image.digest, an_hour_ago()));
    place.age(&name);
    assert!(place.images.remove(&image.digest, an_hour_ago()));
    assert!(!place.images.remove(&image.digest, an_hour_ago()));
    assert!(place.names().is_empty());
}

#[test]
fn what_an_interrupted_upload_left_is_removed_when_it_is_old() {
    let place = Place::new();
    let image = place.images.keep(&png(8, 6)).expect("kept");
    let left = format!("{}{UNFINISHED}", ImageDigest::of(b"x").hex());
    fs::write(place.dir.path().join(IMAGES).join(&left), b"half").expect("written");
    assert!(place.images.before(an_hour_ago()).is_empty());
    assert_eq!(place.names().len(), 2);
    place.age(&left);
    assert!(place.images.before(an_hour_ago()).is_empty());
    assert_eq!(place.names(), [image.digest.hex()]);
}
