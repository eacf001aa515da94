//! `holon tui`: the console.

use crate::args::TuiArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::{Format, Output};
use crate::settings;
use crate::target::Target;
use holon_config::{Color, Env, Flags};
use holon_domain::text::preview;
use holon_presentation::text::one_line;
use holon_tui::{OpenMessage, OpenRequests, Options, StartFailure, Theme};
use std::io::{self, IsTerminal as _};
use std::path::{Path, PathBuf};

/// Runs the console until it is closed. The settings of the home choose the screen; the host is that of the target.
pub(super) async fn run(
    home: Option<PathBuf>,
    target: Target,
    token_file: Option<&Path>,
    args: TuiArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    if output.format() == Format::Json {
        let failure = Failure::usage("the console draws a screen and prints no JSON");
        return Err(failure.hint("follow an agent in JSON with: holon events --follow --json"));
    }
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let failure = Failure::usage("the console needs a terminal for input and output");
        return Err(failure.hint("follow an agent without one with: holon tail --follow"));
    }
    let env = Env::from_process();
    refuse_dumb(&env)?;
    let history = match &target {
        Target::Home(home) => history_path(home.clone()),
        // Nothing of a home on this machine is used for a host at a URL.
        Target::Remote(_) => None,
    };
    let advice = match &target {
        Target::Home(_) => None,
        Target::Remote(remote) => token_file.map(|file| token_advice(&remote.url, file)),
    };
    let alternate_screen = !args.no_alt_screen && has_own_screen(home, &env);
    let host = Host::find(target, args.agent.agent, output)?;
    // An absent host or agent is reported without a console.
    let agent = async {
        let agent = host.agent_id().await?;
        host.check_answer(host.client().status(Some(&agent)).await)?;
        Ok(agent)
    };
    let options = Options {
        alternate_screen,
        theme: Theme::new(Color::of_terminal(&env) == Color::Auto),
        mode: args.display,
        clock: holon_daemon::wall_clock,
        history,
        token_advice: advice,
    };
    let failed =
        |error: holon_tui::Error| Failure::new(Exit::Failed, "console_failed", error.to_string());
    let closed = holon_tui::run(host.client().clone(), agent, options).await;
    let closed = closed.map_err(|error| match error {
        StartFailure::Host(failure) => failure,
        StartFailure::Console(error) => failed(error),
    })?;
    let lost = lost(&closed.open);
    // A signal may end the program right after.
    if let Some(lost) = &lost {
        output.failure(lost);
    }
    closed.end().map_err(failed)?;
    Ok(lost.map_or(Exit::Done, |lost| lost.exit))
}

/// Names what the host has not acknowledged, and how to find out what became of it.
fn lost(open: &OpenRequests) -> Option<Failure> {
    let OpenRequests { messages, commands } = open;
    let mut words = Vec::new();
    if !messages.is_empty() {
        let named: Vec<String> = messages.iter().map(name_message).collect();
        words.push(format!(
            "not acknowledged by the host, may or may not be stored: {}",
            named.join("; ")
        ));
    }
    if *commands > 0 {
        words.push(format!(
            "{commands} of your commands not acknowledged by the host, may or may not be carried out"
        ));
    }
    if words.is_empty() {
        return None;
    }
    let mut agents: Vec<&str> = messages.iter().map(|one| one.agent.as_str()).collect();
    agents.sort_unstable();
    agents.dedup();
    let mut hints: Vec<String> = agents
        .iter()
        .map(|agent| format!("holon transcript --agent {agent} shows what arrived"))
        .collect();
    if messages.iter().any(|message| message.is_kept) {
        hints.push("the text is in the input history: the Up key in the next console".to_owned());
    }
    if *commands > 0 {
        hints.push("holon status shows what holds now".to_owned());
    }
    let failure = Failure::new(Exit::Failed, "interrupted", words.join("; "));
    Some(failure.hint(hints.join("; ")))
}

