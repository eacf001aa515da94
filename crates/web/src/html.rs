//! Turns HTML into readable text: paragraphs, headings, lists, links and preformatted parts.
//!
//! Works on tokens and builds no tree, so time and memory grow with the length of the document and with nothing else:
//! the rules by which a browser repairs wrong nesting make trees that are far larger than their documents. Text is cut at a bound, and
//! nothing is fetched or run.

use html5gum::{DefaultEmitter, StartTag, Token, Tokenizer};
use reqwest::Url;

/// Longest target of a link that is shown, in bytes. Longer ones are data or tracking.
const LINK_BYTES: usize = 500;

/// Text of a document.
pub(crate) struct HtmlText {
    pub(crate) title: Option<String>,
    pub(crate) text: String,
    /// True if the text was cut at the bound.
    pub(crate) cut: bool,
}

/// Renders a document. `base` is its address, by which links are completed; `max_bytes` bounds the text.
pub(crate) fn to_text(html: &str, base: Option<&Url>, max_bytes: usize) -> HtmlText {
    write(html, base, max_bytes).finish()
}

/// Writes the text of a document until its bound is passed.
fn write<'a>(html: &str, base: Option<&'a Url>, max_bytes: usize) -> Writer<'a> {
    let mut emitter = DefaultEmitter::default();
    // The contents of `script`, `style`, `textarea` and `title` are no elements.
    emitter.naively_switch_states(true);
    let mut writer = Writer::new(base, max_bytes);
    for token in Tokenizer::new_with_emitter(html, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => writer.open(&tag),
            Token::EndTag(tag) => writer.close(&tag.name),
            Token::String(text) => writer.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
        if writer.text.len() > max_bytes {
            break;
        }
    }
    writer
}

/// Kind of an element, as far as its text depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Element {
    /// Nothing of it is shown.
    Skipped,
    /// An empty line stands around it.
    Paragraph,
    /// It begins a line.
    Line,
    Heading(usize),
    Item,
    Cell,
    Preformatted,
    Break,
    Rule,
    Link,
    Image,
    Title,
    Inline,
}

impl Element {
    fn of(name: &[u8]) -> Self {
        match name {
            b"script" | b"style" | b"template" | b"svg" | b"math" | b"select" | b"textarea"
            | b"iframe" | b"object" | b"canvas" => Self::Skipped,
            b"p" | b"ul" | b"ol" | b"dl" | b"table" | b"blockquote" | b"figure" | b"article"
            | b"section" | b"main" | b"details" => Self::Paragraph,
            b"div" | b"tr" | b"dt" | b"dd" | b"header" | b"footer" | b"nav" | b"aside"
            | b"form" | b"fieldset" | b"address" | b"figcaption" | b"summary" | b"caption"
            | b"option" | b"body" | b"head" | b"button" => Self::Line,
            b"h1" => Self::Heading(1),
            b"h2" => Self::Heading(2),
            b"h3" => Self::Heading(3),
            b"h4" => Self::Heading(4),
            b"h5" => Self::Heading(5),
            b"h6" => Self::Heading(6),
            b"li" => Self::Item,
            b"td" | b"th" => Self::Cell,
            b"pre" => Self::Preformatted,
            b"br" => Self::Break,
            b"hr" => Self::Rule,
            b"a" => Self::Link,
            b"img" => Self::Image,
            b"title" => Self::Title,
            _ => Self::Inline,
        }
    }
}

/// A link that is open, with the place in the text where it began.
struct OpenLink {
    target: String,
    from: usize,
}

struct Writer<'a> {
    base: Option<&'a Url>,
    max_bytes: usize,
    text: String,
    /// Line ends to write before the next text.
    breaks: usize,
    /// True if a space stands before the next text.
    space: bool,
    /// The skipped element that is open, and how many of its kind are.
    skipped: Option<(Vec<u8>, usize)>,
    preformatted: usize,
    in_title: bool,
    title: String,
    link: Option<OpenLink>,
    /// Bytes of written text that were looked at again.
    #[cfg(test)]
    looked_back: usize,
}

impl<'a> Writer<'a> {
    fn new(base: Option<&'a Url>, max_bytes: usize) -> Self {
        Self {
            base,
            max_bytes,
            text: String::new(),
            breaks: 0,
            space: false,
            skipped: None,
            preformatted: 0,
            in_title: false,
            title: String::new(),
            link: None,
            #[cfg(test)]
            looked_back: 0,
        }
    }

