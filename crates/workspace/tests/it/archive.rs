//! Archives of homes: what is packed is what is unpacked, secrets stay behind, and hostile archives make nothing.

use holon_domain::agent::{AgentKind, ProfilePreset};
use holon_domain::archive::ustar::{self, EntryHeader};
use holon_domain::archive::{
    ArchiveCounts, ArchiveManifest, ArchiveRecord, ArchivedAgent, ArchivedFile, EntryDigest,
    FORMAT, HOME, LeftOut, LinkedSkill, MANIFEST, RECORD,
};
use holon_domain::text::sha256_hex;
use holon_domain::{AgentId, Timestamp};
use holon_workspace::{
    ArchiveError, ArchiveLimits, LinkRoots, PackOrder, PackedHome, check_archive, new_spool,
    pack_home, place_archive, seal,
};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

const SECRET: &str = "host-secret-0123456789";

fn empty_record() -> ArchiveRecord {
    ArchiveRecord {
        profile_preset: ProfilePreset::PublicNamed,
        thread_tokens: None,
        model: None,
        workspaces: Vec::new(),
        work_items: Vec::new(),
        current_work_item_id: None,
        timers: Vec::new(),
    }
}

fn redact(text: &str) -> Option<String> {
    text.contains(SECRET)
        .then(|| text.replace(SECRET, "[secret]"))
}

fn pack(home: &Path, limits: ArchiveLimits) -> Result<(PackedHome, Vec<u8>), ArchiveError> {
    let order = PackOrder {
        home,
        record: serde_json::to_string(&empty_record()).unwrap(),
        generated: vec![("history/a-1/briefs.jsonl".to_owned(), "{}\n".to_owned())],
        redact: &redact,
        limits,
    };
    let mut body = Vec::new();
    let packed = pack_home(&order, &mut body)?;
    Ok((packed, body))
}

fn manifest(packed: &PackedHome) -> ArchiveManifest {
    ArchiveManifest {
        format: FORMAT,
        holon_version: "0".to_owned(),
        exported_at: Timestamp::from_millis(5),
        agent: ArchivedAgent {
            agent_id: AgentId::parse("a").unwrap(),
            kind: AgentKind::Named,
            profile_preset: ProfilePreset::PublicNamed,
            created_at: Timestamp::from_millis(1),
            worked_in: "/srv/x".to_owned(),
        },
        template: packed.template.clone(),
        counts: ArchiveCounts::default(),
        record: packed.record.clone(),
        files: packed.files.clone(),
        linked_skills: packed.linked_skills.clone(),
        left_out: packed.left_out.clone(),
    }
}

fn sealed(dir: &Path, manifest: &ArchiveManifest, body: &[u8]) -> File {
    let mut spool = new_spool(dir).unwrap();
    spool.write_all(body).unwrap();
    seal(dir, manifest, spool).unwrap().file
}

fn contents(root: &Path) -> BTreeMap<String, (Vec<u8>, bool)> {
    let mut found = BTreeMap::new();
    let mut open = vec![root.to_owned()];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().display().to_string();
            let mode = fs::metadata(&path).unwrap().permissions().mode();
            found.insert(name, (fs::read(&path).unwrap(), mode & 0o100 != 0));
        }
    }
    found.remove(".holon/state/unconfirmed");
    found
}

fn put(root: &Path, path: &str, content: impl AsRef<[u8]>) {
    let target = root.join(path);
    fs::create_dir_all(target.parent().unwrap()).unwrap();
    fs::write(target, content).unwrap();
}

/// A small generator, so that the trees differ and a failure can be repeated by its seed.
struct Seeded(u64);

