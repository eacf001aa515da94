//! Runs a test in its own pid, mount and user namespaces.

use std::process::Command;

/// Environment variable: the test already runs inside the namespaces.
const INSIDE: &str = "HOLON_TESTS_INSIDE_NAMESPACES";
/// Environment variable: fail, instead of skipping the test, if namespaces are not available.
const NEEDED: &str = "HOLON_TESTS_NEED_NAMESPACES";

/// Runs `body` of the test `name` of a module in new user, pid and mount namespaces, by running this test program
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
    let output_text = [ran.stdout, ran.stderr].concat();
    let output_text = String::from_utf8_lossy(&output_text);
    // A name that matches no test would pass without having run.
    assert!(
        ran.status.success() && output_text.contains(" 1 passed"),
        "{output_text}"
    );
}

/// Pids inside are independent of those outside, and `/proc` is mounted again.
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

/// Reads an environment variable that the test runner has set.
#[allow(
    clippy::disallowed_methods,
    reason = "what a test may leave out is not a setting of the product"
)]
pub(crate) fn value_of(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
