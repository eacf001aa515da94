//! Words that nothing produces: the table in `holon_domain::reserved`, held against the code.
//!
//! A variant is produced where an expression names it. A name in a pattern, in a comparison, in a list of all variants or
//! in test code is none. A field is produced where it gets another value than an empty one.

use super::{is_test_file, production_lines};
use crate::finding::Finding;
use crate::repo::Source;
use holon_domain::reserved::{RESERVED, VOCABULARIES};
use std::collections::BTreeSet;
use std::ops::Range;

const TABLE: &str = "crates/domain/src/reserved.rs";

/// Crates that are no part of the product.
const TOOLS: [&str; 5] = [
    "crates/bench/",
    "crates/sim/",
    "crates/storm/",
    "crates/testkit/",
    "xtask/",
];

pub(super) fn check(texts: &[Source]) -> Vec<Finding> {
    let product: Vec<String> = texts
        .iter()
        .filter(|source| source.path.ends_with(".rs") && source.path.starts_with("crates/"))
        .filter(|source| !is_test_file(&source.path) && !source.path.ends_with("/samples.rs"))
        .filter(|source| !TOOLS.iter().any(|tool| source.path.starts_with(tool)))
        .filter(|source| source.path != TABLE)
        .map(|source| production_text(&source.text))
        .collect();
    let mut findings = Vec::new();
    for vocabulary in VOCABULARIES {
        let variants = variants_of(&product, vocabulary);
        if variants.is_empty() {
            findings.push(finding(format!("there is no enum {vocabulary}")));
        }
        for variant in variants {
            let produced = product
                .iter()
                .any(|text| produces(text, vocabulary, &variant));
            let reserved = RESERVED
                .iter()
                .any(|word| word.vocabulary == vocabulary && word.name == variant);
            match (produced, reserved) {
                (true, false) | (false, true) => {}
                (true, true) => findings.push(finding(format!(
                    "{vocabulary}::{variant} is reserved, but the code produces it; remove it from the table"
                ))),
                (false, false) => findings.push(finding(format!(
                    "nothing produces {vocabulary}::{variant}; produce it, or reserve it with its reason"
                ))),
            }
        }
    }
    findings.extend(reserved_fields(&product));
    findings
}

/// Finds the code that fills a reserved field.
fn reserved_fields(product: &[String]) -> Vec<Finding> {
    let fields = RESERVED
        .iter()
        .filter(|word| !VOCABULARIES.contains(&word.vocabulary));
    let mut findings = Vec::new();
    for word in fields {
        let (holder, field) = (word.vocabulary, word.name);
        let head = format!("pub struct {holder} {{");
        let declares = |text: &String| {
            let mut bodies = text.split(&head).skip(1);
            bodies.any(|body| {
                let body = body.split("\n}\n").next().unwrap_or_default();
                body.contains(&format!("pub {field}:"))
            })
        };
        if !product.iter().any(declares) {
            findings.push(finding(format!("there is no field {holder}::{field}")));
        }
        if product.iter().any(|text| fills(text, field)) {
            findings.push(finding(format!(
                "{holder}::{field} is reserved, but the code fills it; remove it from the table"
            )));
        }
    }
    findings
}

/// Returns true if the text gives a field another value than an empty one.
fn fills(text: &str, field: &str) -> bool {
    names(text, field).any(|found| {
        let before = text.get(..found.start).unwrap_or_default();
        let after = text.get(found.end..).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        if line.trim_start().starts_with("pub ") || line.contains('"') {
            return false;
        }
        let changes = [" = ", ".push", ".extend", ".append", ".insert"];
        if before.ends_with('.') {
            return changes.iter().any(|change| after.starts_with(change));
        }
        let is_empty = |value: &str| {
            let value = value.trim_start();
            [
                "Vec::new()",
                "Vec::default()",
                "Default::default()",
                "_",
                "..}",
            ]
            .iter()
            .any(|empty| value.starts_with(empty))
        };
        match after.strip_prefix(": ") {
            Some(value) => !is_empty(value),
            // The short form of a literal, and not of a pattern.
            None => line.trim().is_empty() && after.starts_with(','),
        }
    })
}

fn finding(problem: String) -> Finding {
    Finding::refusal(TABLE, 1, problem)
}

