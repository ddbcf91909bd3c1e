//! Random numbers that are the same on every machine. The generator is splitmix64 (Steele, Lea, and
//! Flood 2014).

/// A generator of random numbers.
#[derive(Clone, Debug)]
pub(crate) struct Random(u64);

impl Random {
    /// Creates the random number generator for one task in a round.
    pub(crate) fn new(seed: u64, round: u64, task: u64) -> Self {
        let mut random = Self(seed);
        random.0 = random.next() ^ round;
        random.0 = random.next() ^ task;
        random
    }

    /// Returns 64 random bits.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a random number in the range [0, 1).
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(crate) fn fraction(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Returns a random index below `count`, which must not be 0.
    #[expect(clippy::cast_possible_truncation, reason = "smaller than an index")]
    pub(crate) fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }
}
