//! Images of a real directory.

use super::*;
use holon_domain::image::ImageFormat;
use std::os::unix::fs::symlink;

/// A PNG of this size. Its header and its end are real.
pub(super) fn png(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 2, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(b"\0\0\0\0IDAT\0\0\0\0\0\0\0\0IEND\xae\x42\x60\x82");
    bytes
}

struct Place {
    dir: tempfile::TempDir,
    workspace: WorkspaceEntry,
}

impl Place {
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a directory");
        let root = dir.path().canonicalize().expect("a path").join("tree");
        fs::create_dir_all(root.join("sub")).expect("made");
        let mut workspace = WorkspaceEntry::agent_home(root.to_str().expect("text"));
        workspace.cwd = root.join("sub").to_str().expect("text").to_owned();
        Self { dir, workspace }
    }

    fn write(&self, name: &str, content: &[u8]) {
        let root = Path::new(&self.workspace.execution_root);
        fs::write(root.join(name), content).expect("written");
    }

    fn copies(&self) -> PathBuf {
        self.dir.path().join("copies")
    }

    fn view(&self, path: &str) -> Result<ViewedImage, ToolError> {
        let open = || Tree::open(Path::new(&self.workspace.execution_root));
        let failed = |error: &TreeError| match error {
            TreeError::TooLarge { .. } => ToolError::new(ToolErrorKind::TooLarge, "too large"),
            TreeError::NotAFile { .. } => ToolError::new(ToolErrorKind::NotAFile, "no file"),
            other => ToolError::new(ToolErrorKind::PathEscape, other.to_string()),
        };
        view(&self.copies(), &self.workspace, path, open, failed)
    }

    fn refusal(&self, path: &str) -> ToolErrorKind {
        self.view(path).expect_err(path).kind
    }
}

#[test]
fn an_image_is_found_from_the_current_directory_and_shown_from_its_copy() {
    let place = Place::new();
    place.write("sub/one.png", &png(800, 600));
    for path in [
        "one.png",
        "./one.png",
        "../sub/one.png",
        &format!("{}/sub/one.png", place.workspace.execution_root),
    ] {
        let image = place.view(path).expect(path);
        assert_eq!(
            (image.media_type, image.width, image.height),
            (ImageFormat::Png, 800, 600)
        );
    }
    let image = place.view("one.png").expect("an image");
    place.write("sub/one.png", &png(1, 1));
    let shown = load(&place.copies(), &image).expect("the copy");
    assert_eq!(
        STANDARD.decode(shown.data.as_bytes()).expect("base64"),
        png(800, 600)
    );
}

#[test]
fn a_copy_that_was_changed_or_removed_is_not_shown() {
    let place = Place::new();
    place.write("sub/one.png", &png(8, 6));
    let image = place.view("one.png").expect("an image");
    let copy = place.copies().join(&image.sha256);
    fs::write(&copy, png(6, 8)).expect("written");
    assert_eq!(load(&place.copies(), &image), None);
    fs::remove_file(&copy).expect("removed");
    assert_eq!(load(&place.copies(), &image), None);
    let elsewhere = ViewedImage {
        sha256: "../../tree/sub/one.png".to_owned(),
        ..image
    };
    assert_eq!(load(&place.copies(), &elsewhere), None);
}

#[test]
fn what_is_no_image_of_the_workspace_is_refused() {
    let place = Place::new();
    let outside = place.dir.path().join("outside.png");
    fs::write(&outside, png(8, 6)).expect("written");
    let root = Path::new(&place.workspace.execution_root);
    symlink(&outside, root.join("sub/link.png")).expect("linked");
    place.write("sub/text.png", b"no image at all");
    place.write("sub/cut.png", &png(8, 6)[..18]);
    place.write("sub/half.png", &png(8, 6)[..33]);
    place.write("sub/half.gif", b"GIF89a\x08\0\x06\0\0\0\0\0");
    place.write(
        "sub/half.webp",
        b"RIFF\xff\0\0\0WEBPVP8 \xf0\0\0\0\0\0\0\x9d\x01\x2a\x08\0\x06\0\0\0\0\0",
    );
    place.write("sub/wide.png", &png(8_001, 1));
    place.write("sub/empty.png", &png(0, 6));
    place.write("sub/huge.png", &vec![0; 3_500_001]);
    place.write("sub/page.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>");
    for (path, kind) in [
        ("../../outside.png", ToolErrorKind::PathEscape),
        ("/etc/passwd", ToolErrorKind::PathEscape),
        ("..", ToolErrorKind::PathEscape),
        ("link.png", ToolErrorKind::NotAFile),
        ("none.png", ToolErrorKind::FileMissing),
        ("text.png", ToolErrorKind::UnsupportedContentType),
        ("cut.png", ToolErrorKind::UnsupportedContentType),
        ("half.png", ToolErrorKind::UnsupportedContentType),
        ("half.gif", ToolErrorKind::UnsupportedContentType),
        ("half.webp", ToolErrorKind::UnsupportedContentType),
        ("empty.png", ToolErrorKind::UnsupportedContentType),
        ("page.svg", ToolErrorKind::UnsupportedContentType),
        ("wide.png", ToolErrorKind::TooLarge),
        ("huge.png", ToolErrorKind::TooLarge),
    ] {
        assert_eq!(place.refusal(path), kind, "{path}");
    }
    assert!(!place.copies().exists());
}

#[test]
fn the_oldest_copies_give_way() {
    let place = Place::new();
    for width in 1..=70 {
        place.write("sub/one.png", &png(width, 1));
        place.view("one.png").expect("an image");
    }
    let left = fs::read_dir(place.copies()).expect("copies").count();
    assert_eq!(left, IMAGES_PER_AGENT);
}
