//! Hostile repositories: what git itself would never write is refused before its content is fetched, and what git would
//! interpret stays plain text. Nothing is installed in part, and nothing is left by a fetch.

use crate::hub::{Hub, install_with};
use holon_domain::guidance::SkillSource;
use holon_domain::limits::INSTALL_FILES;
use holon_domain::template::TemplateSelector;
use holon_workspace::TemplateStore;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

const SKILL: &str = "---\nname: tree\ndescription: Looks harmless.\n---\nBody $Id$ $Format:%H$\n";

/// Entries of a raw tree object: mode, name and content.
type Entries = Vec<(&'static str, Vec<u8>, Node)>;

/// Content of an entry.
enum Node {
    Blob(Vec<u8>),
    Tree(Entries),
    /// The id of an object that this repository does not have.
    Foreign,
}

/// A case: its name, the entries beside a good `SKILL.md`, and words of the refusal.
type Case = (&'static str, fn() -> Entries, &'static str);

fn blob(text: &str) -> Node {
    Node::Blob(text.as_bytes().to_vec())
}

fn file(name: &str) -> (&'static str, Vec<u8>, Node) {
    ("100644", name.as_bytes().to_vec(), blob("x"))
}

fn entry(mode: &'static str, name: &str, node: Node) -> Entries {
    vec![(mode, name.as_bytes().to_vec(), node)]
}

fn nested(levels: usize) -> Entries {
    let deepest = vec![file("x")];
    (0..levels).fold(deepest, |inner, _| entry("40000", "d", Node::Tree(inner)))
}

const REFUSED: &[Case] = &[
    (
        "a link out of the tree",
        || entry("120000", "x", blob("../../../../etc/passwd")),
        "symbolic link",
    ),
    (
        "a link inside the tree",
        || entry("120000", "x", blob("SKILL.md")),
        "symbolic link",
    ),
    (
        "a link to an absolute path",
        || entry("120000", "x", blob("/etc/passwd")),
        "symbolic link",
    ),
    (
        "a link in the place of a directory",
        || entry("120000", "scripts", blob("/bin")),
        "symbolic link",
    ),
    (
        "a submodule",
        || entry("160000", "x", Node::Foreign),
        "submodule",
    ),
    (
        "a submodule with its .gitmodules",
        || {
            let modules = "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=id\n";
            let mut entries = entry("160000", "x", Node::Foreign);
            entries.push(("100644", b".gitmodules".to_vec(), blob(modules)));
            entries
        },
        "submodule",
    ),
    ("a device", || entry("20644", "x", blob("x")), "submodule"),
    ("a pipe", || entry("10644", "x", blob("x")), "submodule"),
    ("a file named ..", || vec![file("..")], "'..'"),
    (
        "a directory named ..",
        || entry("40000", "..", Node::Tree(vec![file("x")])),
        "'..'",
    ),
    (
        "a directory named .",
        || entry("40000", ".", Node::Tree(vec![file("x")])),
        "'.'",
    ),
    (
        "a name with a way up",
        || vec![file("../../escaped")],
        "'..'",
    ),
    (
        "a way up below a directory",
        || vec![file("a/../../../escaped")],
        "'..'",
    ),
    ("an absolute name", || vec![file("/tmp/escaped")], "empty"),
    ("a name of slashes", || vec![file("//")], "empty"),
    (
        "a repository inside",
        || entry("40000", ".git", Node::Tree(vec![file("config")])),
        "'.git'",
    ),
    (
        "a repository inside, in capitals",
        || entry("40000", ".GIT", Node::Tree(vec![file("config")])),
        "'.git'",
    ),
    ("a backslash", || vec![file("a\\b")], "cannot be shown"),
    (
        "a way up with backslashes",
        || vec![file("..\\..\\escaped")],
        "cannot be shown",
    ),
    ("a newline", || vec![file("a\nb")], "cannot be shown"),
    (
        "a carriage return",
        || vec![file("a\rb")],
        "cannot be shown",
    ),
    (
        "an escape sequence",
        || vec![file("a\u{1b}[2Jb")],
        "cannot be shown",
    ),
    ("a tab", || vec![file("a\tb")], "cannot be shown"),
    (
        "reversed text",
        || vec![file("a\u{202e}dm.b")],
        "cannot be shown",
    ),
    (
        "a name that is not UTF-8",
        || vec![("100644", b"caf\xe9".to_vec(), blob("x"))],
        "not UTF-8",
    ),
    (
        "a name of 5,000 bytes",
        || vec![("100644", vec![b'n'; 5_000], blob("x"))],
        "too long",
    ),
    (
        "names that differ in case",
        || vec![file("README"), file("readme")],
        "case",
    ),
    (
        "directories that differ in case",
        || {
            let mut entries = entry("40000", "Docs", Node::Tree(vec![file("a")]));
            entries.extend(entry("40000", "docs", Node::Tree(vec![file("b")])));
            entries
        },
        "case",
    ),
    (
        "the same name twice",
        || vec![file("x"), file("x")],
        "twice",
    ),
    (
        "a file and a directory of one name",
        || {
            let mut entries = vec![file("x")];
            entries.extend(entry("40000", "x", Node::Tree(vec![file("y")])));
            entries
        },
        "twice",
    ),
    (
        "a second SKILL.md in other case",
        || vec![file("skill.md")],
        "case",
    ),
    ("a directory 100 levels deep", || nested(100), "levels"),
    (
        "a pointer to Git LFS",
        || {
            entry(
                "100644",
                "model.bin",
                blob("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 9\n"),
            )
        },
        "Git LFS",
    ),
];

/// Trees with files that git interprets in a checkout. They are installed as they are.
const PLAIN: &[Case] = &[
    (
        "attributes with filters",
        || {
            entry(
                "100644",
                ".gitattributes",
                blob("* filter=lfs diff=evil merge=evil text=auto eol=crlf ident\n"),
            )
        },
        "",
    ),
    (
        "attributes of an archive",
        || {
            entry(
                "100644",
                ".gitattributes",
                blob("* export-subst\nSKILL.md export-ignore\n"),
            )
        },
        "",
    ),
    (
        "attributes with an encoding",
        || {
            entry(
                "100644",
                ".gitattributes",
                blob("* working-tree-encoding=UTF-16\n"),
            )
        },
        "",
    ),
    (
        "modules without a submodule",
        || {
            entry(
                "100644",
                ".gitmodules",
                blob("[submodule \"x\"]\n\tpath = x\n\turl = ext::sh -c id\n"),
            )
        },
        "",
    ),
    (
        "the settings of Git LFS",
        || {
            entry(
                "100644",
                ".lfsconfig",
                blob("[lfs]\n\turl = https://evil.example\n"),
            )
        },
        "",
    ),
    (
        "a list of ignored files",
        || entry("100644", ".gitignore", blob("*\n")),
        "",
    ),
    (
        "a name that looks like an option",
        || vec![file("--upload-pack=id"), file("-rf")],
        "",
    ),
    (
        "a name of a pattern",
        || vec![file(":(exclude)*"), file("*")],
        "",
    ),
    (
        "a file with the setuid bit",
        || entry("104755", "run.sh", blob("#!/bin/sh\n")),
        "",
    ),
    (
        "a file that all may write",
        || entry("100666", "open.txt", blob("x")),
        "",
    ),
    ("an empty file", || entry("100644", "empty", blob("")), ""),
    ("a name with a slash", || vec![file("a/b")], ""),
    (
        "words of git in a file",
        || entry("100644", "x", blob("0000 blob 99\nx missing\n\n")),
        "",
    ),
];

/// Writes a raw tree object and everything below it.
fn write(hub: &Hub, entries: Entries) -> String {
    let mut raw = Vec::new();
    for (mode, name, node) in entries {
        let id = match node {
            Node::Blob(content) => hub.make_blob(&content),
            Node::Tree(inner) => write(hub, inner),
            Node::Foreign => "1".repeat(40),
        };
        raw.extend(format!("{mode} ").bytes());
        raw.extend(name);
        raw.push(0);
        let byte = |at: usize| u8::from_str_radix(id.get(at..at + 2).unwrap(), 16).unwrap();
        raw.extend((0..40).step_by(2).map(byte));
    }
    hub.make_raw_tree(&raw)
}

/// Pushes a repository whose directory `tree` has a good `SKILL.md` and these entries.
fn push(hub: &Hub, entries: Entries) {
    let mut all = entry("100644", "SKILL.md", blob(SKILL));
    all.extend(entries);
    let tree = write(hub, all);
    hub.push_tree(format!("040000 tree {tree}\ttree\0").as_bytes());
}

fn source(place: &str) -> SkillSource {
    SkillSource::Remote {
        package: place.to_owned(),
        skill: None,
    }
}

const PLACES: [&str; 2] = [
    "https://github.com/acme/agents/tree/main/tree",
    "acme/agents@tree",
];

#[test]
fn no_hostile_tree_is_installed_or_leaves_anything_behind() {
    for (case, make, words) in REFUSED {
        let hub = Hub::new();
        push(&hub, make());
        for place in PLACES {
            let refused = install_with(&hub.home(), &source(place), &hub.fetcher());
            let refused = refused.expect_err(case).to_string();
            assert!(refused.contains(words), "{case}: {refused}");
            assert!(
                !refused.contains(['\n', '\u{1b}', '\u{202e}']),
                "{case}: {refused:?}"
            );
        }
        assert!(!hub.home().join("skills").exists(), "{case}");
        assert_eq!(hub.left_by_fetches(), Vec::<String>::new(), "{case}");
        assert!(
            !hub.path("escaped").exists() && !hub.path("home/escaped").exists(),
            "{case}"
        );
    }
}

#[test]
fn what_git_would_interpret_is_installed_as_it_is() {
    for (case, make, _) in PLAIN {
        let hub = Hub::new();
        push(&hub, make());
        let place = PLACES[0];
        let installed = install_with(&hub.home(), &source(place), &hub.fetcher());
        assert_eq!(installed.expect(case), "tree");
        let home = hub.home().join("skills/tree");
        assert_eq!(
            fs::read_to_string(home.join("SKILL.md")).unwrap(),
            SKILL,
            "{case}"
        );
        for (mode, name, node) in make() {
            let path = home.join(String::from_utf8(name).unwrap());
            let Node::Blob(content) = node else {
                panic!("{case}")
            };
            assert_eq!(fs::read(&path).unwrap(), content, "{case}");
            let rights = fs::metadata(&path).unwrap().permissions().mode() & 0o7777;
            let expected = if mode.ends_with("755") { 0o700 } else { 0o600 };
            assert_eq!(rights, expected, "{case}");
        }
    }
}

#[test]
fn a_skill_or_template_directory_that_is_a_link_or_a_submodule_is_none() {
    let hub = Hub::new();
    let link = hub.make_blob(b"/etc");
    hub.push_tree(format!("120000 blob {link}\ttree\0").as_bytes());
    let linked = install_with(&hub.home(), &source(PLACES[0]), &hub.fetcher());
    assert!(linked.unwrap_err().to_string().contains("has no directory"));
    let commit = "1".repeat(40);
    hub.push_tree(format!("160000 commit {commit}\ttree\0").as_bytes());
    for place in PLACES {
        let refused = install_with(&hub.home(), &source(place), &hub.fetcher());
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("has no directory")
        );
    }
}

