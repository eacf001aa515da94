//! The shim as a program of its own, for tests and benchmarks; the product runs itself again instead.

use std::process::ExitCode;

fn main() -> ExitCode {
    // Anything but a shim's arguments is a mistake of the caller.
    holon_process::shim_main(std::env::args_os()).unwrap_or_else(|| ExitCode::from(2))
}
