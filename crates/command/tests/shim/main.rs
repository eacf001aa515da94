//! Tests of commands under live shims. This test program is also the shim.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod cleaning;
mod ending;
mod finding;
mod forgetting;
mod reading;
mod runner;
mod running;
mod unruly;
mod world;

use std::process::ExitCode;

fn main() -> ExitCode {
    if let Some(exit) = holon_process::shim_main(std::env::args_os()) {
        return exit;
    }
    let tests = [
        running::TESTS,
        finding::TESTS,
        ending::TESTS,
        reading::TESTS,
        forgetting::TESTS,
        unruly::TESTS,
        cleaning::TESTS,
    ];
    runner::run(&tests.concat())
}