#[test]
fn a_hundred_thousand_files_are_too_many() {
    let hub = Hub::new();
    let names = (0..100_000).map(|number| file(&format!("f{number:06}")).1);
    let id = hub.make_blob(b"x");
    let skill = hub.make_blob(SKILL.as_bytes());
    let mut lines = format!("100644 blob {skill}\tSKILL.md\0").into_bytes();
    for name in names {
        lines.extend(format!("100644 blob {id}\t").bytes());
        lines.extend(name);
        lines.push(0);
    }
    let tree = hub.make_tree(&lines);
    hub.push_tree(format!("040000 tree {tree}\ttree\0").as_bytes());
    let refused = install_with(&hub.home(), &source(PLACES[0]), &hub.fetcher());
    let refused = refused.unwrap_err().to_string();
    assert!(
        refused.contains(&format!("{INSTALL_FILES} files")),
        "{refused}"
    );
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
}

#[test]
fn a_tree_that_contains_itself_ten_billion_times_is_given_up() {
    let hub = Hub::new();
    let mut tree = write(&hub, (0..10).map(|n| file(&format!("f{n}"))).collect());
    for _ in 0..9 {
        let lines: String = (0..10)
            .map(|n| format!("040000 tree {tree}\td{n}\0"))
            .collect();
        tree = hub.make_tree(lines.as_bytes());
    }
    let skill = hub.make_blob(SKILL.as_bytes());
    let lines = [
        format!("100644 blob {skill}\tSKILL.md"),
        format!("040000 tree {tree}\tbomb\0"),
    ]
    .join("\0");
    let tree = hub.make_tree(lines.as_bytes());
    hub.push_tree(format!("040000 tree {tree}\ttree\0").as_bytes());
    for place in PLACES {
        let refused = install_with(&hub.home(), &source(place), &hub.fetcher());
        let refused = refused.unwrap_err().to_string();
        assert!(refused.contains("was given up"), "{refused}");
    }
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
}

