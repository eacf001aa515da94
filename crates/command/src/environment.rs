//! Composes the environment of a command: that of a login or of this process, without hidden variables, and with the
//! agent it runs for.

use crate::login::Vars;
use std::collections::BTreeSet;

/// What belongs to the shell that printed the environment, or to a terminal that is not the command's.
const NOT_PASSED_ON: [&str; 6] = ["_", "COLUMNS", "LINES", "OLDPWD", "PWD", "SHLVL"];
/// Names of ours that are secrets hold one of these words.
const SECRET_WORDS: [&str; 4] = ["KEY", "PASSWORD", "SECRET", "TOKEN"];

/// What the command talks to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Talk {
    /// Pipes, which nobody looks at.
    Pipes,
    /// A terminal.
    Terminal,
}

/// For whom a command runs, and where.
#[derive(Debug)]
pub(crate) struct Around<'a> {
    pub(crate) agent_id: &'a str,
    pub(crate) agent_home: &'a str,
    pub(crate) cwd: &'a str,
    pub(crate) talk: Talk,
}

/// The whole environment of a command: `vars` without those in `hidden`, and what is said about the agent.
pub(crate) fn compose(
    vars: &Vars,
    hidden: &BTreeSet<String>,
    around: &Around<'_>,
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
    set("HOLON_AGENT_ID", around.agent_id);
    set("HOLON_AGENT_HOME", around.agent_home);
    set("PWD", around.cwd);
    match around.talk {
        Talk::Terminal => drop(set("TERM", "xterm-256color")),
        Talk::Pipes => {
            set("TERM", "dumb");
            // A pager that waits for a key would wait for ever.
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

    fn composed(pairs: &[(&str, &str)], kept: &[&str], talk: Talk) -> Vars {
        let kept = kept.iter().map(|name| (*name).to_owned()).collect();
        let around = Around {
            agent_id: "scout",
            agent_home: "/agents/scout",
            cwd: "/code",
            talk,
        };
        compose(&vars(pairs), &kept, &around).into_iter().collect()
    }

    #[test]
    fn a_command_learns_whom_it_runs_for_and_where_it_is() {
        let env = composed(&[("PWD", "/elsewhere"), ("SHLVL", "3")], &[], Talk::Pipes);
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
        let env = composed(&given, &[], Talk::Terminal);
        assert_eq!(env.get("PAGER").map(String::as_str), Some("less -R"));
        assert_eq!(env.get("TERM").map(String::as_str), Some("xterm-256color"));
        assert_eq!(env.get("LINES"), None);
    }

    #[test]
    fn what_is_kept_from_commands_is_not_there_whoever_set_it() {
        let given = [
            ("ACME_KEY", "s3cret"),
            ("HOLON_CONTROL_TOKEN", "s3cret"),
            ("HOLON_WEBHOOK_SECRET", "s3cret"),
            ("HOLON_HOME", "/holon"),
            ("PATH", "/bin"),
        ];
        let env = composed(&given, &["ACME_KEY"], Talk::Pipes);
        assert!(!env.values().any(|value| value == "s3cret"), "{env:?}");
        assert_eq!(env.get("HOLON_HOME").map(String::as_str), Some("/holon"));
        assert_eq!(env.get("PATH").map(String::as_str), Some("/bin"));
    }
}
