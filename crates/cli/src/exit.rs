//! Exit codes, and the error type of every command.

use holon_api::ErrorBody;
use holon_config::CredentialError;
use holon_daemon::backup::BackupError;
use std::process::ExitCode;

/// Outcome of a command as an exit code for scripts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    Done,
    /// The command failed or was refused.
    Failed,
    /// The command line is invalid.
    Usage,
    Unreachable,
    /// The run ended in a wait, so its outcome is still open.
    Waiting,
}

/// Description of the exit codes for `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0  done
  1  failed, or refused
  2  the command line is wrong
  3  no host can be reached
  4  the run waits: for your answer, a task, a time, a provider or something outside";

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::Unreachable => 3,
            Exit::Waiting => 4,
        })
    }
}

/// Error of a command, with its exit code and the next step.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    /// Message, code and hint in the shape of an error response.
    pub(crate) body: Box<ErrorBody>,
}

impl Failure {
    /// Creates a failure without a next step.
    pub(crate) fn new(exit: Exit, code: &str, message: impl Into<String>) -> Self {
        Self {
            exit,
            body: Box::new(ErrorBody::new(code, message)),
        }
    }

    /// Creates a failure for an invalid command line.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, "usage", message)
    }

    /// Replaces the next step.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.body.hint = Some(hint.into());
        self
    }

    /// Returns true if the failure has this code.
    pub(crate) fn is(&self, code: &str) -> bool {
        self.body.code.as_deref() == Some(code)
    }
}

impl From<holon_config::Error> for Failure {
    fn from(error: holon_config::Error) -> Self {
        use holon_config::Error;
        let code = match &error {
            Error::NoSuchKey { .. } => "no_such_setting",
            Error::NoSuchProvider { .. } => "provider_not_found",
            Error::Refused { .. } => "settings_refused",
            Error::Credential(error) => return credential(error),
            Error::Value { .. }
            | Error::RelativeHome { .. }
            | Error::NoHome
            | Error::NotText { .. }
            | Error::UnknownKey { .. }
            | Error::Syntax { .. }
            | Error::Unreadable { .. }
            | Error::TooLarge { .. }
            | Error::Unwritable { .. }
            | Error::Token(_) => "invalid_settings",
        };
        let exit = if error.is_of_what_was_given() {
            Exit::Usage
        } else {
            Exit::Failed
        };
        Self::new(exit, code, error.to_string())
    }
}

impl From<CredentialError> for Failure {
    fn from(error: CredentialError) -> Self {
        credential(&error)
    }
}

fn credential(error: &CredentialError) -> Failure {
    let exit = match error {
        CredentialError::Invalid { .. } => Exit::Usage,
        CredentialError::Missing { .. }
        | CredentialError::Expired { .. }
        | CredentialError::Unusable { .. }
        | CredentialError::Transport { .. }
        | CredentialError::Exposed { .. }
        | CredentialError::Foreign { .. }
        | CredentialError::Broken { .. }
        | CredentialError::Io { .. } => Exit::Failed,
    };
    Failure::new(exit, "credential_unusable", error.to_string())
}

impl From<holon_daemon::Error> for Failure {
    fn from(error: holon_daemon::Error) -> Self {
        let mut failure = Self::new(Exit::Failed, error.code(), error.to_string());
        failure.body.hint = error.hint();
        failure
    }
}

impl From<BackupError> for Failure {
    fn from(error: BackupError) -> Self {
        Self::new(Exit::Failed, error.code(), error.to_string())
    }
}

/// Returns the exit code of a refusal. The host alone can judge some arguments, such as a cron expression; the command
/// line is wrong then too. A host that has no room for more refuses with the same code and these words.
fn refusal_exit(code: Option<&str>, message: &str) -> Exit {
    let has_no_room = message.starts_with("not made:");
    if code == Some("invalid_work") && !has_no_room {
        Exit::Usage
    } else {
        Exit::Failed
    }
}

impl From<holon_client::Error> for Failure {
    fn from(error: holon_client::Error) -> Self {
        use holon_client::Error;
        let words = error.to_string();
        match error {
            Error::Unreachable { .. } => Self::new(Exit::Unreachable, "unreachable", words),
            // Not `unreachable`: the request may have taken effect, and a retry could repeat it.
            Error::Interrupted { .. } => Self::new(Exit::Failed, "interrupted", words),
            Error::Protocol { .. } => Self::new(Exit::Failed, "protocol", words),
            Error::Token => Self::new(Exit::Failed, "token_unusable", words),
            Error::AgentDeleted { agent_id } => Self::new(Exit::Failed, "agent_deleted", words)
                .hint(format!("`holon agent list` shows what there is; follow a new agent {agent_id} with a new command")),
            Error::StoreReplaced { .. } => Self::new(Exit::Failed, "store_replaced", words),
            Error::Api {
                status: _,
                code,
                message,
                hint,
                extra,
            } => Self {
                exit: refusal_exit(code.as_deref(), &message),
                body: Box::new(ErrorBody {
                    ok: false,
                    error: message,
                    code,
                    hint,
                    extra,
                }),
            },
        }
    }
}
