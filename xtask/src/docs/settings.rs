//! The page of settings: environment variables, keys of `config.toml` and providers, from the tables `config` reads by.

use super::cell;
use holon_config::{
    Env, Flags, KEYS, Key, ProviderEntry, SECRET_VARIABLES, VARIABLES, Variable, resolve,
};

pub(crate) fn render() -> String {
    let variables: String = VARIABLES.iter().map(variable).collect();
    let keys: String = KEYS.iter().map(key).collect();
    let removed: String = SECRET_VARIABLES
        .iter()
        .map(|name| format!("- `{name}`\n"))
        .collect();
    let providers = providers();
    format!("{HEAD}{variables}{FILE}{keys}{PROVIDERS}{providers}{REMOVED}{removed}")
}

fn variable(variable: &Variable) -> String {
    let key = variable.key.map(|key| format!("`{key}`"));
    let key = key.unwrap_or_default();
    format!("| `{}` | {key} | {} |\n", variable.name, cell(variable.doc))
}

fn key(key: &Key) -> String {
    let default = key.default.map(|default| format!("`{default}`"));
    let default = default.unwrap_or_default();
    let wanted = cell(&key.kind.wanted());
    format!(
        "| `{}` | {wanted} | {default} | {} |\n",
        key.name,
        cell(key.doc)
    )
}

/// The providers of this build, as they are with nothing set.
fn providers() -> String {
    let flags = Flags {
        home: Some("/".into()),
        ..Flags::default()
    };
    let settings = resolve(&Env::default(), &flags, None);
    let providers = settings
        .map(|settings| settings.providers)
        .unwrap_or_default();
    providers.iter().map(provider).collect()
}

fn provider(entry: &ProviderEntry) -> String {
    let names = entry.auth.env.iter();
    let names: Vec<String> = names
        .map(|variable| format!("`{}`", variable.name))
        .collect();
    let credential = match &entry.auth.external {
        Some(program) => format!("login of `{program}`"),
        None if names.is_empty() => "none".to_owned(),
        None => names.join(", then "),
    };
    let (id, transport, address) = (&entry.spec.id, entry.spec.transport, &entry.spec.base_url);
    format!("| `{id}` | `{transport}` | `{address}` | {credential} |\n")
}

/// The text above the table of environment variables.
const HEAD: &str = "# Settings

A flag wins over the environment, that over `<home>/config.toml`, that over what is built in.
A value that cannot be used is an error that names where it stands; it is never skipped.
An empty variable counts as unset.
`holon config list --effective` shows what holds and where each value is from.

## Environment

| variable | wins over | meaning |
|---|---|---|
";

/// The text above the table of keys.
const FILE: &str = "
`HOLON_<ID>_BASE_URL` changes the address of a provider: its id in capitals, with `_` for `-`.
`OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` do the same for `openai` and `anthropic`, after `HOLON_OPENAI_BASE_URL` and
`HOLON_ANTHROPIC_BASE_URL`.

## `config.toml`

A dotted name is a table and a key: `model.default` is `default` under `[model]`.
`<id>` is the id of a provider, `<provider/model>` a model in quotes: `models.catalog.\"openai/gpt-5.4\".display_name`.
A key that is not listed here is refused. No file of a workspace is ever read for settings.

| key | value | default | meaning |
|---|---|---|---|
";

/// The text above the table of providers.
const PROVIDERS: &str = "
## Providers

These need no entry in `config.toml`. The variables are looked at in the order given; after them comes the profile
that `holon config credentials set <id>` stored. A provider on this machine works without any.

| id | transport | address | credential |
|---|---|---|---|
";

/// The text above the table of removed variables.
const REMOVED: &str = "
## Kept from commands

These variables, and those that `providers.<id>.auth.env` names, are taken out of the environment of every command an
agent runs.

";
