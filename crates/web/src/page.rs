//! The readable text of an answer: what its content type permits, decoded, and cut at a bound.

use crate::charset;
use crate::client::{Cut, Response};
use crate::html;
use holon_domain::web::ExtractMode;
use reqwest::Url;
use reqwest::header;

/// Bytes of a body without a type that are examined.
const SNIFFED_BYTES: usize = 1_024;
/// Bytes of UTF-8 that a character takes at most.
const CHARACTER_BYTES: usize = 4;

/// Text of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReadablePage {
    /// The type as the server wrote it. Absent if it named none.
    pub content_type: Option<String>,
    pub text: String,
    /// True if the text was cut, or was made from a body that is not complete.
    pub truncated: bool,
    /// Characters of the whole text up to the end of this part. Absent if the text ends here.
    pub next_offset: Option<u64>,
}

/// Part of a text, in characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextPart {
    pub offset: usize,
    pub max_chars: usize,
}

/// Reason for which an answer has no text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    #[error("the answer is {content_type}, which is no text")]
    ContentType { content_type: String },
    #[error("the answer is compressed as {encoding}, which was not asked for")]
    Encoding { encoding: String },
    #[error("the compressed answer is damaged")]
    Damaged,
    #[error("the text has {chars} characters, so nothing stands at offset {offset}")]
    PastEnd { offset: usize, chars: usize },
}

/// Kind of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BodyKind {
    Html,
    Text,
    Other,
}

/// Reads a part of the text of an answer.
///
/// # Errors
/// The answer is no text, or its text ends before the part.
pub fn read_page(
    response: &Response,
    mode: ExtractMode,
    part: TextPart,
) -> Result<ReadablePage, Unreadable> {
    let header = |name| {
        let value = response.headers.get(name)?;
        Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
    };
    let content_type = header(header::CONTENT_TYPE);
    // The header of a compression that was undone is gone.
    if let Some(encoding) = header(header::CONTENT_ENCODING).filter(|name| name != "identity") {
        return Err(Unreadable::Encoding { encoding });
    }
    if response.cut == Some(Cut::Broken) && response.body.is_empty() {
        return Err(Unreadable::Damaged);
    }
    let kind = kind_of(content_type.as_deref(), &response.body);
    if kind == BodyKind::Other {
        let content_type = content_type.unwrap_or_else(|| "data without a type".to_owned());
        return Err(Unreadable::ContentType { content_type });
    }
    let decoded = charset::decode(&response.body, content_type.as_deref());
    let is_html = kind == BodyKind::Html && mode != ExtractMode::Raw;
    let (text, cut) = if is_html {
        let base = Url::parse(&response.url).ok();
        let max_chars = part.offset.saturating_add(part.max_chars);
        let max_bytes = max_chars.saturating_mul(CHARACTER_BYTES);
        let found = html::to_text(&decoded, base.as_ref(), max_bytes);
        let text = match found.title {
            Some(title) => format!("{title}\n\n{}", found.text),
            None => found.text,
        };
        (text, found.cut)
    } else {
        (decoded, false)
    };
    // A model reads unseen characters spelled out, so they count as they are spelled.
    let text = holon_domain::visible::show_unseen(&text);
    let skipped = first_chars(&text, part.offset);
    let rest = text.get(skipped.len()..).unwrap_or_default();
    if rest.is_empty() && part.offset > 0 {
        return Err(Unreadable::PastEnd {
            offset: part.offset,
            chars: text.chars().count(),
        });
    }
    let kept = first_chars(rest, part.max_chars);
    let goes_on = cut || kept.len() < rest.len();
    let end = part.offset.saturating_add(kept.chars().count());
    Ok(ReadablePage {
        content_type,
        truncated: goes_on || response.cut.is_some(),
        next_offset: goes_on.then(|| u64::try_from(end).unwrap_or(u64::MAX)),
        text: kept.to_owned(),
    })
}

fn kind_of(content_type: Option<&str>, body: &[u8]) -> BodyKind {
    let declared = content_type.unwrap_or_default().to_ascii_lowercase();
    let essence = declared.split(';').next().unwrap_or_default().trim();
    match essence {
        "text/html" | "application/xhtml+xml" => BodyKind::Html,
        "" | "application/octet-stream" | "binary/octet-stream" => sniff(body),
        "application/json"
        | "application/ld+json"
        | "application/x-ndjson"
        | "application/jsonl"
        | "application/xml"
        | "application/javascript"
        | "application/x-javascript"
        | "application/yaml"
        | "application/x-yaml"
        | "application/toml"
        | "application/x-sh"
        | "application/sql" => BodyKind::Text,
        other if other.starts_with("text/") => BodyKind::Text,
        other
            if other.ends_with("+json") || other.ends_with("+xml") || other.ends_with("+yaml") =>
        {
            BodyKind::Text
        }
        _ => BodyKind::Other,
    }
}

/// Judges a body without a type by its beginning.
fn sniff(body: &[u8]) -> BodyKind {
    let head = body
        .get(..SNIFFED_BYTES.min(body.len()))
        .unwrap_or_default();
    let is_text = match std::str::from_utf8(head) {
        Ok(_) => true,
        Err(error) => error.error_len().is_none(),
    };
    if !is_text || head.contains(&0) {
        return BodyKind::Other;
    }
    let start = head.trim_ascii_start().to_ascii_lowercase();
    if start.starts_with(b"<!doctype html") || start.starts_with(b"<html") {
        BodyKind::Html
    } else {
        BodyKind::Text
    }
}