    fn open(&mut self, tag: &StartTag<()>) {
        let name: &[u8] = &tag.name;
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(skipped.as_slice() == name && !tag.self_closing);
            return;
        }
        match Element::of(name) {
            Element::Skipped if tag.self_closing => {}
            Element::Skipped => self.skipped = Some((name.to_vec(), 1)),
            Element::Paragraph => self.break_lines(2),
            Element::Line => self.break_lines(1),
            Element::Heading(level) => {
                self.break_lines(2);
                self.put(&"#".repeat(level));
                self.space = true;
            }
            Element::Item => {
                self.break_lines(1);
                self.put("-");
                self.space = true;
            }
            Element::Cell => {
                if self.breaks == 0 && !self.text.is_empty() {
                    self.put(" |");
                }
                self.space = true;
            }
            Element::Preformatted => {
                self.break_lines(2);
                self.preformatted += 1;
            }
            Element::Break => self.breaks += 1,
            Element::Rule => {
                self.break_lines(2);
                self.put("---");
                self.break_lines(2);
            }
            Element::Link => self.open_link(tag),
            Element::Image => {
                let alt = attribute(tag, b"alt").unwrap_or_default();
                let alt = alt.trim();
                if !alt.is_empty() {
                    self.words(&format!("[image: {alt}]"));
                }
            }
            Element::Title => self.in_title = self.title.is_empty(),
            Element::Inline => {}
        }
    }

    fn close(&mut self, name: &[u8]) {
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth -= usize::from(skipped.as_slice() == name);
            if *depth == 0 {
                self.skipped = None;
            }
            return;
        }
        match Element::of(name) {
            Element::Paragraph | Element::Heading(_) => self.break_lines(2),
            Element::Line | Element::Item => self.break_lines(1),
            Element::Preformatted => {
                self.preformatted = self.preformatted.saturating_sub(1);
                self.break_lines(2);
            }
            Element::Link => self.close_link(),
            Element::Title => self.in_title = false,
            Element::Cell
            | Element::Skipped
            | Element::Break
            | Element::Rule
            | Element::Image
            | Element::Inline => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.skipped.is_some() {
            return;
        }
        if self.in_title {
            self.title.push_str(text);
        } else if self.preformatted > 0 {
            self.flush();
            self.text.push_str(text);
        } else {
            self.words(text);
        }
    }

    /// Writes text in which runs of white space count as one space.
    fn words(&mut self, text: &str) {
        self.space |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            self.put(word);
            self.space = true;
        }
        if !text.is_empty() && !text.ends_with(char::is_whitespace) {
            self.space = false;
        }
    }

    fn put(&mut self, text: &str) {
        self.flush();
        self.text.push_str(text);
    }

    /// Writes the line ends or the space that stand before the next text.
    fn flush(&mut self) {
        if self.breaks > 0 && !self.text.is_empty() {
            let wanted = self.breaks.min(2);
            // White space of a preformatted part stays, so it is looked at no further than it matters.
            if self.preformatted == 0 || self.newest_space(wanted) < wanted {
                let space = self.newest_space(usize::MAX);
                self.text.truncate(self.text.len() - space);
                self.text.push_str(if wanted == 1 { "\n" } else { "\n\n" });
            }
        } else if self.space && !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
        self.breaks = 0;
        self.space = false;
    }

    /// Returns how many spaces and line ends the text ends with, up to a number.
    fn newest_space(&mut self, most: usize) -> usize {
        let newest = self.text.bytes().rev().take(most);
        let count = newest.take_while(|byte| b" \n".contains(byte)).count();
        #[cfg(test)]
        {
            self.looked_back += count;
        }
        count
    }

    fn break_lines(&mut self, count: usize) {
        self.breaks = self.breaks.max(count);
    }

    fn open_link(&mut self, tag: &StartTag<()>) {
        self.close_link();
        let Some(target) = attribute(tag, b"href").and_then(|href| self.target(href.trim())) else {
            return;
        };
        let from = self.text.len();
        self.link = Some(OpenLink { target, from });
    }

    /// Writes the target of the open link behind its words. A link without words is left out.
    fn close_link(&mut self) {
        let Some(OpenLink { target, from }) = self.link.take() else {
            return;
        };
        let words = self.text.get(from..).unwrap_or_default().trim();
        if !words.is_empty() && words != target {
            let (breaks, space) = (self.breaks, self.space);
            (self.breaks, self.space) = (0, true);
            self.put(&format!("({target})"));
            (self.breaks, self.space) = (breaks, space);
        }
    }

    /// Returns the complete target of a link; `None` for places in the page and for schemes that cannot be fetched.
    fn target(&self, href: &str) -> Option<String> {
        if href.is_empty() || href.starts_with('#') || href.len() > LINK_BYTES {
            return None;
        }
        let target = match self.base {
            Some(base) => base.join(href).ok()?,
            None => Url::parse(href).ok()?,
        };
        let shown = target.to_string();
        (matches!(target.scheme(), "http" | "https" | "mailto") && shown.len() <= LINK_BYTES)
            .then_some(shown)
    }

    fn finish(mut self) -> HtmlText {
        let cut = self.text.len() > self.max_bytes;
        self.close_link();
        let kept = holon_domain::text::prefix(&self.text, self.max_bytes).trim_end();
        let title = self.title.split_whitespace().collect::<Vec<_>>().join(" ");
        HtmlText {
            title: Some(title).filter(|title| !title.is_empty()),
            text: kept.trim_start_matches('\n').to_owned(),
            cut,
        }
    }
}

