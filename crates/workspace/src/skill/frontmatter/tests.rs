//! The public format, and everything that is not in it.

use super::*;

fn parse(frontmatter: &str) -> Result<SkillMetadata, String> {
    parse_skill(
        format!("---\n{frontmatter}\n---\n# Body\n").as_bytes(),
        "pdf-tools",
    )
}

fn described(description: &str) -> Result<String, String> {
    parse(&format!("name: pdf-tools\ndescription: {description}")).map(|skill| skill.description)
}

#[test]
fn every_field_of_the_format_is_read() {
    let skill = parse(
        "# a comment\nname: pdf-tools\ndescription: >-\n  Fills forms,\n  and merges files.\n\n  Use it for PDFs.\n\
         license: Apache-2.0\ncompatibility: \"Needs \\\"qpdf\\\"\" # and nothing else\n\
         metadata:\n  author: acme\n  version: 1.0\n  motto: 'it''s fine'\n\
         allowed-tools: Bash(git:*) Read\nmodel: other\ntags:\n- one\n- two\n",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(skill.name, "pdf-tools");
    assert_eq!(
        skill.description,
        "Fills forms, and merges files.\nUse it for PDFs."
    );
    assert_eq!(skill.license.as_deref(), Some("Apache-2.0"));
    assert_eq!(skill.compatibility.as_deref(), Some("Needs \"qpdf\""));
    let metadata: Vec<(&str, &str)> = skill
        .metadata
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .collect();
    assert_eq!(
        metadata,
        [
            ("author", "acme"),
            ("motto", "it's fine"),
            ("version", "1.0")
        ]
    );
    assert_eq!(skill.allowed_tools.as_deref(), Some("Bash(git:*) Read"));
}

#[test]
fn the_ways_to_write_a_text_are_read_alike() {
    for (written, read) in [
        ("Plain words", "Plain words"),
        ("Plain words # with a comment", "Plain words"),
        ("\"Quoted: words\"", "Quoted: words"),
        ("'Quoted: ''words'''", "Quoted: 'words'"),
        ("Words\n  that go on\n  and on", "Words that go on and on"),
        ("|\n  one\n    two\n  three", "one\n  two\nthree"),
        (">\n  one\n  two", "one two"),
        ("\"true\"", "true"),
        ("a#b", "a#b"),
        ("See https://example.org/x", "See https://example.org/x"),
    ] {
        assert_eq!(described(written).as_deref(), Ok(read), "{written:?}");
    }
}

#[test]
fn windows_line_ends_and_a_byte_order_mark_are_accepted() {
    let text = "\u{feff}---\r\nname: pdf-tools\r\ndescription: Words\r\n---\r\nBody";
    let skill = parse_skill(text.as_bytes(), "pdf-tools").expect("a skill");
    assert_eq!(skill.description, "Words");
}

#[test]
fn everything_else_is_refused_with_a_reason() {
    let long = "x".repeat(SKILL_DESCRIPTION_CHARS + 1);
    let long_entry = format!(
        "name: pdf-tools\ndescription: d\nmetadata:\n  a: {}",
        "y".repeat(2_000)
    );
    let many: String = (0..100).map(|n| format!("k{n}: v\n")).collect();
    for frontmatter in [
        "",
        "name: pdf-tools",
        "description: Words",
        "name: other\ndescription: Words",
        "name: Pdf-Tools\ndescription: Words",
        "name: ../x\ndescription: Words",
        "name: pdf-tools\nname: pdf-tools\ndescription: Words",
        "name: pdf-tools\ndescription:",
        "name: pdf-tools\ndescription: ''",
        "name: pdf-tools\ndescription: true",
        "name: pdf-tools\ndescription: 12",
        "name: pdf-tools\ndescription: ~",
        "name: pdf-tools\ndescription: [a, b]",
        "name: pdf-tools\ndescription:\n  nested: map",
        "name: [pdf-tools]\ndescription: Words",
        "name: pdf-tools\ndescription: &anchor Words",
        "name: pdf-tools\ndescription: *alias",
        "name: pdf-tools\ndescription: !!python/object:os.system Words",
        "name: pdf-tools\ndescription: {a: b}",
        "name: pdf-tools\ndescription: Words: more words",
        "name: pdf-tools\ndescription: \"open",
        "name: pdf-tools\ndescription: 'open",
        "name: pdf-tools\ndescription: \"bad \\x41 escape\"",
        "name: pdf-tools\ndescription: \"closed\" and more",
        "name: pdf-tools\ndescription: Words\n<<: *base",
        "name: pdf-tools\ndescription: Words\n? complex",
        "name: pdf-tools\ndescription: Words\nmetadata: text",
        "name: pdf-tools\ndescription: Words\nmetadata:\n  a:\n    b: c",
        "name: pdf-tools\ndescription: Words\nmetadata:\n  a: b\n  a: c",
        "name: pdf-tools\ndescription: Words\nmetadata:\n  - a\n  b: c",
        "name: pdf-tools\ndescription: Words\nallowed-tools:\n  a: b",
        "name: pdf-tools\ndescription: Words\ncompatibility:\n  - a",
        "name: pdf-tools\n\tdescription: Words",
        "name: pdf-tools\n  description: Words",
        "name:pdf-tools\ndescription: Words",
        "%YAML 1.2\nname: pdf-tools\ndescription: Words",
        "name: pdf-tools\ndescription: W\u{7}ords",
        "just a text",
        &format!("name: pdf-tools\ndescription: {long}"),
        &long_entry,
        &format!("name: pdf-tools\ndescription: d\n{many}"),
        &format!(
            "name: pdf-tools\ndescription: d\ncompatibility: {}",
            "c".repeat(501)
        ),
    ] {
        let refused = parse(frontmatter);
        assert!(refused.is_err(), "{frontmatter:?}: {refused:?}");
    }
}

#[test]
fn the_frontmatter_must_be_there_and_end_within_its_bound() {
    let huge = format!("---\nname: pdf-tools\n# {}", "x".repeat(80 << 10));
    for content in [
        &b""[..],
        b"# Title\n",
        b"----\nname: x\n---\n",
        b"---\nname: pdf-tools\ndescription: d\n",
        b"---\nname: pdf-tools\ndescription: \xff\n---\n",
        huge.as_bytes(),
    ] {
        assert!(parse_skill(content, "pdf-tools").is_err());
    }
}

#[test]
fn a_bomb_costs_no_more_than_its_size() {
    // Ten levels of aliases would be ten thousand million texts in full YAML.
    let levels: Vec<String> = (1..10)
        .map(|n| {
            format!(
                "l{n}: &l{n} [{}]",
                vec![format!("*l{}", n - 1); 10].join(", ")
            )
        })
        .collect();
    let bomb = format!(
        "name: pdf-tools\ndescription: d\nl0: &l0 lol\n{}",
        levels.join("\n")
    );
    assert!(parse(&bomb).is_err());
    let deep = format!("name: pdf-tools\ndescription: d\nx: {}", "[".repeat(30_000));
    assert!(parse(&deep).is_err());
}