/// Returns the text before the inline tests, without comments and lists of all variants.
fn production_text(text: &str) -> String {
    let lines = text.lines().take(production_lines(text));
    let mut kept = String::new();
    let mut in_list = false;
    for line in lines {
        let bare = line.trim_start();
        in_list |= bare.starts_with("pub const ALL") || bare.starts_with("const ALL");
        if !in_list && !bare.starts_with("//") {
            kept.push_str(line);
            kept.push('\n');
        }
        in_list &= !bare.ends_with("];");
    }
    kept
}

/// Returns the kinds of events, which a macro declares: a name, its word and its version on a line.
fn kinds_of_events(product: &[String]) -> BTreeSet<String> {
    let declared = product.iter().flat_map(|text| text.lines());
    let kinds = declared.filter_map(|line| {
        let (name, rest) = line.strip_prefix("    ")?.split_once(" = \"")?;
        let (word, version) = rest.split_once("\", v ")?;
        let is_kind = word
            .chars()
            .all(|letter| letter.is_lowercase() || letter == '_');
        (is_kind && version.ends_with(';')).then(|| name.to_owned())
    });
    kinds.collect()
}

/// Returns the variants of an enum.
fn variants_of(product: &[String], name: &str) -> BTreeSet<String> {
    if name == "Event" {
        return kinds_of_events(product);
    }
    let head = format!("pub enum {name} {{");
    let Some(body) = product.iter().find_map(|text| text.split_once(&head)) else {
        return BTreeSet::new();
    };
    let body = body.1.split("\n}\n").next().unwrap_or_default();
    let variants = body.lines().filter_map(|line| {
        let variant = line.strip_prefix("    ")?;
        let end = variant.find([',', ' ', '{', '(']).unwrap_or(variant.len());
        let (word, _) = variant.split_at(end);
        let is_one = word.starts_with(|first: char| first.is_ascii_uppercase());
        is_one.then(|| word.to_owned())
    });
    variants.collect()
}

/// Returns true if an expression of the text names the variant.
fn produces(text: &str, vocabulary: &str, variant: &str) -> bool {
    names(text, &format!("{vocabulary}::{variant}")).any(|found| is_expression(text, found))
        || produced_inside(text, vocabulary, variant)
}

/// Lists the places at which a name stands as a whole word.
fn names(text: &str, name: &str) -> impl Iterator<Item = Range<usize>> {
    let is_part = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices(name)
        .map(|(start, found)| start..start + found.len())
        .filter(move |range| {
            let (before, after) = (text.get(..range.start), text.get(range.end..));
            !before.is_some_and(|before| before.ends_with(is_part))
                && !after.is_some_and(|after| after.starts_with(is_part))
        })
}

/// Returns true if the enum's own code makes the variant: by `Self`, or as its default.
fn produced_inside(text: &str, vocabulary: &str, variant: &str) -> bool {
    let default = format!("#[default]\n    {variant},");
    let declares = text.contains(&format!("pub enum {vocabulary} {{"));
    if declares && text.contains(&default) {
        return true;
    }
    let own = format!("Self::{variant}");
    names(text, vocabulary).any(|head| {
        let (before, rest) = (text.get(..head.start), text.get(head.end..));
        let line = before.and_then(|before| before.rsplit('\n').next());
        let is_own = line.is_some_and(|line| {
            line == "impl " || line.starts_with("impl From<") && line.ends_with("> for ")
        });
        let body = rest.and_then(|rest| rest.strip_prefix(" {"));
        let body = body
            .and_then(|body| body.split("\n}\n").next())
            .unwrap_or_default();
        is_own && names(body, &own).any(|found| is_expression(body, found))
    })
}

/// Returns true if the name at this place is part of an expression and of no pattern or comparison.
fn is_expression(text: &str, range: Range<usize>) -> bool {
    let before = text.get(..range.start).unwrap_or_default().trim_end();
    let after = text.get(range.end..).unwrap_or_default();
    let after = skip_fields(after.trim_start()).trim_start();
    let after = after.trim_start_matches([')', ',']).trim_start();
    let is_compared = before.ends_with("==") || before.ends_with("!=") || after.starts_with("==");
    // The bar of an alternative stands apart; that of a closure follows its last parameter.
    let is_alternative = before
        .strip_suffix('|')
        .is_some_and(|rest| rest.ends_with(char::is_whitespace));
    let starts_arm = after.starts_with("=>") || after.starts_with("| ") || after.starts_with("if ");
    let line = before.rsplit('\n').next().unwrap_or_default();
    let is_matched = line.contains("matches!(")
        || line.contains("if let ")
        || line.trim_start().starts_with("use ");
    let binds = after.starts_with("= ");
    !(is_compared || is_alternative || starts_arm || is_matched || binds)
}

