//! A small runner that is asked as the usual one is: to list its tests, or to run those that are named.

use std::io::{self, Write as _};
use std::panic::catch_unwind;
use std::process::ExitCode;

/// A test and its name.
pub(crate) type Test = (&'static str, fn());

/// Tests by their names. Each is an async function and gets a runtime of its own.
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

/// What the arguments ask for.
#[derive(Default)]
struct Asked {
    list: bool,
    /// Only tests that are left out of a usual run; there are none.
    ignored: bool,
    exact: bool,
    names: Vec<String>,
}

impl Asked {
    fn of(args: impl Iterator<Item = String>) -> Self {
        let (mut asked, mut args) = (Self::default(), args);
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--list" => asked.list = true,
                "--ignored" => asked.ignored = true,
                "--exact" => asked.exact = true,
                // Each has a value of its own.
                "--format" | "--color" | "--test-threads" | "--logfile" => drop(args.next()),
                flag if flag.starts_with('-') => {}
                _ => asked.names.push(arg),
            }
        }
        asked
    }

    fn wants(&self, name: &str) -> bool {
        let matches = |asked: &String| match self.exact {
            true => asked == name,
            false => name.contains(asked.as_str()),
        };
        !self.ignored && (self.names.is_empty() || self.names.iter().any(matches))
    }
}

/// Does what the arguments of this process ask for.
pub(crate) fn run(tests: &[Test]) -> ExitCode {
    let asked = Asked::of(std::env::args().skip(1));
    let mut said = io::stdout();
    let mut failed = 0;
    for (path, test) in tests {
        // Without the name of this program.
        let name = path.split_once("::").map_or(*path, |(_, name)| name);
        if !asked.wants(name) {
            continue;
        }
        if asked.list {
            writeln!(said, "{name}: test").unwrap();
            continue;
        }
        let passed = catch_unwind(test).is_ok();
        let word = if passed { "ok" } else { "FAILED" };
        writeln!(said, "test {name} ... {word}").unwrap();
        failed += usize::from(!passed);
    }
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}
