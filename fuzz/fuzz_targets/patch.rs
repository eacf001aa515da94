//! Any patch on any file: see `holon_patch::fuzzing` for what must hold.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    if let Err(broken) = holon_patch::fuzzing::check(input) {
        panic!("{broken}");
    }
});