/// Skips the fields of a variant.
fn skip_fields(text: &str) -> &str {
    let (open, close) = match text.chars().next() {
        Some('{') => ('{', '}'),
        Some('(') => ('(', ')'),
        Some(_) | None => return text,
    };
    let mut depth = 0_usize;
    for (place, found) in text.char_indices() {
        if found == open {
            depth += 1;
        } else if found == close {
            depth -= 1;
            if depth == 0 {
                return text.get(place + close.len_utf8()..).unwrap_or_default();
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(uses: &str) -> Vec<String> {
        let declared = VOCABULARIES.map(|name| format!("pub enum {name} {{\n    Used,\n}}\n"));
        let mut text = declared.concat();
        text.push_str("    Used = \"used\", v 1;\n");
        for word in RESERVED {
            let (vocabulary, name) = (word.vocabulary, word.name);
            if vocabulary == "Event" {
                text.push_str(&format!("    {name} = \"reserved\", v 1;\n"));
            } else if !VOCABULARIES.contains(&vocabulary) {
                text.push_str(&format!(
                    "pub struct {vocabulary} {{\n    pub {name}: Vec<u8>,\n}}\n"
                ));
            }
            let head = format!("pub enum {} {{\n", word.vocabulary);
            text = text.replace(&head, &format!("{head}    {},\n", word.name));
        }
        for name in VOCABULARIES {
            text.push_str(&format!("fn make() {{ keep({name}::Used) }}\n"));
        }
        text.push_str(uses);
        let source = Source {
            path: "crates/x/src/lib.rs".to_owned(),
            text,
        };
        check(&[source])
            .into_iter()
            .map(|found| found.to_string())
            .collect()
    }

    #[test]
    fn a_reserved_word_may_be_matched_and_compared_but_not_produced() {
        let pattern = "match kind {\n    MessageKind::Control | MessageKind::Used => 1,\n}\n\
                       fn f() { if kind == MessageKind::Control { x() } }\n";
        assert_eq!(findings(pattern), [""; 0]);
        for expression in [
            "fn f() { send(MessageKind::Control) }\n",
            "fn f() {\n    let cause = MessageKind::Control;\n}\n",
            "fn f() { all.map(|one| MessageKind::Control) }\n",
            "fn f() { all.unwrap_or_else(|| MessageKind::Control) }\n",
        ] {
            let produced = findings(expression);
            assert_eq!(produced.len(), 1, "{expression}: {produced:?}");
            assert!(produced[0].contains("is reserved, but the code produces it"));
        }
    }

    #[test]
    fn a_reserved_event_is_not_sent_and_a_reserved_field_is_not_filled() {
        let empty = "fn f() { Skills {\n    attached_skills: Vec::new(),\n} }\n\
                     fn g() { show(&skills.attached_skills.len()) }\n";
        assert_eq!(findings(empty), [""; 0]);
        for filled in [
            "fn f() { skills.attached_skills.push(one) }\n",
            "fn f() { skills.attached_skills = found; }\n",
            "fn f() { Skills {\n    attached_skills: found,\n} }\n",
            "fn f() { Skills {\n    attached_skills,\n} }\n",
        ] {
            let found = findings(filled);
            assert_eq!(found.len(), 1, "{filled}: {found:?}");
            assert!(found[0].contains("but the code fills it"), "{found:?}");
        }
        let sent = "fn f() { draft.event(Event::TerminalDeliveryRoundCompleted(it)); }\n";
        let found = findings(sent);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("is reserved, but the code produces it"));
    }

    #[test]
    fn a_word_that_is_neither_produced_nor_reserved_is_found() {
        let text = "pub enum TaskKind {\n    Used,\n    Idle,\n}\n";
        let source = |text: &str| Source {
            path: "crates/x/src/lib.rs".to_owned(),
            text: text.to_owned(),
        };
        let found = check(&[source(text)]);
        let told = |word: &str| found.iter().any(|found| found.to_string().contains(word));
        assert!(told("nothing produces TaskKind::Idle"));
        assert!(told("there is no enum MessageKind"));
    }
}