impl Seeded {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

fn random_home(root: &Path, seed: u64) {
    let mut random = Seeded(seed);
    fs::create_dir(root).unwrap();
    for number in 0..random.next(20) {
        let depth = random.next(4);
        let folders = (0..depth).map(|_| format!("d{}/", random.next(3)));
        let path = format!("{}f{number}", folders.collect::<String>());
        let size = usize::try_from(random.next(2000)).unwrap();
        let content: Vec<u8> = (0..size).map(|_| random.next(256) as u8).collect();
        put(root, &path, content);
        if random.next(3) == 0 {
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(root.join(&path), mode).unwrap();
        }
    }
}

#[test]
fn what_was_packed_is_unpacked_and_packs_again_to_the_same_content() {
    for seed in 0..40 {
        let dir = tempfile::tempdir().unwrap();
        let (home, copy) = (dir.path().join("home"), dir.path().join("copy"));
        random_home(&home, seed);
        let (packed, body) = pack(&home, ArchiveLimits::default()).unwrap();
        let file = sealed(dir.path(), &manifest(&packed), &body);
        let mut checked = check_archive(file, ArchiveLimits::default()).unwrap();
        place_archive(&copy, &mut checked, &LinkRoots::Any).unwrap();
        let mut expected = contents(&home);
        let briefs = (b"{}\n".to_vec(), false);
        expected.insert("history/a-1/briefs.jsonl".to_owned(), briefs);
        assert_eq!(contents(&copy), expected, "seed {seed}");
        // The copy has no history of its own: the one in its home is packed as a file like any other.
        let (again, _) = pack(&copy, ArchiveLimits::default()).unwrap();
        let by_path = |packed: &PackedHome| {
            let files = packed.files.iter();
            let mut files: Vec<ArchivedFile> = files.cloned().collect();
            files.sort_by(|a, b| a.path.cmp(&b.path));
            files
        };
        assert_eq!(by_path(&again), by_path(&packed), "seed {seed}");
    }
}

#[test]
fn the_longest_path_travels_and_a_longer_one_is_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let (home, copy) = (dir.path().join("home"), dir.path().join("copy"));
    let longest = format!("{}/{}", "d".repeat(139), "f".repeat(100));
    assert_eq!(longest.len(), holon_domain::limits::ARCHIVE_PATH_BYTES);
    let longer = format!("{}/{}", "d".repeat(139), "g".repeat(101));
    put(&home, &longest, "far");
    put(&home, &longer, "too far");
    let (packed, body) = pack(&home, ArchiveLimits::default()).unwrap();
    let left: Vec<&str> = packed
        .left_out
        .iter()
        .map(|left| left.what.as_str())
        .collect();
    assert_eq!(left, [longer]);
    let file = sealed(dir.path(), &manifest(&packed), &body);
    let mut checked = check_archive(file, ArchiveLimits::default()).unwrap();
    place_archive(&copy, &mut checked, &LinkRoots::Any).unwrap();
    assert_eq!(fs::read(copy.join(longest)).unwrap(), b"far");
}

#[test]
fn secrets_links_and_special_files_stay_behind_and_are_listed() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    put(&home, "AGENTS.md", "plain");
    put(&home, "notes/a.md", format!("the key is {SECRET}, keep it"));
    put(&home, "notes/token.md", "ghp_0123456789abcdefghij");
    put(
        &home,
        "data.bin",
        [b"\xff\xfe".as_slice(), SECRET.as_bytes()].concat(),
    );
    put(&home, ".env", "KEY=1");
    put(&home, ".config/gh/hosts.yml", "oauth_token: 0123");
    put(&home, &format!("notes/curl-{SECRET}.txt"), "x");
    put(&home, "key.txt", "-----BEGIN RSA PRIVATE KEY-----\nx");
    put(&home, "task-output/t.log", "out");
    put(&home, ".holon/state/tasks/x/spec", "claim");
    put(
        &home,
        ".holon/state/template-provenance.json",
        "{\"template_id\":\"t\"}",
    );
    put(&home, ".holon/state/unconfirmed", "");
    symlink("/etc/passwd", home.join("link")).unwrap();
    rustix::fs::mkfifoat(rustix::fs::CWD, home.join("pipe"), rustix::fs::Mode::RWXU).unwrap();

    let (packed, body) = pack(&home, ArchiveLimits::default()).unwrap();
    let files: Vec<(&str, bool)> = packed
        .files
        .iter()
        .map(|file| (file.path.as_str(), file.redacted))
        .collect();
    assert_eq!(
        files,
        [
            (".holon/state/template-provenance.json", false),
            ("AGENTS.md", false),
            ("notes/a.md", true),
            ("notes/token.md", true),
            ("history/a-1/briefs.jsonl", false),
        ]
    );
    let left: Vec<&str> = packed
        .left_out
        .iter()
        .map(|left| left.what.as_str())
        .collect();
    assert_eq!(
        left,
        [
            ".config/gh/hosts.yml",
            ".env",
            ".holon/state/tasks",
            "data.bin",
            "key.txt",
            "link",
            "notes/curl-[secret].txt",
            "pipe",
            "task-output"
        ]
    );
    let text = String::from_utf8_lossy(&body);
    for secret in [
        SECRET,
        "ghp_0123456789abcdefghij",
        "RSA PRIVATE",
        "KEY=1",
        "oauth",
    ] {
        assert!(!text.contains(secret), "{secret}");
    }
    assert_eq!(
        packed.template,
        Some(serde_json::json!({"template_id": "t"}))
    );
}

