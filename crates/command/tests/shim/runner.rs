//! A small test runner that accepts the arguments of the standard one: lists its tests, or runs those that are named.

use std::io::{self, Write as _};
use std::panic::catch_unwind;
use std::process::ExitCode;

/// Name and function of a test.
pub(crate) type Test = (&'static str, fn());

/// Declares tests by their names. Each is an async function and gets its own runtime.
macro_rules! tests {
    ($($name:ident,)*) => {
        pub(crate) const TESTS: &[crate::runner::Test] = &[$((
            concat!(module_path!(), "::", stringify!($name)),
            || crate::runner::on_runtime(Box::pin($name())),
        ),)*];
    };
}
pub(crate) use tests;

pub(crate) fn on_runtime(test: std::pin::Pin<Box<dyn Future<Output = ()>>>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    runtime.unwrap().block_on(test);
}

/// The arguments of the test runner.
#[derive(Default)]
struct RunnerArgs {
    list: bool,
    /// Run only ignored tests, of which there are none.
    ignored: bool,
    exact: bool,
    names: Vec<String>,
}

impl RunnerArgs {
    fn parse(args: impl Iterator<Item = String>) -> Self {
        let (mut parsed, mut args) = (Self::default(), args);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--list" => parsed.list = true,
                "--ignored" => parsed.ignored = true,
                "--exact" => parsed.exact = true,
                // Each of these is followed by a value.
                "--format" | "--color" | "--test-threads" | "--logfile" => drop(args.next()),
                flag if flag.starts_with('-') => {}
                _ => parsed.names.push(arg),
            }
        }
        parsed
    }

    fn selects(&self, name: &str) -> bool {
        let matches = |parsed: &String| match self.exact {
            true => parsed == name,
            false => name.contains(parsed.as_str()),
        };
        !self.ignored && (self.names.is_empty() || self.names.iter().any(matches))
    }
}

/// Lists or runs the tests that the arguments of this process select.
pub(crate) fn run(tests: &[Test]) -> ExitCode {
    let parsed = RunnerArgs::parse(std::env::args().skip(1));
    let mut out = io::stdout();
    let mut failed = 0;
    for (path, test) in tests {
        // The path without the name of this program.
        let name = path.split_once("::").map_or(*path, |(_, name)| name);
        if !parsed.selects(name) {
            continue;
        }
        if parsed.list {
            writeln!(out, "{name}: test").unwrap();
            continue;
        }
        let passed = catch_unwind(test).is_ok();
        let word = if passed { "ok" } else { "FAILED" };
        writeln!(out, "test {name} ... {word}").unwrap();
        failed += usize::from(!passed);
    }
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
