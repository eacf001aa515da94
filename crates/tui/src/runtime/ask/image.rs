//! Uploads an image file of this machine.

use super::problem;
use crate::msg::{Cause, Problem, Reply};
use holon_client::Client;
use holon_domain::image::ImageFormat;
use holon_domain::limits::SENT_IMAGE_BYTES;
use std::fs::File;
use std::io::Read as _;

/// Reads the file and uploads it.
pub(super) async fn upload(client: &Client, path: String) -> Result<Reply, Problem> {
    let reading = tokio::task::spawn_blocking(move || read(&path));
    let read = reading
        .await
        .unwrap_or_else(|stopped| Err(stopped.to_string()));
    let (format, bytes) = read.map_err(|message| Problem {
        message,
        cause: Cause::Refused,
    })?;
    let kept = client.upload_image(format, bytes).await;
    kept.map(Reply::ImageKept).map_err(|error| problem(&error))
}

/// Reads a file that may be sent, or says why it may not.
fn read(path: &str) -> Result<(ImageFormat, Vec<u8>), String> {
    let mut bytes = Vec::new();
    let most = SENT_IMAGE_BYTES as u64 + 1;
    File::open(path)
        .and_then(|file| file.take(most).read_to_end(&mut bytes))
        .map_err(|error| format!("{path} cannot be read: {error}"))?;
    if bytes.len() > SENT_IMAGE_BYTES {
        return Err(format!(
            "{path} has more than {SENT_IMAGE_BYTES} bytes; send a smaller copy"
        ));
    }
    let format = ImageFormat::of_bytes(&bytes).ok_or_else(|| {
        format!("{path} is no png, jpeg, gif or webp image; convert it to one of these first")
    })?;
    Ok((format, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_image_is_refused_with_its_name() {
        let dir = tempfile::tempdir().expect("a directory");
        let write = |name: &str, bytes: &[u8]| {
            let path = dir.path().join(name);
            std::fs::write(&path, bytes).expect("written");
            path.display().to_string()
        };
        let image = write("a.gif", b"GIF89a rest");
        assert_eq!(read(&image).map(|(format, _)| format), Ok(ImageFormat::Gif));
        for (path, part) in [
            (write("a.txt", b"text"), "is no png"),
            (
                write("b.gif", &vec![b'x'; SENT_IMAGE_BYTES + 1]),
                "more than 5000000 bytes",
            ),
            (format!("{image}.none"), "cannot be read"),
        ] {
            let refused = read(&path).expect_err(part);
            assert!(
                refused.contains(part) && refused.contains(&path),
                "{refused}"
            );
        }
    }
}
