//! Checks the bytes of an image: the format by the first of them, the size in pixels, and that the end is there.

use holon_domain::image::ImageFormat;
use holon_domain::limits::IMAGE_SIDE;

/// Format and size of an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MeasuredImage {
    pub(super) format: ImageFormat,
    pub(super) width: u32,
    pub(super) height: u32,
}

/// What is wrong with the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageDefect {
    /// Follows the name of the file in a sentence.
    Unreadable(&'static str),
    TooManyPixels {
        width: usize,
        height: usize,
    },
}

/// Checks the bytes and measures the image.
pub(super) fn measure(content: &[u8]) -> Result<MeasuredImage, ImageDefect> {
    let format = ImageFormat::of_bytes(content).ok_or(ImageDefect::Unreadable(
        "is no png, jpeg, gif or webp image",
    ))?;
    let size = imagesize::blob_size(content)
        .map_err(|_| ImageDefect::Unreadable("is damaged: its size in pixels cannot be read"))?;
    let side = |pixels: usize| {
        u32::try_from(pixels)
            .ok()
            .filter(|side| *side <= IMAGE_SIDE)
    };
    let (Some(width), Some(height)) = (side(size.width), side(size.height)) else {
        return Err(ImageDefect::TooManyPixels {
            width: size.width,
            height: size.height,
        });
    };
    if width == 0 || height == 0 {
        return Err(ImageDefect::Unreadable("has no pixels"));
    }
    if !is_whole(format, content) {
        return Err(ImageDefect::Unreadable("is cut off or damaged"));
    }
    Ok(MeasuredImage {
        format,
        width,
        height,
    })
}

/// Returns true if an image ends as its format says. Providers refuse the whole request for one that does not.
fn is_whole(format: ImageFormat, content: &[u8]) -> bool {
    let has = |mark: &[u8]| content.windows(mark.len()).any(|part| part == mark);
    match format {
        ImageFormat::Png => has(b"IDAT") && has(b"IEND\xae\x42\x60\x82"),
        ImageFormat::Jpeg => has(b"\xff\xda") && has(b"\xff\xd9"),
        // An image descriptor, and the byte that ends the file.
        ImageFormat::Gif => content.contains(&b',') && content.trim_ascii_end().ends_with(b";"),
        ImageFormat::Webp => {
            let stated = content.get(4..8).and_then(|size| size.try_into().ok());
            let stated = stated
                .map(u32::from_le_bytes)
                .and_then(|size| usize::try_from(size).ok());
            stated.is_some_and(|size| size >= 32 && content.len() >= size + 8)
        }
    }
}
