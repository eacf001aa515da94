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

fn read(width: u32, of: SentIn) -> SentFile {
    SentFile::Read {
        image: shown(width),
        of,
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

#[test]
fn images_of_earlier_turns_give_way_before_those_of_the_turn() {
    let (now, before) = (sent("now").digest, sent("before").digest);
    let all = || RequestImages {
        viewed: viewed(&[("call_1", 1_000)]),
        sent: [
            (now.clone(), read(2_000, SentIn::ThisTurn)),
            (before.clone(), read(10, SentIn::EarlierTurn)),
            (sent("gone").digest, SentFile::Gone),
        ]
        .into(),
    };
    for (room, tokens, has_before, has_now) in [
        (3_010, 3_010, true, true),
        (3_009, 3_000, false, true),
        (2_999, 1_000, false, false),
    ] {
        let mut images = all();
        assert_eq!(fit(&mut images, room), tokens, "{room}");
        assert_eq!(images.sent.contains_key(&before), has_before, "{room}");
        assert_eq!(images.sent.contains_key(&now), has_now, "{room}");
    }
}

#[test]
fn a_text_says_why_an_image_is_not_shown() {
    let images = RequestImages {
        sent: [
            (sent("read").digest, read(1_000, SentIn::ThisTurn)),
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
        let added = show_sent(&mut items, &images, sees);
        let after: usize = items.iter().map(ConversationItem::estimated_tokens).sum();
        assert_eq!(added, after);
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