fn attribute(tag: &StartTag<()>, name: &[u8]) -> Option<String> {
    let value = tag.attributes.get(name)?;
    Some(String::from_utf8_lossy(value).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shown(html: &str) -> String {
        let base = Url::parse("https://example.com/docs/page").expect("an address");
        to_text(html, Some(&base), 100_000).text
    }

    #[test]
    fn a_page_reads_as_its_author_meant_it() {
        let html = "<!doctype html><html><head><title> The\n title </title><style>p{}</style>\
            <script>if (a < b) { document.write('<p>no</p>') }</script></head><body>\
            <nav><a href='/'>Home</a> <a href=\"#x\">Here</a></nav>\
            <h1>One &amp; two</h1><p>Some  <b>bold</b>,\n text<br>and a <a href='other?q=1'>link</a>.</p>\
            <ul><li>first<li>second <a href='javascript:x()'>run</a></ul>\
            <pre>let a =  1;\n  let b = 2;\n</pre>\
            <table><tr><th>k</th><th>v</th></tr><tr><td>a</td><td>1</td></tr></table>\
            <img alt='A cat' src=x><img src=y><hr>the end</body></html>";
        let base = Url::parse("https://example.com/docs/page").expect("an address");
        let found = to_text(html, Some(&base), 100_000);
        assert_eq!(found.title.as_deref(), Some("The title"));
        assert!(!found.cut);
        let expected = "Home (https://example.com/) Here\n\n# One & two\n\nSome bold, text\nand a link \
            (https://example.com/docs/other?q=1).\n\n- first\n- second run\n\nlet a =  1;\n  let b = 2;\n\n\
            k | v\na | 1\n\n[image: A cat]\n\n---\n\nthe end";
        assert_eq!(found.text, expected);
    }

    /// The cost of this grows with the square of the length if every break looks at all white space before it.
    #[test]
    fn breaks_in_a_preformatted_part_cost_no_more_than_their_length() {
        let html = format!("<pre>a{}b</pre>", "<br>\n ".repeat(300_000));
        let written = write(&html, None, 10_000_000);
        let looked_back = written.looked_back;
        let found = written.finish();
        assert!(found.text.starts_with("a\n") && found.text.ends_with('b'));
        assert!(found.text.len() > 300_000, "{}", found.text.len());
        assert!(looked_back <= html.len(), "{looked_back} bytes");
        assert_eq!(
            shown("<pre>a<br>b<br><br>c\n\n\n<br>d</pre>"),
            "a\nb\n\nc\n\n\nd"
        );
    }

    #[test]
    fn wrong_nesting_and_unknown_elements_lose_no_text() {
        for (html, expected) in [
            ("", ""),
            ("a<b>c</i>d", "acd"),
            ("<x-y>one</x-y> <span>two", "one two"),
            ("</p></div>text", "text"),
            ("<svg><g><title>no</title></g></svg>yes", "yes"),
            ("<template><template>a</template>b</template>c", "c"),
            ("a &lt;tag&gt; &#x41;", "a <tag> A"),
            (
                "<a href='https://x.org/'>https://x.org/</a>",
                "https://x.org/",
            ),
            ("<a href=/a></a>word", "word"),
            ("<textarea><p>typed</p></textarea>rest", "rest"),
        ] {
            assert_eq!(shown(html), expected, "{html}");
        }
    }

    #[test]
    fn text_is_cut_at_the_bound_also_if_links_make_it_longer_than_the_page() {
        let base = Url::parse(&format!("https://example.com/{}/", "d".repeat(400))).expect("one");
        let html = "<a href=x>w</a>".repeat(10_000);
        let found = to_text(&html, Some(&base), 5_000);
        assert!(found.cut);
        assert!(found.text.len() <= 5_000, "{}", found.text.len());
    }

    /// A tree of these elements has billions of nodes: every paragraph opens all elements of the first part again.
    #[test]
    fn elements_that_a_browser_opens_again_in_every_paragraph_cost_nothing() {
        let open: String = (0..20_000).map(|at| format!("<b id={at}>")).collect();
        let html = open + &"<p>x".repeat(20_000);
        let found = to_text(&html, None, 1_000_000);
        assert_eq!(found.text.len(), 20_000 + 2 * 19_999);
    }

    proptest! {
        #[test]
        fn no_document_breaks_the_reader(html in "(?s)(<[a-z/ ='\"!-]{0,12}>?|&[a-z#0-9;]{0,6}|.){0,60}", most in 0_usize..80) {
            let found = to_text(&html, None, most);
            prop_assert!(found.text.len() <= most);
        }
    }
}