#[test]
fn a_home_with_more_than_an_archive_holds_is_refused_and_a_large_file_left_out() {
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    for number in 0..4 {
        put(&home, &format!("f{number}"), [b'x'; 600]);
    }
    let limits = |files, bytes, file_bytes| ArchiveLimits {
        files,
        bytes,
        file_bytes,
        ..ArchiveLimits::default()
    };
    for (limits, what) in [
        (limits(3, 1 << 20, 1 << 20), "3 files"),
        (limits(9, 4096, 1 << 20), "4096 bytes"),
    ] {
        let refused = pack(&home, limits).unwrap_err();
        assert!(refused.to_string().contains(what), "{refused}");
    }
    let (packed, _) = pack(&home, limits(9, 1 << 20, 599)).unwrap();
    assert_eq!(
        packed.files.len(),
        1,
        "only the generated file is small enough"
    );
    assert_eq!(packed.left_out.len(), 4);
    assert!(
        packed
            .left_out
            .iter()
            .all(|left| left.reason.contains("599"))
    );
}

/// Makes the parts of a valid archive with one file.
fn valid() -> (ArchiveManifest, Vec<(EntryHeader, Vec<u8>)>) {
    let record = serde_json::to_vec(&empty_record()).unwrap();
    let digest = |content: &[u8]| EntryDigest {
        bytes: content.len() as u64,
        sha256: sha256_hex(content),
    };
    let packed = PackedHome {
        record: digest(&record),
        files: vec![ArchivedFile {
            path: "notes/a.md".to_owned(),
            digest: digest(b"words"),
            executable: false,
            redacted: false,
        }],
        linked_skills: Vec::new(),
        left_out: vec![LeftOut::new("x", "y")],
        template: None,
    };
    let entries = vec![entry(RECORD, &record), entry("home/notes/a.md", b"words")];
    (manifest(&packed), entries)
}

fn entry(path: &str, content: &[u8]) -> (EntryHeader, Vec<u8>) {
    let header = EntryHeader {
        path: path.to_owned(),
        bytes: content.len() as u64,
        executable: false,
    };
    (header, content.to_vec())
}

fn encode(header: &EntryHeader, content: &[u8]) -> Vec<u8> {
    let mut bytes = ustar::encode(header).unwrap().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len() + ustar::padding(content.len() as u64), 0);
    bytes
}

fn render(manifest: &ArchiveManifest, entries: &[(EntryHeader, Vec<u8>)]) -> Vec<u8> {
    let text = serde_json::to_vec(manifest).unwrap();
    let (header, text) = entry(MANIFEST, &text);
    let mut bytes = encode(&header, &text);
    for (header, content) in entries {
        bytes.extend(encode(header, content));
    }
    bytes.resize(bytes.len() + 1024, 0);
    bytes
}

/// Changes the raw bytes of the header of an entry and mends its checksum.
fn forge(bytes: &mut [u8], at: usize, change: impl FnOnce(&mut [u8])) {
    let block = &mut bytes[at..at + 512];
    change(block);
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
}

/// Finds the header of the entry with this path.
fn find(bytes: &[u8], path: &str) -> usize {
    let mut blocks = bytes.chunks(512).enumerate();
    let (number, _) = blocks
        .find(|(_, block)| block.starts_with(path.as_bytes()) && block[257..262] == *b"ustar")
        .unwrap();
    number * 512
}

