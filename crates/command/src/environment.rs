//! Composes the environment of a command: the login's or the inherited variables without hidden ones, plus the
//! variables that describe the agent.

use crate::login::Vars;
use std::collections::BTreeSet;

/// Variables of the shell that printed the environment, or of a terminal that is not the command's.
const NOT_PASSED_ON: [&str; 6] = ["_", "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL"];
/// Variables named `HOLON_*` that contain one of these words are secrets.
const SECRET_WORDS: [&str; 4] = ["KEY", "PASSWORD", "SECRET", "TOKEN"];

/// Kind of the command's standard streams.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StdioKind {
    /// Pipes, without interactive programs such as pagers.
    Pipes,
    Terminal,
}

/// The agent and directory that a command's environment describes.
#[derive(Debug)]
pub(crate) struct AgentContext<'a> {
    pub(crate) agent_id: &'a str,
    pub(crate) agent_home: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) stdio: StdioKind,
}

/// Returns the whole environment of a command: `vars` without those in `hidden`, plus the variables that describe the
/// agent.
pub(crate) fn compose(
    vars: &Vars,
    hidden: &BTreeSet<String>,
    context: &AgentContext<'_>,
) -> Vec<(String, String)> {
    let passed_on = vars.iter().filter(|(name, _)| {
        let name = name.as_str();
        !NOT_PASSED_ON.contains(&name) && !hidden.contains(name) && !is_our_secret(name)
    });
    let mut env: Vars = passed_on
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let mut set = |name: &str, value: &str| env.insert(name.to_owned(), value.to_owned());
    set("HOLON_RUNTIME", "1");
    set("HOLON_AGENT_ID", context.agent_id);
    set("HOLON_AGENT_HOME", context.agent_home);
    set("PWD", context.cwd);
    match context.stdio {
        StdioKind::Terminal => drop(set("TERM", "xterm-256color")),
        StdioKind::Pipes => {
            set("TERM", "dumb");
            // A pager that waits for a key would block for ever.
            set("PAGER", "cat");
            set("GIT_PAGER", "cat");
        }
    }
    env.into_iter().collect()
}

fn is_our_secret(name: &str) -> bool {
    name.starts_with("HOLON_") && SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(pairs: &[(&str, &str)]) -> Vars {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        pairs.iter().map(owned).collect()
    }

    fn composed(pairs: &[(&str, &str)], kept: &[&str], stdio: StdioKind) -> Vars {
        let kept = kept.iter().map(|name| (*name).to_owned()).collect();
        let context = AgentContext {
            agent_id: "scout",
            agent_home: "/agents/scout",
            cwd: "/code",
            stdio,
        };
        compose(&vars(pairs), &kept, &context).into_iter().collect()
    }

    #[test]
    fn a_command_learns_whom_it_runs_for_and_where_it_is() {
        let env = composed(
            &[("PWD", "/elsewhere"), ("SHLVL", "3")],
            &[],
            StdioKind::Pipes,
        );
        let expected = [
            ("GIT_PAGER", "cat"),
            ("HOLON_AGENT_HOME", "/agents/scout"),
            ("HOLON_AGENT_ID", "scout"),
            ("HOLON_RUNTIME", "1"),
            ("PAGER", "cat"),
            ("PWD", "/code"),
            ("TERM", "dumb"),
        ];
        assert_eq!(env, vars(&expected));
    }

    #[test]
    fn a_terminal_keeps_the_users_pager() {
        let given = [("PAGER", "less -R"), ("TERM", "linux"), ("LINES", "7")];
        let env = composed(&given, &[], StdioKind::Terminal);
        assert_eq!(env.get("PAGER").map(String::as_str), Some("less -R"));
        assert_eq!(env.get("TERM").map(String::as_str), Some("xterm-256color"));
        assert_eq!(env.get("LINES"), None);
    }

    #[test]
    fn hidden_variables_and_secrets_are_removed() {
        let given = [
            ("ACME_KEY", "s3cret"),
            ("HOLON_CONTROL_TOKEN", "s3cret"),
            ("HOLON_WEBHOOK_SECRET", "s3cret"),
            ("HOLON_HOME", "/holon"),
            ("PATH", "/bin"),
        ];
        let env = composed(&given, &["ACME_KEY"], StdioKind::Pipes);
        assert!(!env.values().any(|value| value == "s3cret"), "{env:?}");
        assert_eq!(env.get("HOLON_HOME").map(String::as_str), Some("/holon"));
        assert_eq!(env.get("PATH").map(String::as_str), Some("/bin"));
    }
}
