//! Images that go with a prompt or a run: read from files of this machine, and uploaded before the text is sent.
//!
//! A file that is no image or too large is refused here already, so that nothing is sent. The host checks the rest.

use crate::exit::{Exit, Failure};
use holon_client::Client;
use holon_domain::image::{ImageFault, ImageFormat};
use holon_domain::limits::{IMAGES_PER_MESSAGE, SENT_IMAGE_BYTES};
use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

/// Exit of a file that the host would refuse for its size.
const TOO_LARGE: Exit = Exit::Failed;

/// An image file of this machine.
#[derive(Debug)]
pub(super) struct LocalImage {
    format: ImageFormat,
    pub(super) bytes: Vec<u8>,
}

/// Reads the files of the option `--image`.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<LocalImage>, Failure> {
    if paths.len() > IMAGES_PER_MESSAGE {
        return Err(Failure::usage(format!(
            "--image is given {} times; a message may have {IMAGES_PER_MESSAGE} images",
            paths.len()
        )));
    }
    paths.iter().map(|path| read_one(path)).collect()
}

fn read_one(path: &Path) -> Result<LocalImage, Failure> {
    let refused = |why: &str| Failure::usage(format!("--image {}: {why}", path.display()));
    let found = path
        .metadata()
        .map_err(|error| refused(&error.to_string()))?;
    if !found.is_file() {
        return Err(refused(
            "this is a directory, a pipe or a device, and no file",
        ));
    }
    let most = SENT_IMAGE_BYTES as u64 + 1;
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(most).read_to_end(&mut bytes));
    read.map_err(|error| refused(&error.to_string()))?;
    if bytes.len() > SENT_IMAGE_BYTES {
        let fault = ImageFault::TooLarge { bytes: bytes.len() };
        let message = format!(
            "--image {}: the file has more than {SENT_IMAGE_BYTES} bytes",
            path.display()
        );
        let told = fault.text();
        let failure = Failure::new(TOO_LARGE, told.code, message);
        return Err(failure.hint(told.next_step.text()));
    }
    let format = ImageFormat::of_bytes(&bytes).ok_or_else(|| {
        refused("the file is no png, jpeg, gif or webp image; convert it to one of these first")
    })?;
    Ok(LocalImage { format, bytes })
}

/// Uploads images to a host and returns their digests.
pub(super) async fn upload(
    client: &Client,
    images: &[LocalImage],
) -> Result<Vec<String>, holon_client::Error> {
    let mut digests = Vec::with_capacity(images.len());
    for image in images {
        let kept = client
            .upload_image(image.format, image.bytes.clone())
            .await?;
        digests.push(kept.digest.into());
    }
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_sent_is_refused_with_its_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            path
        };
        let image = write("a.png", b"\x89PNG\r\n\x1a\nrest");
        let mut large = b"\x89PNG\r\n\x1a\n".to_vec();
        large.resize(6_000_000, 0);
        for (path, part, exit) in [
            (dir.path().join("none.png"), "No such file", Exit::Usage),
            (dir.path().to_owned(), "directory", Exit::Usage),
            (write("a.txt", b"text"), "is no png", Exit::Usage),
            (write("b.png", &large), "more than 5000000 bytes", TOO_LARGE),
        ] {
            let failure = read(&[image.clone(), path.clone()]).expect_err(part);
            assert_eq!(failure.exit, exit, "{part}");
            let message = failure.body.error;
            assert!(message.contains(part), "{message}");
            assert!(message.contains(&path.display().to_string()), "{message}");
        }
        assert_eq!(read(&vec![image.clone(); 8]).expect("read").len(), 8);
        assert!(read(&vec![image; 9]).is_err());
    }
}