type Case = (&'static str, Vec<u8>);

fn manifest_cases() -> Vec<Case> {
    let with = |change: &dyn Fn(&mut ArchiveManifest)| {
        let (mut manifest, entries) = valid();
        change(&mut manifest);
        render(&manifest, &entries)
    };
    let path = |path: &'static str| {
        with(&move |manifest: &mut ArchiveManifest| manifest.files[0].path = path.to_owned())
    };
    let digest = EntryDigest {
        bytes: 0,
        sha256: sha256_hex(b""),
    };
    let extra = |path: &'static str| {
        let digest = digest.clone();
        with(&move |manifest: &mut ArchiveManifest| {
            manifest.files.push(ArchivedFile {
                path: path.to_owned(),
                digest: digest.clone(),
                executable: false,
                redacted: false,
            });
        })
    };
    vec![
        ("a newer format", with(&|m| m.format = FORMAT + 1)),
        (
            "another hash",
            with(&|m| m.files[0].digest.sha256 = "0".repeat(64)),
        ),
        ("another size", with(&|m| m.files[0].digest.bytes = 4)),
        ("another mode", with(&|m| m.files[0].executable = true)),
        (
            "another record",
            with(&|m| m.record.sha256 = "0".repeat(64)),
        ),
        ("a missing file", extra("notes/b.md")),
        ("a path listed twice", extra("notes/a.md")),
        ("a file in the place of a directory", extra("notes")),
        ("a directory in the place of a file", extra("notes/a.md/b")),
        ("an unlisted file", with(&|m| m.files.clear())),
        ("a parent directory", path("../notes/a.md")),
        ("an absolute path", path("/notes/a.md")),
        ("a path through a parent", path("notes/../a.md")),
        ("a control character", path("notes/a\n.md")),
        ("the mark of the host", path(".holon/state/unconfirmed")),
        ("a claim of a command", path(".holon/state/tasks/x")),
        ("a file named as the host's directory", path(".holon")),
        ("an output of a task", path("task-output/x.log")),
        ("a bomb", with(&|m| m.files[0].digest.bytes = 1 << 40)),
    ]
}

fn entry_cases() -> Vec<Case> {
    let with = |change: &dyn Fn(&mut Vec<u8>, usize)| {
        let (manifest, entries) = valid();
        let mut bytes = render(&manifest, &entries);
        let at = find(&bytes, "home/notes/a.md");
        change(&mut bytes, at);
        bytes
    };
    let kind = |byte: u8| with(&move |bytes, at| forge(bytes, at, |block| block[156] = byte));
    let name = |path: &'static str| {
        with(&move |bytes, at| {
            forge(bytes, at, |block| {
                block[..100].fill(0);
                block[..path.len()].copy_from_slice(path.as_bytes());
            });
        })
    };
    let twice = {
        let (manifest, mut entries) = valid();
        entries.push(entry("home/notes/a.md", b"words"));
        render(&manifest, &entries)
    };
    let late = {
        let (manifest, mut entries) = valid();
        entries.reverse();
        render(&manifest, &entries)
    };
    vec![
        ("a hard link", kind(b'1')),
        ("a symbolic link", kind(b'2')),
        ("a character device", kind(b'3')),
        ("a block device", kind(b'4')),
        ("a directory entry", kind(b'5')),
        ("a pipe", kind(b'6')),
        ("a contiguous file", kind(b'7')),
        ("a pax header", kind(b'x')),
        ("a global pax header", kind(b'g')),
        ("a GNU long name", kind(b'L')),
        ("a GNU long link", kind(b'K')),
        ("a GNU sparse file", kind(b'S')),
        ("an old-style entry", kind(0)),
        ("a climbing entry", name("../evil")),
        ("an entry beside the home", name("evil")),
        ("a sibling with the same beginning", name("home-evil/a")),
        ("an absolute entry", name("/etc/cron.d/x")),
        ("a second record", name("record.json")),
        ("an entry twice", twice),
        ("a record at the wrong place", late),
        (
            "a binary size",
            with(&|bytes, at| forge(bytes, at, |block| block[124] = 0x80)),
        ),
        (
            "a size beyond the end",
            with(&|bytes, at| {
                forge(bytes, at, |block| {
                    block[124..136].copy_from_slice(b"00000777777\0")
                });
            }),
        ),
        ("a wrong checksum", with(&|bytes, at| bytes[at] ^= 1)),
        ("another content", with(&|bytes, at| bytes[at + 512] ^= 1)),
        (
            "a hidden padding",
            with(&|bytes, at| bytes[at + 512 + 100] = 1),
        ),
        (
            "no end mark",
            with(&|bytes, _| bytes.truncate(bytes.len() - 1024)),
        ),
        (
            "half an end mark",
            with(&|bytes, _| bytes.truncate(bytes.len() - 512)),
        ),
        ("a torn header", with(&|bytes, at| bytes.truncate(at + 100))),
        (
            "a torn content",
            with(&|bytes, at| bytes.truncate(at + 514)),
        ),
        (
            "a second archive behind it",
            with(&|bytes, _| bytes.extend_from_within(..1024)),
        ),
        ("nothing", Vec::new()),
        ("only zeros", vec![0; 2048]),
        ("no tar", b"PK\x03\x04 this is a zip".repeat(100)),
        ("a manifest that is no JSON", {
            let (header, text) = entry(MANIFEST, b"{");
            encode(&header, &text)
        }),
        ("a manifest that is a list", {
            let (header, text) = entry(MANIFEST, b"[1]");
            encode(&header, &text)
        }),
    ]
}

