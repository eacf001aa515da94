//! Every error code that the program prints: those of the control plane, and those that are found before a host is asked
//! or without one.

use holon_domain::refusal::{NextStep, RefusalText};
use serde::Serialize;

/// One error code, its cause and its cure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(crate) struct ErrorEntry {
    pub(crate) code: &'static str,
    pub(crate) meaning: &'static str,
    pub(crate) next_step: &'static str,
    /// HTTP status of a response with this code. Absent for an error of the program itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) http_status: Option<u16>,
}

impl ErrorEntry {
    const fn new(text: RefusalText, http_status: Option<u16>) -> Self {
        Self {
            code: text.code,
            meaning: text.meaning,
            next_step: text.next_step.text(),
            http_status,
        }
    }
}

/// Returns every code, sorted. A code that a host and the program share has the meaning that the host gives it.
pub(crate) fn all() -> Vec<ErrorEntry> {
    let of_host = holon_daemon::refusals();
    let mut entries: Vec<ErrorEntry> = of_host
        .iter()
        .map(|entry| ErrorEntry::new(entry.text, Some(entry.status)))
        .collect();
    let own = LOCAL.iter().filter(|(code, ..)| {
        let is_same = |entry: &ErrorEntry| entry.code == *code;
        !entries.iter().any(is_same)
    });
    let own: Vec<ErrorEntry> = own.map(|row| ErrorEntry::new(text(row), None)).collect();
    entries.extend(own);
    entries.sort_by_key(|entry| entry.code);
    entries
}

