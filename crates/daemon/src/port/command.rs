//! Commands of agents: a directory inside the execution root, an environment without secrets, then `process`.

use async_trait::async_trait;
use holon_domain::command::{CommandFailure, CommandOutput};
use holon_domain::intent::ExecCommand;
use holon_domain::limits::COMMAND_STREAM_BYTES;
use holon_domain::workspace::WorkspaceEntry;
use holon_engine::ports::{CommandContext, CommandHost};
use holon_process::CommandSpec;
use holon_workspace::ExecutionRoot;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_util::sync::CancellationToken;

/// Login shells that take `-c`. Others, such as the one that only says the account is closed, are passed over.
const SHELLS: [&str; 9] = [
    "ash", "bash", "dash", "fish", "ksh", "mksh", "sh", "yash", "zsh",
];

/// Runs commands as this user.
#[derive(Debug)]
pub(crate) struct Commands {
    shell: Option<String>,
    remove_env: Mutex<BTreeSet<String>>,
}

impl Commands {
    /// With the user's shell and the variables commands must not see.
    pub(crate) fn new(shell: Option<&OsStr>, remove_env: Vec<String>) -> Self {
        Self {
            shell: shell.and_then(usable_shell),
            remove_env: Mutex::new(remove_env.into_iter().collect()),
        }
    }

    /// Keeps these variables too from commands that begin from now on. None is ever shown again.
    pub(crate) fn keep_from_them(&self, names: Vec<String>) {
        self.kept_from_them().extend(names);
    }

    fn kept_from_them(&self) -> MutexGuard<'_, BTreeSet<String>> {
        let names = self.remove_env.lock();
        names.unwrap_or_else(PoisonError::into_inner)
    }
}

fn usable_shell(shell: &OsStr) -> Option<String> {
    let path = Path::new(shell);
    let name = path.file_name()?.to_str()?;
    (SHELLS.contains(&name) && path.is_file()).then(|| path.to_str().map(str::to_owned))?
}

#[async_trait]
impl CommandHost for Commands {
    async fn run(
        &self,
        context: CommandContext,
        command: ExecCommand,
        cancel: CancellationToken,
    ) -> Result<CommandOutput, CommandFailure> {
        let CommandContext {
            agent_id,
            agent_home,
            workspace,
        } = context;
        let cwd = resolve_off_thread(workspace, command.workdir).await?;
        let spec = CommandSpec {
            cmd: command.cmd,
            shell: command.shell.or_else(|| self.shell.clone()),
            login: command.login,
            cwd,
            env: vec![
                ("HOLON_RUNTIME".to_owned(), "1".to_owned()),
                ("HOLON_AGENT_ID".to_owned(), agent_id.to_string()),
                ("HOLON_AGENT_HOME".to_owned(), agent_home),
            ],
            remove_env: self.kept_from_them().iter().cloned().collect(),
            timeout_ms: command.timeout_ms,
            capture_bytes: COMMAND_STREAM_BYTES,
        };
        holon_process::run(spec, cancel).await
    }
}

async fn resolve_off_thread(
    workspace: WorkspaceEntry,
    workdir: Option<String>,
) -> Result<PathBuf, CommandFailure> {
    let work = move || resolve(&workspace, workdir.as_deref());
    match tokio::task::spawn_blocking(work).await {
        Ok(resolved) => resolved,
        Err(stopped) => Err(CommandFailure::Spawn {
            reason: format!("the look at its directory ended early: {stopped}"),
        }),
    }
}

fn resolve(workspace: &WorkspaceEntry, workdir: Option<&str>) -> Result<PathBuf, CommandFailure> {
    let root = ExecutionRoot::open(Path::new(&workspace.execution_root)).map_err(|error| {
        CommandFailure::Spawn {
            reason: error.to_string(),
        }
    })?;
    root.resolve_dir(Path::new(&workspace.cwd), workdir)
}

#[cfg(test)]
mod tests {
    use super::*;
    use holon_domain::AgentId;

    fn workspace(root: &Path) -> WorkspaceEntry {
        WorkspaceEntry::agent_home(root.to_str().unwrap())
    }

    fn command(cmd: &str, workdir: Option<&str>) -> ExecCommand {
        ExecCommand {
            cmd: cmd.to_owned(),
            workdir: workdir.map(str::to_owned),
            shell: None,
            login: false,
            timeout_ms: 10_000,
            max_output_tokens: Some(1_000),
        }
    }

    async fn run(
        commands: &Commands,
        root: &Path,
        command: ExecCommand,
    ) -> Result<String, CommandFailure> {
        let context = CommandContext {
            agent_id: AgentId::parse("scout").unwrap(),
            agent_home: "/homes/scout".to_owned(),
            workspace: workspace(root),
        };
        let output = commands.run(context, command, CancellationToken::new());
        Ok(output.await?.stdout.head)
    }

    #[tokio::test]
    async fn a_command_learns_whom_it_runs_for() {
        let root = tempfile::tempdir().unwrap();
        let cmd = command(
            "echo $HOLON_RUNTIME $HOLON_AGENT_ID $HOLON_AGENT_HOME",
            None,
        );
        let said = run(&Commands::new(None, Vec::new()), root.path(), cmd).await;
        assert_eq!(said.unwrap(), "1 scout /homes/scout\n");
    }

    #[tokio::test]
    async fn a_command_does_not_see_what_is_kept_from_it() {
        let root = tempfile::tempdir().unwrap();
        // Set by cargo for every test it runs.
        let cmd = || command("echo [$CARGO_MANIFEST_DIR]", None);
        let open = Commands::new(None, Vec::new());
        let said = run(&open, root.path(), cmd()).await.unwrap();
        assert!(said.contains("daemon"), "{said}");
        let guarded = Commands::new(None, vec!["CARGO_MANIFEST_DIR".to_owned()]);
        assert_eq!(run(&guarded, root.path(), cmd()).await.unwrap(), "[]\n");
    }

    #[tokio::test]
    async fn a_command_starts_inside_the_execution_root_only() {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("sub")).unwrap();
        let commands = Commands::new(None, Vec::new());
        let said = run(&commands, root.path(), command("pwd", Some("sub"))).await;
        let said = said.unwrap();
        assert!(said.ends_with("/sub\n"), "{said}");
        let out = run(&commands, root.path(), command("pwd", Some(".."))).await;
        assert!(
            matches!(out, Err(CommandFailure::OutsideRoot { .. })),
            "{out:?}"
        );
    }

    #[test]
    fn a_shell_that_takes_no_commands_is_passed_over() {
        assert_eq!(usable_shell(OsStr::new("/usr/sbin/nologin")), None);
        assert_eq!(usable_shell(OsStr::new("/nowhere/bash")), None);
        assert_eq!(
            usable_shell(OsStr::new("/bin/sh")),
            Some("/bin/sh".to_owned())
        );
    }
}
