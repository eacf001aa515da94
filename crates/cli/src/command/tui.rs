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
use std::path::PathBuf;

/// Runs the console until it is closed. The settings of the home choose the screen; the host is that of the target.
pub(super) async fn run(
    home: Option<PathBuf>,
    target: Target,
    args: TuiArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
        let failure = Failure::usage("the console needs a terminal for input and output");
        return Err(failure.hint("follow an agent without one with: holon tail --follow"));
    }
    let env = Env::from_process();
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
    };
    holon_tui::run(host.client().clone(), agent, options)
        .await
        .map_err(|error| Failure::new(Exit::Failed, "console_failed", error.to_string()))?;
    Ok(Exit::Done)
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
