//! A machine of one's own for a test: its own process numbers, its own mounts, and the rights to choose both.

use std::process::Command;

/// Says that a test already runs inside.
const INSIDE: &str = "HOLON_TESTS_INSIDE_NAMESPACES";
/// Says that a machine without namespaces is a failure rather than a reason not to run.
const NEEDED: &str = "HOLON_TESTS_NEED_NAMESPACES";

/// Runs `body` of the test `name` of a module in fresh user, process and mount namespaces, by running this program
/// again in them.
#[allow(clippy::print_stdout, reason = "what is not tested has to be said")]
pub(crate) fn inside(module: &str, name: &str, body: impl Future<Output = ()>) {
    if is_set(INSIDE) {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        return runtime.block_on(body);
    }
    if let Err(reason) = permitted() {
        assert!(
            !is_set(NEEDED),
            "{name} needs user and process namespaces, which this machine does not give: {reason}"
        );
        println!("{name} was not run, there are no namespaces here: {reason}");
        return;
    }
    let (_, module) = module.split_once("::").unwrap();
    let ran = unshare()
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", &format!("{module}::{name}")])
        .args(["--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = [ran.stdout, ran.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    // A name that fits nothing would pass without having run.
    assert!(ran.status.success() && said.contains(" 1 passed"), "{said}");
}

/// The number of a process inside is its own; the file system with the numbers is mounted anew.
fn unshare() -> Command {
    let mut unshare = Command::new("unshare");
    unshare.args(["--user", "--map-root-user", "--pid", "--mount-proc"]);
    unshare.args(["--fork", "--kill-child"]);
    unshare
}

fn permitted() -> Result<(), String> {
    let last = "/proc/sys/kernel/ns_last_pid";
    let try_it = format!("test $$ = 1 && echo 100 > {last}");
    let tried = unshare().args(["sh", "-c", &try_it]).output();
    match tried {
        Ok(tried) if tried.status.success() => Ok(()),
        Ok(tried) => Err(String::from_utf8_lossy(&tried.stderr).into_owned()),
        Err(error) => Err(format!("the program unshare: {error}")),
    }
}

fn is_set(name: &str) -> bool {
    value_of(name).is_some()
}

/// What a test was told by whoever runs it.
#[allow(
    clippy::disallowed_methods,
    reason = "what a test may leave out is not a setting of the product"
)]
pub(crate) fn value_of(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