fn first_chars(text: &str, count: usize) -> &str {
    match text.char_indices().nth(count) {
        Some((end, _)) => holon_domain::text::prefix(text, end),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderMap, HeaderValue};

    fn answer(content_type: &str, body: &[u8]) -> Response {
        let mut headers = HeaderMap::new();
        if !content_type.is_empty() {
            let value = HeaderValue::from_str(content_type).expect("a header");
            headers.insert(header::CONTENT_TYPE, value);
        }
        Response {
            status: 200,
            headers,
            body: body.to_vec(),
            cut: None,
            url: "https://example.com/".to_owned(),
        }
    }

    const fn first(max_chars: usize) -> TextPart {
        TextPart {
            offset: 0,
            max_chars,
        }
    }

    fn read(content_type: &str, body: &[u8]) -> Result<String, Unreadable> {
        let page = read_page(&answer(content_type, body), ExtractMode::Auto, first(1_000))?;
        Ok(page.text)
    }

    #[test]
    fn unseen_characters_count_as_they_are_spelled() {
        let body = "\u{e0041}".repeat(2_000);
        let page = read_page(
            &answer("text/plain", body.as_bytes()),
            ExtractMode::Auto,
            first(1_000),
        );
        let page = page.expect("a text");
        assert_eq!(page.text.chars().count(), 1_000);
        assert!(page.truncated && page.text.starts_with("\\u{e0041}"));
    }

    #[test]
    fn pages_texts_and_data_in_text_form_are_read_and_nothing_else() {
        let html = b"<html><title>T</title><p>a</p>";
        assert_eq!(
            read("text/html; charset=utf-8", html).as_deref(),
            Ok("T\n\na")
        );
        assert_eq!(read("", html).as_deref(), Ok("T\n\na"));
        for kind in [
            "text/plain",
            "application/json",
            "application/problem+json",
            "TEXT/CSV",
            "application/octet-stream",
            "",
        ] {
            assert_eq!(
                read(kind, b"{\"a\": 1}").as_deref(),
                Ok("{\"a\": 1}"),
                "{kind}"
            );
        }
        for kind in [
            "image/png",
            "application/pdf",
            "application/zip",
            "video/mp4",
        ] {
            let refused = read(kind, b"text after all");
            let content_type = kind.to_owned();
            assert_eq!(refused, Err(Unreadable::ContentType { content_type }));
        }
        for kind in ["", "application/octet-stream"] {
            assert!(read(kind, b"\x7fELF\x02\x00\x00").is_err(), "{kind}");
        }
    }

    #[test]
    fn a_page_is_shown_as_it_was_sent_if_that_is_asked_for() {
        let html = b"<p>a <b>b</b></p>";
        let raw = read_page(&answer("text/html", html), ExtractMode::Raw, first(1_000));
        assert_eq!(raw.expect("a page").text.as_bytes(), html);
        let text = read_page(&answer("text/html", html), ExtractMode::Text, first(1_000));
        assert_eq!(text.expect("a page").text, "a b");
    }

    #[test]
    fn the_parts_of_a_text_join_to_the_whole_and_nothing_stands_behind_its_end() {
        let words = "zwölf Boxkämpfer jagen 漢 durch den Park. ".repeat(40);
        let html = format!("<title>T</title><p>{words}</p>");
        for (kind, body) in [("text/plain", words.as_str()), ("text/html", html.as_str())] {
            let whole = read(kind, body.as_bytes()).expect("a text");
            let whole_answer = answer(kind, body.as_bytes());
            let (mut joined, mut offset) = (String::new(), 0);
            loop {
                let part = TextPart {
                    offset,
                    max_chars: 100,
                };
                let page = read_page(&whole_answer, ExtractMode::Auto, part).expect("a part");
                joined.push_str(&page.text);
                match page.next_offset {
                    Some(next) => offset = usize::try_from(next).expect("small"),
                    None => break,
                }
            }
            assert!(
                joined.starts_with(&whole) && offset > 1_000,
                "{kind} {offset}"
            );
            let chars = joined.chars().count();
            let past = TextPart {
                offset: chars,
                max_chars: 1,
            };
            let refused = read_page(&whole_answer, ExtractMode::Auto, past);
            let offset = chars;
            assert_eq!(
                refused,
                Err(Unreadable::PastEnd { offset, chars }),
                "{kind}"
            );
        }
        let empty = read_page(&answer("text/plain", b""), ExtractMode::Auto, first(9));
        assert_eq!(
            empty.expect("a page").text,
            "",
            "the beginning is always there"
        );
    }

    #[test]
    fn a_cut_is_told_whatever_made_it() {
        let whole = answer("text/plain", "zwölf".as_bytes());
        let cut = |most| read_page(&whole, ExtractMode::Auto, first(most)).expect("a page");
        assert_eq!((cut(3).text.as_str(), cut(3).truncated), ("zwö", true));
        assert_eq!((cut(5).text.as_str(), cut(5).truncated), ("zwölf", false));
        let part = Response {
            cut: Some(Cut::Time),
            ..whole
        };
        assert!(
            read_page(&part, ExtractMode::Auto, first(5))
                .expect("a page")
                .truncated
        );
    }

    #[test]
    fn an_encoding_that_was_not_undone_is_named() {
        let mut packed = answer("text/html", b"\x1b\x05\x00");
        let value = HeaderValue::from_static("br");
        packed.headers.insert(header::CONTENT_ENCODING, value);
        let refused = read_page(&packed, ExtractMode::Auto, first(10)).expect_err("refused");
        assert_eq!(
            refused,
            Unreadable::Encoding {
                encoding: "br".to_owned()
            }
        );
    }
}
