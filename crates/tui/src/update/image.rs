//! Images that go with the next message. Each is uploaded when it is named, so that a file that is no image is refused at
//! once; the message names it by its digest.

use super::ask;
use crate::model::{Model, Purpose};
use crate::msg::{Command, Question};
use holon_domain::image::SentImage;
use holon_domain::limits::IMAGES_PER_MESSAGE;
use holon_domain::text;

/// Uploads an image for the next message.
pub(super) fn upload(model: &mut Model, path: String) -> Vec<Command> {
    if model.images.len() >= IMAGES_PER_MESSAGE {
        model.complain(format!(
            "a message may have {IMAGES_PER_MESSAGE} images; /image none drops them"
        ));
        return Vec::new();
    }
    if model.is_asked(&Purpose::Image) {
        model.complain("another image is still on its way; name this one then");
        return Vec::new();
    }
    let question = Question::UploadImage { path };
    vec![ask(model, Purpose::Image, question)]
}

/// Adds an uploaded image to the next message.
pub(super) fn attach(model: &mut Model, image: SentImage) {
    let label = image.label();
    model.images.push(image);
    let number = model.images.len();
    model.say(format!(
        "image {number} goes with your next message: {label}"
    ));
}

/// Lets the next message go without images.
pub(super) fn drop_all(model: &mut Model) -> Vec<Command> {
    let dropped = std::mem::take(&mut model.images).len() as u64;
    let images = text::pluralize(dropped, "image");
    model.say(format!(
        "your next message goes without images; {images} dropped"
    ));
    Vec::new()
}
