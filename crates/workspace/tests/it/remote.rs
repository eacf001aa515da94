//! Templates and skills on GitHub: found by ref and path, fetched, pinned and applied like local ones.

use crate::hub::{Hub, install_with};
use holon_domain::guidance::SkillSource;
use holon_domain::template::TemplateSelector;
use holon_domain::time::Timestamp;
use holon_workspace::{
    FetchError, SkillError, Template, TemplateError, TemplateOrder, TemplateOrigin, TemplateStore,
    apply_template, installed_skills, skill_change,
};
use std::fs;
use std::time::Duration;

fn url(ref_and_path: &str) -> String {
    format!("https://github.com/acme/agents/tree/{ref_and_path}")
}

fn resolve(hub: &Hub, selector: &str) -> Result<Template, TemplateError> {
    let store = TemplateStore::of_user(Some(&hub.path("user")), hub.fetcher());
    store.resolve(&TemplateSelector::parse(selector).unwrap())
}

fn remote(package: &str) -> SkillSource {
    SkillSource::Remote {
        package: package.to_owned(),
        skill: None,
    }
}

#[test]
fn a_template_is_fetched_and_its_commit_is_in_the_provenance() {
    let hub = Hub::new();
    hub.put("templates/reviewer/AGENTS.md", "# Role\n\nReview.\n")
        .put(
            "templates/reviewer/skills.json",
            r#"{"skill_refs":[{"kind":"builtin","name":"ghx"},{"kind":"github","package":"acme/agents@pdf"}]}"#,
        )
        .put_skill("skills/pdf")
        .put("skills/pdf/scripts/fill.sh", "#!/bin/sh\n");
    let commit = hub.push();
    let selector = url("main/templates/reviewer");
    let template = resolve(&hub, &selector).unwrap();
    let TemplateOrigin::GitHub(from) = &template.origin else {
        panic!("{:?}", template.origin);
    };
    assert_eq!(from.repository, "https://github.com/acme/agents");
    assert_eq!(
        (from.commit.as_str(), from.directory.as_str()),
        (commit.as_str(), "templates/reviewer")
    );

    let home = hub.path("agents/x");
    let order = TemplateOrder {
        selector: selector.clone(),
        seed: None,
        applied_at: Timestamp::from_millis(1_794_700_000_000),
    };
    apply_template(&home, &template, &order).unwrap();
    drop(template);
    let agents_md = fs::read_to_string(home.join("AGENTS.md")).unwrap();
    assert!(agents_md.starts_with("# Role\n\nReview.\n"), "{agents_md}");
    let record = fs::read(home.join(".holon/state/template-provenance.json")).unwrap();
    let record: serde_json::Value = serde_json::from_slice(&record).unwrap();
    assert_eq!(record["selector"], selector);
    assert_eq!(
        (&record["origin"], &record["commit"]),
        (&"github".into(), &commit.as_str().into())
    );
    assert_eq!(record["skills"][1]["fetched_from"]["commit"], commit);
    assert_eq!(
        record["skills"][1]["fetched_from"]["directory"],
        "skills/pdf"
    );
    assert!(home.join("skills/pdf/scripts/fill.sh").exists());
    assert!(home.join("skills/ghx/SKILL.md").exists());
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
}

