//! Which images a request shows, and what stands in place of the others.

use super::*;
use holon_domain::image::ImageFormat;

fn shown(width: u32) -> ShownImage {
    ShownImage {
        media_type: ImageFormat::Png,
        width,
        height: 750,
        data: "AA==".into(),
    }
}

fn sent(name: &str) -> SentImage {
    SentImage {
        digest: ImageDigest::of(name.as_bytes()),
        media_type: ImageFormat::Png,
        width: 1_000,
        height: 750,
        bytes: 4,
    }
}

fn viewed(sizes: &[(&str, u32)]) -> HashMap<CallId, ShownImage> {
    let entry = |(id, width): &(&str, u32)| (CallId::from_stored(*id), shown(*width));
    sizes.iter().map(entry).collect()
}

#[test]
fn the_largest_images_give_way_until_the_rest_fits() {
    let sizes = [("call_1", 1_000), ("call_2", 100), ("call_3", 2_000)];
    for (room, left, tokens) in [
        (3_100, 3, 3_100),
        (3_099, 2, 1_100),
        (150, 1, 100),
        (0, 0, 0),
    ] {
        let mut images = RequestImages {
            viewed: viewed(&sizes),
            ..RequestImages::default()
        };
        assert_eq!(fit(&mut images, room), tokens, "{room}");
        assert_eq!(images.viewed.len(), left, "{room}");
    }
}

fn room(images: usize) -> Room {
    Room {
        images,
        bytes: IMAGE_REQUEST_BYTES,
        tokens: 100_000,
    }
}

#[test]
fn whether_an_image_is_shown_follows_from_those_before_it() {
    let all: Vec<SentImage> = ["a", "b", "a", "c"].map(sent).to_vec();
    let read = all
        .iter()
        .map(|image| (image.digest.clone(), SentFile::Read(shown(1_000))));
    let images = RequestImages {
        sent: read.collect(),
        ..RequestImages::default()
    };
    let show = |count: usize| {
        let mut items: Vec<ConversationItem> = AttachedImage::of_message(&all)
            .take(count)
            .map(ConversationItem::Image)
            .collect();
        show_sent(&mut items, &images, &mut room(3), true);
        items
    };
    let whole = show(4);
    for count in 0..4 {
        assert_eq!(
            show(count),
            whole[..count],
            "a later image changes nothing before it"
        );
    }
    let is_shown = |item: &ConversationItem| matches!(item, ConversationItem::Image(_));
    let found: Vec<bool> = whole.iter().map(is_shown).collect();
    assert_eq!(
        found,
        [true, true, true, false],
        "each occurrence takes room"
    );
}

#[test]
fn room_is_bounded_by_number_bytes_and_tokens() {
    let tokens = sent("a").estimated_tokens();
    for (limited, taken) in [
        (room(2), 2),
        (
            Room {
                bytes: 9,
                ..room(9)
            },
            2,
        ),
        (
            Room {
                tokens: tokens * 3,
                ..room(9)
            },
            3,
        ),
    ] {
        let mut left = limited;
        let count = (0..9).filter(|_| left.take(&sent("a"))).count();
        assert_eq!(count, taken, "{limited:?}");
    }
}

#[test]
fn a_text_says_why_an_image_is_not_shown() {
    let images = RequestImages {
        sent: [
            (sent("read").digest, SentFile::Read(shown(1_000))),
            (sent("unread").digest, SentFile::Read(shown(1_000))),
            (sent("gone").digest, SentFile::Gone),
        ]
        .into(),
        ..RequestImages::default()
    };
    let all = [sent("read"), sent("gone"), sent("unread")];
    let texts = |sees: bool| {
        let mut items: Vec<ConversationItem> = AttachedImage::of_message(&all)
            .map(ConversationItem::Image)
            .collect();
        show_sent(&mut items, &images, &mut room(2), sees);
        let text = |item: ConversationItem| match item {
            ConversationItem::User { text } => text,
            ConversationItem::Image(attached) => format!("shown: {}", attached.shown.is_some()),
            other => panic!("{other:?}"),
        };
        items.into_iter().map(text).collect::<Vec<String>>()
    };
    assert_eq!(
        texts(true),
        [
            "shown: true",
            "[image 2 is not shown: the image is gone]",
            "[image 3 is not shown: the request has no room for it]",
        ]
    );
    let blind = |number| format!("[image {number} is not shown: this model takes no images]");
    assert_eq!(texts(false), [blind(1), blind(2), blind(3)]);
}
