//! The dice: a small seeded generator, so that a seed gives the same run on every machine.

use holon_domain::Entropy;

/// A `SplitMix64` generator: fast, full period, no dependency. It does not need to be unpredictable.
#[derive(Debug, Clone)]
pub struct Rng {
    state: u64,
}

impl Rng {
    /// Creates a generator from a seed.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 random bits.
    pub const fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number below `bound`, or zero if `bound` is zero.
    pub const fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 { 0 } else { self.bits() % bound }
    }

    /// Returns true in `percent` of a hundred cases.
    pub const fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    /// Returns a random index into a slice of this length.
    pub fn index(&mut self, len: usize) -> usize {
        usize::try_from(self.below(len as u64)).unwrap_or(0)
    }

    /// Returns a random element; `None` if there is none.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let at = self.index(of.len());
        of.get(at).copied()
    }
}

impl Entropy for Rng {
    fn next(&mut self) -> u128 {
        (u128::from(self.bits()) << 64) | u128::from(self.bits())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_throws_the_same_dice_and_another_seed_others() {
        let throw = |seed| {
            let mut rng = Rng::new(seed);
            [rng.below(6), rng.below(6), rng.bits()]
        };
        assert_eq!(throw(7), throw(7));
        assert_ne!(throw(7), throw(8));
    }
}