#[test]
fn a_ref_with_slashes_is_told_from_the_path_by_the_real_refs() {
    let hub = Hub::new();
    let mut commits = Vec::new();
    for (name, text) in [
        ("refs/heads/release", "branch"),
        ("refs/heads/team/x/2.0", "nested"),
        ("refs/tags/v1", "tag"),
        ("refs/tags/release/9", "nested tag"),
    ] {
        hub.put("dir/AGENTS.md", text)
            .put("2.0/dir/AGENTS.md", "another path");
        hub.git(&["add", "-A"]);
        hub.git(&["commit", "-q", "-m", "x"]);
        if text == "branch" {
            hub.push_to("refs/heads/main");
        }
        commits.push(hub.push_to(name));
    }
    hub.git(&["tag", "-a", "-m", "x", "annotated"]);
    let bare = hub.bare();
    hub.git(&["push", "-q", bare.to_str().unwrap(), "annotated"]);
    for (place, text) in [
        ("release/dir", "branch"),
        ("release/2.0/dir", "another path"),
        ("team/x/2.0/dir", "nested"),
        ("v1/dir", "tag"),
        ("release/9/dir", "nested tag"),
        ("annotated/dir", "nested tag"),
        ("HEAD/dir", "branch"),
        (format!("{}/dir", commits[1]).as_str(), "nested"),
    ] {
        let template =
            resolve(&hub, &url(place)).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert_eq!(template.agents_md, text, "{place}");
    }
    for (place, words) in [
        ("nope/dir", "has no branch or tag"),
        ("team/x/dir", "has no branch or tag"),
        ("release/nope", "has no directory \"nope\""),
        (
            "release/dir/AGENTS.md",
            "has no directory \"dir/AGENTS.md\"",
        ),
        ("release", "names a ref and a directory"),
    ] {
        let refused = match TemplateSelector::parse(&url(place)) {
            Ok(_) => resolve(&hub, &url(place)).unwrap_err().to_string(),
            Err(error) => error.to_string(),
        };
        assert!(refused.contains(words), "{place}: {refused}");
    }
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
}

