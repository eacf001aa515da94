//! Options and subcommands that start and stop hosts.

use clap::{Subcommand, ValueEnum};
use holon_config::AccessMode;
use holon_domain::limits::LOG_LINES_MAX;
use std::path::PathBuf;

/// Networks from which a host can be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AccessArg {
    /// This machine and no other.
    Local,
    /// Through a tunnel to this machine, such as that of ssh -L.
    Tunnel,
    /// The local network; needs a token, and --host or --advertise.
    Lan,
    /// A private overlay network; needs a token, and --host or --advertise.
    Tailnet,
}

impl From<AccessArg> for AccessMode {
    fn from(access: AccessArg) -> Self {
        match access {
            AccessArg::Local => Self::Local,
            AccessArg::Tunnel => Self::Tunnel,
            AccessArg::Lan => Self::Lan,
            AccessArg::Tailnet => Self::Tailnet,
        }
    }
}

/// Options of a host, in the foreground, in the background and as a service.
#[derive(Debug, clap::Args)]
pub(crate) struct HostArgs {
    /// Networks from which clients reach the host.
    #[arg(long, value_name = "MODE", default_value = "local")]
    pub(crate) access: AccessArg,
    /// Name or address by which clients reach the host.
    #[arg(long, value_name = "NAME")]
    pub(crate) host: Option<String>,
    /// Address to listen on [default: HOLON_HTTP_ADDR, or 127.0.0.1:7878].
    #[arg(long, value_name = "ADDR:PORT", conflicts_with = "port")]
    pub(crate) listen: Option<String>,
    /// Port to listen on; 0 picks any free port.
    #[arg(long, value_name = "N")]
    pub(crate) port: Option<u16>,
    /// URL by which clients and callbacks reach the host.
    #[arg(long, value_name = "URL")]
    pub(crate) advertise: Option<String>,
    /// Token that clients must send; visible to other processes, so prefer --token-file.
    #[arg(long, value_name = "TOKEN", conflicts_with = "token_file")]
    pub(crate) token: Option<String>,
    /// File with the token that clients must send; - reads it from standard input [default: run/control.token].
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Default model of agents without their own, as provider/model [default: HOLON_MODEL, or model.default].
    #[arg(long, value_name = "REF")]
    pub(crate) model: Option<String>,
}

/// Options of the `serve` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct ServeArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,
    /// Run as `holon daemon start` starts a host: detached, with a log file, and one line of JSON for the starter.
    #[arg(long, hide = true)]
    pub(crate) background: bool,
}

/// Subcommands of `holon daemon`.
#[derive(Debug, Subcommand)]
pub(crate) enum DaemonCommand {
    /// Start a host in the background; has no effect if it runs already with the same settings.
    Start(HostArgs),
    /// Stop the host of this home; its agents continue at the next start.
    Stop,
    /// Show whether a host runs, where it is reached, what it does and what failed last.
    Status,
    /// Stop the host and start it again, with these options only.
    Restart(HostArgs),
    /// Show the log of the host in the background, and the last failures.
    Logs(LogsArgs),
}

/// Options of the `daemon logs` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct LogsArgs {
    /// Number of lines to show, newest last.
    #[arg(long, visible_alias = "tail", value_name = "N", default_value_t = 80, value_parser = clap::value_parser!(u64).range(0..=LOG_LINES_MAX))]
    pub(crate) lines: u64,
    /// Keep printing new lines until interrupted.
    #[arg(long, short)]
    pub(crate) follow: bool,
}

/// Service managers that can run a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ManagerArg {
    Systemd,
    Launchd,
}

/// Subcommands of `holon service`.
#[derive(Debug, Subcommand)]
pub(crate) enum ServiceCommand {
    /// Write the service file of this home, so that the host starts with the user's session.
    Install(InstallArgs),
    /// Stop the service and remove its file; the home stays.
    Uninstall(ManagerArgs),
    /// Show whether the service is installed, enabled and running.
    Status(ManagerArgs),
}

/// Option that selects a service manager.
#[derive(Debug, clap::Args)]
pub(crate) struct ManagerArgs {
    /// Service manager [default: the one of this system].
    #[arg(long, value_name = "NAME")]
    pub(crate) manager: Option<ManagerArg>,
}

/// Options of the `service install` subcommand.
#[derive(Debug, clap::Args)]
pub(crate) struct InstallArgs {
    #[command(flatten)]
    pub(crate) host: HostArgs,
    #[command(flatten)]
    pub(crate) manager: ManagerArgs,
    /// Print the service file and write nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Enable and start the service at once.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) now: bool,
}