#[test]
fn a_file_that_unpacks_to_more_than_the_bound_is_not_read() {
    let hub = Hub::new();
    // Sixty mebibytes of zeros, which git sends as sixty kibibytes.
    push(
        &hub,
        entry("100644", "zeros", Node::Blob(vec![0; 60 << 20])),
    );
    let refused = install_with(&hub.home(), &source(PLACES[0]), &hub.fetcher());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("bytes and"), "{refused}");
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
}

#[test]
fn an_object_that_the_server_does_not_have_is_an_error() {
    let hub = Hub::new();
    push(&hub, vec![file("x")]);
    let id = hub.make_blob(b"x");
    let (folder, name) = id.split_at(2);
    let object = hub.bare().join("objects").join(folder).join(name);
    fs::remove_file(object).unwrap();
    let refused = install_with(&hub.home(), &source(PLACES[0]), &hub.fetcher());
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("cannot be read"), "{refused}");
    assert!(!hub.home().join("skills").exists());
}

#[test]
fn a_hostile_template_is_refused_like_a_hostile_skill() {
    let hub = Hub::new();
    let store = TemplateStore::of_user(None, hub.fetcher());
    let selector = TemplateSelector::parse(PLACES[0]).unwrap();
    for (case, make, words) in REFUSED {
        let mut all = entry("100644", "AGENTS.md", blob("# Role\n"));
        all.extend(
            make()
                .into_iter()
                .filter(|(_, name, _)| name != b"skill.md"),
        );
        if all.len() == 1 {
            continue;
        }
        let tree = write(&hub, all);
        hub.push_tree(format!("040000 tree {tree}\ttree\0").as_bytes());
        let refused = store.resolve(&selector).expect_err(case).to_string();
        assert!(refused.contains(words), "{case}: {refused}");
    }
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
}