const fn text(row: &(&'static str, &'static str, &'static str)) -> RefusalText {
    RefusalText {
        code: row.0,
        meaning: row.1,
        next_step: NextStep::Unsent(row.2),
    }
}

/// Codes of the program itself: code, meaning, next step.
const LOCAL: [(&str, &str, &str); 59] = [
    (
        "agent_deleted",
        "the agent was deleted while its events were followed",
        "list agents with holon agent list; an agent of the same name is another one",
    ),
    (
        "address_unavailable",
        "the host cannot listen on this address",
        "choose another port with --port N, or --port 0 for any free one",
    ),
    (
        "already_set",
        "a default model is set already",
        "change it with holon config set, or let init replace it as the message says",
    ),
    (
        "artifacts_not_written",
        "the files of a solved task could not be written",
        "make the directory writable, or name another one",
    ),
    (
        "budget_reached",
        "a budget has no room for the next model call: a turn waits for it, and a run of a temporary agent fails",
        "see the limits with holon budget show, then raise one with holon budget set or remove it with holon budget clear",
    ),
    (
        "config_differs",
        "a host of this home runs with another configuration",
        "restart it with the options you want: holon daemon restart",
    ),
    (
        "console_failed",
        "the terminal of the console could not be used",
        "run it in another terminal, or with --no-alt-screen",
    ),
    (
        "credential_unreadable",
        "the secret could not be read from standard input or the terminal",
        "send it on standard input, without other text",
    ),
    (
        "credential_unusable",
        "a stored credential is missing, expired, invalid or readable by others",
        "the message names the file and the command that mends it",
    ),
    (
        "daemon_not_ready",
        "the host was started and does not answer yet; it goes on",
        "see what it does: holon daemon logs",
    ),
    (
        "daemon_start_failed",
        "the host ended while it was starting",
        "the message repeats its last words; see more with holon daemon logs",
    ),
    (
        "daemon_stop_failed",
        "the host did not end in time",
        "look at it with holon daemon status, and try again",
    ),
    (
        "demo_failed",
        "the demonstration did not come to its end",
        "run it again; with --keep the directory stays for a look",
    ),
    (
        "demo_stuck",
        "the demonstration did not go on within its time",
        "run it again on a less busy machine; with --keep the directory stays for a look",
    ),
    (
        "file_exists",
        "the file that should be written exists",
        "name a file that does not exist",
    ),
    (
        "file_failed",
        "a file could not be read or written",
        "the message names the file and the reason",
    ),
    (
        "file_unreadable",
        "a file that was named cannot be read",
        "check its path and its permissions",
    ),
    (
        "file_unwritable",
        "a file that was named cannot be written",
        "name a file in a directory that you can write to",
    ),
    (
        "home_in_use",
        "another process owns the home",
        "use it through that host, or stop it: holon daemon stop",
    ),
    (
        "home_not_empty",
        "a backup is restored only into an empty or missing home",
        "name another home with --home DIR",
    ),
    (
        "home_unusable",
        "the home belongs to another user, is open to others, or cannot be read or written",
        "the message names the command that mends it; see also holon doctor",
    ),
    (
        "interrupted",
        "the connection broke, or you interrupted the program, after the request was sent, so it may have taken effect",
        "look at the transcript before you repeat it",
    ),
    (
        "invalid_archive",
        "the file is no archive of an agent, or a damaged one",
        "export the agent again",
    ),
    (
        "invalid_backup",
        "the file is no backup, is cut off, or was changed; nothing was restored",
        "use another backup",
    ),
    (
        "invalid_model",
        "the model is not written as PROVIDER/MODEL, or its provider is unknown",
        "see what there is: holon config models list",
    ),
    (
        "invalid_settings",
        "a setting is invalid, or the settings file cannot be read",
        "correct what the message names; holon config schema lists all settings",
    ),
    (
        "invalid_target",
        "a backup may not lie inside the home that it holds",
        "name a file outside of the home",
    ),
    (
        "invalid_template",
        "the template breaks a rule of its format",
        "correct what the message names",
    ),
    (
        "invalid_workspace",
        "the directory is no checkout that fits the request",
        "name a checkout of the repository",
    ),
    (
        "keyring_unusable",
        "the system's keyring does not answer",
        "log in to a desktop session, or store the secret in the file without --keyring",
    ),
    (
        "lifecycle_busy",
        "another start, stop or restart of this home is under way",
        "wait until it has ended, and try again",
    ),
    (
        "managed_by_service",
        "the system's service manager runs this host",
        "use its commands, which the message names, or holon service uninstall first",
    ),
    (
        "newer_backup",
        "a newer version wrote the backup",
        "restore it with that version",
    ),
    (
        "no_space",
        "there is no space left for the backup, or for the home that is restored",
        "free some space, or name a place on another disk; nothing is left behind",
    ),
    (
        "no_store",
        "the home has no store, so there is nothing to back up",
        "name the right home with --home DIR",
    ),
    (
        "no_such_code",
        "no error has this code",
        "list all codes with holon explain-error",
    ),
    (
        "no_such_setting",
        "there is no setting with this name",
        "list all settings with holon config schema",
    ),
    (
        "not_configured",
        "the provider has no stored credential",
        "store one with holon config credentials set",
    ),
    (
        "not_set",
        "the setting has no value of its own",
        "see the effective values with holon config list",
    ),
    (
        "output_lost",
        "a part of the output could not be written",
        "free some space, or write to another file, and run the command again",
    ),
    (
        "owner_unproven",
        "the process that owns the home cannot be proven to be its host, so it is not signalled",
        "look at the process, and end it by hand if it is the host",
    ),
    (
        "protocol",
        "the answer is not one that a host of this version gives",
        "use the same version for program and host: holon daemon restart",
    ),
    (
        "provider_not_found",
        "there is no provider with this name",
        "list them with holon config providers list",
    ),
    (
        "providers_unusable",
        "the providers of the settings cannot be used",
        "examine them with holon config doctor",
    ),
    (
        "server_failed",
        "the server of the host ended with an error",
        "see its log with holon daemon logs, and start it again",
    ),
    (
        "service_file_foreign",
        "a file that holon did not write has the name of its service",
        "move that file away, or remove it",
    ),
    (
        "service_not_started",
        "the service is installed, and the service manager did not start it",
        "see the reason with holon service status, and its log with holon daemon logs",
    ),
    (
        "settings_refused",
        "a change would make the settings invalid; nothing was changed",
        "correct what the message names",
    ),
    (
        "socket_path_too_long",
        "the home's path leaves no room for a socket, and there is no short place",
        "use a shorter home with --home DIR, or set XDG_RUNTIME_DIR",
    ),
    (
        "socket_taken",
        "another program listens on the home's socket, or another file is there",
        "stop that program, or move the file away",
    ),
    (
        "stdin_failed",
        "standard input could not be read",
        "send the text on standard input, or as an argument",
    ),
    (
        "stopped_meanwhile",
        "another command stopped the host while this one waited for it",
        "start it again: holon daemon start",
    ),
    (
        "store_replaced",
        "the host's store is another one than before: it was restored or made anew",
        "read from the beginning",
    ),
    (
        "store_unusable",
        "the database cannot be opened, read or written",
        "examine it with holon doctor; restore a backup if it is damaged",
    ),
    (
        "system_failed",
        "the operating system refused something",
        "the message names it; free processes, memory or descriptors",
    ),
    (
        "token_required",
        "the address can be reached from other machines, so clients must send a token",
        "name one with --token-file FILE, or listen on 127.0.0.1",
    ),
    (
        "token_unusable",
        "the control token is missing, malformed, easily guessed, of another kind, or readable by others",
        "the message names the file and the command that mends it",
    ),
    (
        "unreachable",
        "no host answers at the home's socket or at the given address",
        "start one with holon daemon start; examine it with holon doctor",
    ),
    (
        "usage",
        "the command line is wrong",
        "see holon help COMMAND",
    ),
];

#[cfg(test)]
mod tests;
