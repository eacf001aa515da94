//! `holon tui`: the console.

use crate::args::TuiArgs;
use crate::exit::{Exit, Failure};
use crate::host::Host;
use crate::output::Output;
use crate::settings;
use crate::target::Target;
use holon_config::{Color, Env, Flags};
use holon_tui::{Options, Theme};
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
    let agent = host.agent_id().await?;
    // An absent host or agent is reported before the screen is taken.
    host.check_answer(host.client().status(Some(&agent)).await)?;
    let options = Options {
        alternate_screen,
        theme: Theme::new(Color::of_terminal(&env) == Color::Auto),
        mode: args.display,
        clock: holon_daemon::wall_clock,
        history,
        token_advice: advice,
    };
    holon_tui::run(host.client().clone(), agent, options)
        .await
        .map_err(|error| Failure::new(Exit::Failed, "console_failed", error.to_string()))?;
    Ok(Exit::Done)
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
