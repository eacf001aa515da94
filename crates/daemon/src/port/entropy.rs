//! The engine's port for randomness, from the operating system.

use holon_domain::Entropy;
use holon_engine::ports::EntropySource;

/// The random number source of the operating system.
#[derive(Debug, Clone, Copy)]
pub(crate) struct OsEntropy;

impl EntropySource for OsEntropy {
    fn source(&self) -> Box<dyn Entropy + Send> {
        Box::new(*self)
    }
}

impl Entropy for OsEntropy {
    #[expect(
        clippy::expect_used,
        reason = "an id without randomness would be a lie; the decision that wanted one is rolled back"
    )]
    fn next(&mut self) -> u128 {
        let mut bytes = [0_u8; 16];
        getrandom::fill(&mut bytes).expect("a booted system gives randomness");
        u128::from_ne_bytes(bytes)
    }
}
