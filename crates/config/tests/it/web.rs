//! Settings of the web tools.

use holon_config::{Env, FileSettings, Flags, Settings, resolve};
use holon_domain::web::{SearchMode, SearchProviderKind};
use std::path::Path;

fn settings(content: &str) -> Result<Settings, String> {
    let file = FileSettings::parse(content, Path::new("/h/config.toml"));
    let file = file.map_err(|error| error.to_string())?;
    let flags = Flags {
        home: Some("/h".into()),
        ..Flags::default()
    };
    resolve(&Env::default(), &flags, Some(&file)).map_err(|error| error.to_string())
}

#[test]
fn without_settings_pages_are_fetched_and_nothing_searches() {
    let web = settings("").expect("settings").web;
    assert!(web.fetch.enabled.value);
    let bounds = (
        web.fetch.max_chars.value,
        web.fetch.max_response_bytes.value,
        web.fetch.timeout_seconds.value,
        web.fetch.max_redirects.value,
    );
    assert_eq!(bounds, (20_000, 750_000, 20, 5));
    assert!(web.fetch.private_hosts.value.is_empty());
    assert_eq!(web.search.mode.value, SearchMode::Fallback);
    assert!(web.search.providers.is_empty());
}

#[test]
fn providers_are_asked_in_the_order_that_the_settings_give() {
    let providers = r#"
        [web.providers.mine]
        kind = "command"
        command.argv = ["search-it", "--json"]
        output.mapping.url = "link"
        [web.providers.alpha]
        kind = "searxng"
        base_url = "http://127.0.0.1:8888/"
        limits.timeout_ms = 500
        [web.providers.brave]
        kind = "brave"
        credential_profile = "brave"
    "#;
    let order = |search: &str| -> Vec<String> {
        let content = format!("[web.search]\n{search}\n{providers}");
        let web = settings(&content).expect("settings").web;
        web.search
            .providers
            .into_iter()
            .map(|one| one.name)
            .collect()
    };
    assert_eq!(order(""), ["alpha", "brave", "mine"]);
    assert_eq!(order("providers = ['mine', 'alpha']"), ["mine", "alpha"]);
    assert_eq!(order("provider = 'mine'"), ["mine", "alpha", "brave"]);
    let web = settings(providers).expect("settings").web;
    let [alpha, brave, mine] = web.search.providers.try_into().expect("three");
    assert_eq!(
        (alpha.base_url.as_str(), alpha.timeout_ms),
        ("http://127.0.0.1:8888", 500)
    );
    assert_eq!(brave.base_url, "https://api.search.brave.com");
    assert_eq!(brave.max_output_bytes, 1_000_000);
    assert_eq!(
        (mine.kind, mine.max_output_bytes),
        (SearchProviderKind::Command, 200_000)
    );
    assert_eq!(
        (mine.mapping.url.as_str(), mine.mapping.title.as_str()),
        ("link", "title")
    );
}

#[test]
fn what_cannot_work_is_refused_with_the_place_where_it_stands() {
    for (content, words) in [
        ("[web.providers.x]\nkind = 'google'", "one of searxng"),
        (
            "[web.providers.x]\nkind = 'searxng'\nbase_url = 'http://10.0.0.1'\ncredential_profile = 'k'",
            "in the clear",
        ),
        (
            "[web.search]\nprovider = 'none'",
            "no search provider \"none\"",
        ),
        (
            "[web.search]\nproviders = ['a']",
            "no search provider \"a\"",
        ),
        (
            "[web.search]\nmode = 'all'",
            "one of single, fallback, aggregate",
        ),
        (
            "[web.fetch]\nprivate_hosts = ['http://wiki.lan/']",
            "is not a host",
        ),
        ("[web.fetch]\nmax_redirects = 21", "0 to 20"),
        ("[web.fetch]\nmax_characters = 7", "max_chars"),
    ] {
        let refused = settings(content).expect_err(content);
        assert!(refused.contains(words), "{content}: {refused}");
        assert!(refused.contains("config.toml"), "{content}: {refused}");
    }
}

#[test]
fn an_incomplete_provider_is_not_asked_and_cannot_be_named() {
    for (provider, words) in [
        (
            "[web.providers.x]\nbase_url = 'https://a.org'",
            "needs `kind`",
        ),
        (
            "[web.providers.x]\nkind = 'command'",
            "needs `command.argv`",
        ),
        ("[web.providers.x]\nkind = 'searxng'", "needs `base_url`"),
        (
            "[web.providers.x]\nkind = 'brave'",
            "needs `credential_profile`",
        ),
    ] {
        let search = settings(provider).expect(provider).web.search;
        assert!(search.providers.is_empty(), "{provider}");
        let [incomplete] = search.incomplete.try_into().expect("one");
        assert_eq!(incomplete.name, "x");
        assert!(incomplete.problem.contains(words), "{incomplete:?}");
        for named in ["provider = 'x'", "providers = ['x']"] {
            let content = format!("{provider}\n[web.search]\n{named}");
            let refused = settings(&content).expect_err(&content);
            assert!(refused.contains("\"x\" is incomplete"), "{refused}");
            assert!(refused.contains(words), "{content}: {refused}");
        }
    }
}

#[test]
fn a_model_sees_if_the_table_or_the_settings_say_so() {
    let content = "[models.catalog.\"scripted/eyes.json\"]\nimage_input = true";
    let settings = settings(content).expect("settings");
    let sees = |name: &str| {
        let model = holon_domain::model::ModelRef::parse(name).expect("a model");
        let policy = settings.catalog.policy(&model, &settings.max_output_tokens);
        policy.image_input
    };
    assert!(sees("scripted/eyes.json"));
    assert!(!sees("scripted/other.json"));
    let known = settings.catalog.models().find(|model| {
        model
            .capabilities
            .contains(&holon_config::ModelCapability::ImageInput)
    });
    assert!(sees(&known.expect("a model that sees").model.to_string()));
}
