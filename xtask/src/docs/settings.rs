//! The page of settings: environment variables and keys of `config.toml`, from the tables `config` reads by.

use super::cell;
use holon_config::{KEYS, SECRET_VARIABLES, VARIABLES};

/// The page.
pub(crate) fn render() -> String {
    let variables: String = VARIABLES
        .iter()
        .map(|variable| format!("| `{}` | {} |\n", variable.name, cell(variable.doc.trim())))
        .collect();
    let keys: String = KEYS
        .iter()
        .map(|key| {
            let (name, wanted) = (key.name, key.kind.wanted());
            format!("| `{name}` | {wanted} | {} |\n", cell(key.doc))
        })
        .collect();
    let removed: String = SECRET_VARIABLES
        .iter()
        .map(|name| format!("- `{name}`\n"))
        .collect();
    format!("{HEAD}{variables}{FILE}{keys}{REMOVED}{removed}")
}

/// What stands above the variables.
const HEAD: &str = "# Settings

A flag wins over the environment, that over `<home>/config.toml`, that over what is built in.
A value that cannot be used is an error that names where it stands; it is never skipped.
An empty variable counts as unset.

## Environment

| variable | meaning |
|---|---|
";

/// What stands above the keys.
const FILE: &str = "
## `config.toml`

A dotted name is a table and a key: `model.default` is `default` under `[model]`.
A key that is not listed here is refused.

| key | value | meaning |
|---|---|---|
";

/// What stands above the variables that are removed.
const REMOVED: &str = "
## Kept from commands

These variables are taken out of the environment of every command an agent runs.

";