/// Most bytes that are shown of a message that the input history has.
const KEPT_BYTES: usize = 60;
/// Most bytes that are shown of a message that stands nowhere else.
const ONLY_BYTES: usize = 12_000;

/// Shows the first words of a message, and more of one that the input history does not have.
fn name_message(message: &OpenMessage) -> String {
    let shown = if message.is_kept {
        preview(&one_line(&message.text), KEPT_BYTES)
    } else {
        preview(&message.text, ONLY_BYTES)
    };
    format!("to {}: \"{shown}\"", message.agent)
}

/// Refuses a terminal that says that it can only be written to line by line.
fn refuse_dumb(env: &Env) -> Result<(), Failure> {
    if !holon_config::is_dumb_terminal(env) {
        return Ok(());
    }
    let failure = Failure::usage("the console cannot draw on this terminal: TERM is dumb");
    Err(failure.hint(
        "follow an agent with: holon tail --follow; write to it with: holon prompt TEXT; \
         if the terminal can do more, set TERM to its kind, such as xterm-256color",
    ))
}

/// Returns the file of the input history in the home.
fn history_path(home: Option<PathBuf>) -> Option<PathBuf> {
    let flags = Flags {
        home,
        ..Flags::default()
    };
    let (settings, _) = settings::load_client(&flags).ok()?;
    Some(settings.home.value.join("run").join("console.history"))
}

/// Says what to do about a token that the host does not accept any more.
fn token_advice(url: &str, file: &Path) -> String {
    let place = match file.to_str() {
        Some("-") => "from standard input".to_owned(),
        _ => format!("in {}", file.display()),
    };
    format!(
        "the host at {url} does not accept the token {place}: it was revoked, or is of another host; \
         make one on that machine with holon token create NAME, put it there and open the console again"
    )
}

/// Reads the setting. Where no settings can be read, the terminal decides.
fn has_own_screen(home: Option<PathBuf>, env: &Env) -> bool {
    let flags = Flags {
        home,
        ..Flags::default()
    };
    match settings::load_for_client(&flags) {
        Ok((settings, _)) => settings.alternate_screen.value.is_used(env),
        Err(_) => holon_config::AlternateScreen::Auto.is_used(env),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::AgentId;

    fn message(agent: &str, text: &str, is_kept: bool) -> OpenMessage {
        OpenMessage {
            agent: AgentId::parse(agent).unwrap(),
            text: text.to_owned(),
            is_kept,
        }
    }

    #[test]
    fn what_was_not_acknowledged_is_named_with_the_next_step() {
        let long = "word ".repeat(20);
        let shown = format!("{}wo…", "word ".repeat(11));
        for (messages, commands, error, hint) in [
            (
                vec![
                    message("main", "two\nlines", true),
                    message("scout", &long, true),
                ],
                0,
                format!(
                    "not acknowledged by the host, may or may not be stored: to main: \"two lines\"; to scout: \"{shown}\""
                ),
                "holon transcript --agent main shows what arrived; \
                 holon transcript --agent scout shows what arrived; \
                 the text is in the input history: the Up key in the next console",
            ),
            (
                vec![
                    message("main", &long, false),
                    message("main", "more", false),
                ],
                0,
                format!(
                    "not acknowledged by the host, may or may not be stored: to main: \"{long}\"; to main: \"more\""
                ),
                "holon transcript --agent main shows what arrived",
            ),
            (
                Vec::new(),
                2,
                "2 of your commands not acknowledged by the host, may or may not be carried out"
                    .to_owned(),
                "holon status shows what holds now",
            ),
        ] {
            let lost = lost(&OpenRequests { messages, commands }).unwrap();
            assert_eq!(lost.exit, Exit::Failed);
            assert_eq!(lost.body.error, error);
            assert_eq!(lost.body.hint.as_deref(), Some(hint));
        }
        assert!(lost(&OpenRequests::default()).is_none());
    }
}