#[test]
fn hostile_archives_are_refused_and_make_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let (manifest, entries) = valid();
    let check = |bytes: &[u8]| {
        let mut file = new_spool(dir.path()).unwrap();
        file.write_all(bytes).unwrap();
        check_archive(file, ArchiveLimits::default())
    };
    assert!(
        check(&render(&manifest, &entries)).is_ok(),
        "the archive they differ from"
    );
    let cases: Vec<Case> = manifest_cases().into_iter().chain(entry_cases()).collect();
    assert!(cases.len() >= 50, "{}", cases.len());
    for (name, bytes) in cases {
        let refused = check(&bytes);
        assert!(refused.is_err(), "{name}");
        if name == "a newer format" {
            assert!(matches!(refused, Err(ArchiveError::Newer { found: 2, .. })));
        }
    }
    assert_eq!(contents(dir.path()), BTreeMap::new(), "no file was made");
}

#[test]
fn a_torn_or_changed_archive_is_refused_or_has_the_same_content() {
    let dir = tempfile::tempdir().unwrap();
    let (manifest, entries) = valid();
    let whole = render(&manifest, &entries);
    for length in (0..whole.len() - 1).step_by(61) {
        let mut file = new_spool(dir.path()).unwrap();
        file.write_all(&whole[..length]).unwrap();
        assert!(
            check_archive(file, ArchiveLimits::default()).is_err(),
            "{length}"
        );
    }
    // A changed byte is refused, unless it is a word of the manifest that no check reads.
    for position in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[position] ^= 1 << (position % 7);
        let mut file = new_spool(dir.path()).unwrap();
        file.write_all(&bytes).unwrap();
        if let Ok(checked) = check_archive(file, ArchiveLimits::default()) {
            assert_eq!(checked.manifest.files, manifest.files, "{position}");
            assert_eq!(checked.record, empty_record(), "{position}");
        }
    }
    let limits = ArchiveLimits {
        bytes: 100,
        ..ArchiveLimits::default()
    };
    let mut file = new_spool(dir.path()).unwrap();
    file.write_all(&whole).unwrap();
    let refused = check_archive(file, limits).unwrap_err();
    assert!(refused.to_string().contains("100 bytes"), "{refused}");
}

#[test]
fn a_home_in_use_is_not_replaced_and_a_leftover_is() {
    let dir = tempfile::tempdir().unwrap();
    let (manifest, entries) = valid();
    let open = || {
        let mut file = new_spool(dir.path()).unwrap();
        file.write_all(&render(&manifest, &entries)).unwrap();
        check_archive(file, ArchiveLimits::default()).unwrap()
    };
    let home = dir.path().join("agent");
    put(&home, "mine", "work");
    let refused = place_archive(&home, &mut open(), &LinkRoots::Any).unwrap_err();
    assert!(
        matches!(refused, ArchiveError::HomeInUse { .. }),
        "{refused}"
    );
    assert_eq!(fs::read(home.join("mine")).unwrap(), b"work");

    // An interrupted import left a home with its mark.
    put(&home, ".holon/state/unconfirmed", "");
    place_archive(&home, &mut open(), &LinkRoots::Any).unwrap();
    let found: Vec<String> = contents(&home).into_keys().collect();
    assert_eq!(found, ["notes/a.md"]);
    assert!(holon_workspace::is_unconfirmed(&home));
    holon_workspace::confirm_home(&home).unwrap();
    assert!(!holon_workspace::is_unconfirmed(&home));
    assert!(
        home.join(HOME.trim_end_matches('/'))
            .symlink_metadata()
            .is_err()
    );
}

