//! The shim as a program of its own, for tests and benchmarks. The product starts its own executable instead.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Any other arguments are a mistake of the caller.
    holon_process::shim_main(std::env::args_os()).unwrap_or_else(|| ExitCode::from(2))
}