#[test]
fn one_bad_entry_fails_the_whole_template() {
    let hub = Hub::new();
    hub.put_skill("skills/pdf");
    for (number, (refs, words)) in [
        (r#"{"kind":"github","package":"acme/agents@nope"}"#, "no skill \"nope\""),
        (r#"{"kind":"github","package":"acme/missing@pdf"}"#, "acme/missing cannot be read"),
        (r#"{"kind":"github","package":"acme/agents"}"#, "OWNER/REPO@SKILL"),
        (r#"{"kind":"github","package":"acme/agents@pdf"},{"kind":"github","package":"acme/agents@pdf#main"}"#, "two skills"),
        (r#"{"kind":"github","package":"acme/agents@pdf"},{"kind":"builtin","name":"no"}"#, "built in"),
    ]
    .into_iter()
    .enumerate()
    {
        let dir = format!("t{number}");
        hub.put(&format!("{dir}/AGENTS.md"), "# Role\n");
        hub.put(&format!("{dir}/skills.json"), format!("{{\"skill_refs\":[{refs}]}}"));
        hub.push();
        let refused = resolve(&hub, &url(&format!("main/{dir}"))).unwrap_err().to_string();
        assert!(refused.contains(words), "{refs}: {refused}");
    }
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
}

#[test]
fn a_listing_of_templates_fetches_nothing() {
    let hub = Hub::new();
    let dir = hub.path("user/.agents/templates/mine");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("AGENTS.md"), "# Role\n").unwrap();
    let refs = r#"{"skill_refs":[{"kind":"github","package":"acme/agents@pdf"}]}"#;
    fs::write(dir.join("skills.json"), refs).unwrap();
    let store = TemplateStore::of_user(Some(&hub.path("user")), hub.fetcher());
    let listed = store.list();
    let mine = listed.iter().find(|listing| listing.id == "mine").unwrap();
    assert_eq!(mine.problem, None);
    assert!(!hub.path("fetch").exists());
    assert!(resolve(&hub, "mine").is_err(), "the repository is empty");
}

#[test]
fn a_remote_skill_is_installed_pinned_and_a_later_change_is_told() {
    let hub = Hub::new();
    hub.put_skill("skills/pdf").put_skill("other/csv");
    hub.put("skills/pdf/scripts/run.sh", "#!/bin/sh\n");
    hub.git(&["add", "-A"]);
    hub.git(&["update-index", "--chmod=+x", "skills/pdf/scripts/run.sh"]);
    let commit = hub.push();
    for (package, name) in [
        ("https://github.com/acme/agents/tree/main/skills/pdf", "pdf"),
        ("acme/agents@csv", "csv"),
    ] {
        let installed = install_with(&hub.home(), &remote(package), &hub.fetcher()).unwrap();
        assert_eq!(installed, name);
    }
    let again = install_with(&hub.home(), &remote("acme/agents@pdf#main"), &hub.fetcher());
    assert!(
        matches!(again, Err(SkillError::AlreadyInstalled { .. })),
        "{again:?}"
    );
    let listed = installed_skills(&hub.home()).unwrap();
    let pins: Vec<&str> = listed
        .iter()
        .map(|skill| skill.fetched_from.as_ref().unwrap().commit.as_str())
        .collect();
    assert_eq!(pins, [commit.as_str(), commit.as_str()]);
    assert!(
        listed.iter().all(|skill| skill.warning.is_none()),
        "{listed:?}"
    );
    let entrypoint = hub.home().join("skills/pdf/SKILL.md");
    assert_eq!(skill_change(&entrypoint), None);
    // Neither the folder of the fetch nor the repository is needed any more.
    assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
    fs::write(
        hub.home().join("skills/pdf/scripts/run.sh"),
        "#!/bin/sh\nevil\n",
    )
    .unwrap();
    let told = skill_change(&entrypoint).unwrap();
    assert!(told.contains("changed since it was installed"), "{told}");
    let listed = installed_skills(&hub.home()).unwrap();
    assert_eq!(listed[1].warning.as_deref(), Some(told.as_str()));
}

#[test]
fn a_whole_repository_is_a_skill_if_it_has_one() {
    let hub = Hub::new();
    hub.put(
        "SKILL.md",
        "---\nname: agents\ndescription: Is the root.\n---\n",
    );
    hub.put("lib/x.txt", "x");
    hub.push();
    let installed = install_with(
        &hub.home(),
        &remote("https://github.com/acme/agents"),
        &hub.fetcher(),
    );
    assert_eq!(installed.unwrap(), "agents");
    assert!(hub.home().join("skills/agents/lib/x.txt").exists());
    hub.put_skill("skills/pdf");
    hub.push();
    let several = install_with(
        &hub.home(),
        &remote("https://github.com/acme/agents"),
        &hub.fetcher(),
    );
    let several = several.unwrap_err().to_string();
    assert!(
        several.contains("name one of them: agents, pdf"),
        "{several}"
    );
    let named = SkillSource::Remote {
        package: "https://github.com/acme/agents#main".to_owned(),
        skill: Some("pdf".to_owned()),
    };
    assert_eq!(
        install_with(&hub.home(), &named, &hub.fetcher()).unwrap(),
        "pdf"
    );
}

#[test]
fn only_what_was_asked_for_is_downloaded() {
    let hub = Hub::new();
    hub.put_skill("skills/pdf");
    let mut noise = vec![0; 3 << 20];
    fill_with_noise(&mut noise);
    hub.put("large.bin", &noise);
    hub.push();
    let fetcher = hub.fetcher().with_bounds(Duration::from_secs(60), 1 << 20);
    install_with(&hub.home(), &remote("acme/agents@pdf"), &fetcher).unwrap();
}

#[test]
fn a_download_that_is_too_large_or_too_slow_is_given_up_and_leaves_nothing() {
    let hub = Hub::new();
    hub.put_skill("skills/pdf");
    let mut noise = vec![0; 3 << 20];
    fill_with_noise(&mut noise);
    hub.put("skills/pdf/large.bin", &noise);
    hub.push();
    for fetcher in [
        hub.fetcher().with_bounds(Duration::from_secs(60), 1 << 20),
        hub.fetcher().with_bounds(Duration::from_millis(1), 1 << 30),
    ] {
        let refused = install_with(&hub.home(), &remote("acme/agents@pdf"), &fetcher);
        let refused = refused.unwrap_err();
        assert!(
            matches!(refused, SkillError::Fetch(FetchError::OutOfBounds { .. })),
            "{refused:?}"
        );
        assert!(!hub.home().join("skills/pdf").exists());
        assert_eq!(hub.left_by_fetches(), Vec::<String>::new());
    }
}

/// Fills a buffer with bytes that do not compress.
fn fill_with_noise(buffer: &mut [u8]) {
    let mut state: u64 = 0x9e37_79b9_7f4a_7c15;
    for byte in buffer {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        *byte = state.to_le_bytes()[3];
    }
}