#[test]
fn a_linked_skill_is_linked_again_where_its_target_is_a_skill() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let (home, copy) = (base.join("home"), base.join("copy"));
    let text = "---\nname: deploy\ndescription: Deploys.\n---\n";
    put(&base, "source/deploy/SKILL.md", text);
    put(&base, "source/plain/README.md", "no skill");
    put(&home, "skills/own/SKILL.md", "x");
    let links = [
        ("deploy", base.join("source/deploy")),
        ("plain", base.join("source/plain")),
        ("other-name", base.join("source/deploy")),
        ("gone", base.join("source/gone")),
    ];
    for (name, target) in &links {
        symlink(target, home.join("skills").join(name)).unwrap();
    }
    symlink("../../etc", home.join("skills/relative")).unwrap();
    symlink(&base, home.join("elsewhere")).unwrap();

    let (packed, body) = pack(&home, ArchiveLimits::default()).unwrap();
    let names: Vec<&str> = packed
        .linked_skills
        .iter()
        .map(|link| link.name.as_str())
        .collect();
    assert_eq!(names, ["deploy", "gone", "other-name", "plain"]);
    let left: Vec<&str> = packed
        .left_out
        .iter()
        .map(|left| left.what.as_str())
        .collect();
    assert_eq!(left, ["elsewhere", "skills/relative"]);

    let mut manifest = manifest(&packed);
    // A name of a hostile archive does not lead out of the home.
    manifest.linked_skills.push(LinkedSkill {
        name: "../deploy".to_owned(),
        target: base.join("source/deploy").display().to_string(),
    });
    let file = sealed(&base, &manifest, &body);
    let mut archive = check_archive(file, ArchiveLimits::default()).unwrap();
    place_archive(&copy, &mut archive, &LinkRoots::Any).unwrap();
    let target = fs::read_link(copy.join("skills/deploy")).unwrap();
    assert_eq!(target, base.join("source/deploy"));
    for name in ["plain", "other-name", "gone", "relative"] {
        let place = copy.join("skills").join(name);
        assert!(place.symlink_metadata().is_err(), "{name}");
    }
    assert!(copy.join("deploy").symlink_metadata().is_err());
}

#[test]
fn the_links_of_an_archive_from_outside_lead_into_the_named_roots_only() {
    let dir = tempfile::tempdir().unwrap();
    let base = dir.path().canonicalize().unwrap();
    let home = base.join("home");
    let skill = |name: &str| format!("---\nname: {name}\ndescription: It.\n---\n");
    for place in [
        "user/skills/own",
        "private/own",
        "user/skills/set/inner",
        "private/linked",
    ] {
        let name = place.rsplit('/').next().unwrap();
        put(&base, &format!("{place}/SKILL.md"), skill(name));
    }
    symlink(base.join("private/linked"), base.join("user/skills/linked")).unwrap();
    fs::create_dir(base.join("outside")).unwrap();
    symlink(base.join("user/skills/own"), base.join("outside/link")).unwrap();
    put(&home, "skills/other/SKILL.md", "x");
    let (packed, body) = pack(&home, ArchiveLimits::default()).unwrap();
    let roots = LinkRoots::Under(vec![base.join("user/skills")]);
    for (name, target, is_made) in [
        ("own", "user/skills/own", true),
        ("inner", "user/skills/set/inner", true),
        ("own", "outside/link", true),
        ("linked", "user/skills/linked", false),
        ("own", "private/own", false),
        ("linked", "private/linked", false),
        ("own", "user/skills/../../private/own", false),
        ("own", "user/skills/set/../../../private/own", false),
    ] {
        let mut manifest = manifest(&packed);
        manifest.linked_skills.push(LinkedSkill {
            name: name.to_owned(),
            target: base.join(target).display().to_string(),
        });
        let file = sealed(&base, &manifest, &body);
        let mut archive = check_archive(file, ArchiveLimits::default()).unwrap();
        let copy = base.join("copy");
        place_archive(&copy, &mut archive, &roots).unwrap();
        let link = copy.join("skills").join(name);
        assert_eq!(link.symlink_metadata().is_ok(), is_made, "{target}");
        if is_made {
            let led_to = fs::read_link(&link).unwrap();
            let real = base.join(target).canonicalize().unwrap();
            assert_eq!(
                led_to, real,
                "a link that is changed later leads nowhere else"
            );
        }
        fs::remove_dir_all(&copy).unwrap();
    }
}
