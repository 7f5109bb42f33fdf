//! The only randomness of a simulated world: one seed, one sequence.

/// SplitMix64: small, fast, and every seed is a good one.
#[derive(Debug, Clone)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below the limit; 0 if the limit is 0. The bias of a remainder does not matter here.
    pub fn below(&mut self, limit: u64) -> u64 {
        self.draw().checked_rem(limit).unwrap_or(0)
    }

    /// True once in so many times.
    pub fn one_in(&mut self, times: u64) -> bool {
        self.below(times) == 0
    }

    pub fn pick<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        all.get(self.index(all.len()))
    }

    /// A position in a list of this length.
    pub fn index(&mut self, length: usize) -> usize {
        let limit = u64::try_from(length).unwrap_or(u64::MAX);
        usize::try_from(self.below(limit)).unwrap_or(0)
    }

    /// A sequence of its own: what one part draws does not move what another one draws.
    #[must_use]
    pub fn fork(&mut self) -> Self {
        Self(self.draw())
    }

    /// The form of a random UUID.
    pub fn uid(&mut self) -> String {
        let (high, low) = (self.draw() & !0xf000 | 0x4000, self.draw() & !(0b11 << 62) | 0b10 << 62);
        let (time_low, time_mid, version) = (high >> 32, high >> 16 & 0xffff, high & 0xffff);
        format!(
            "{time_low:08x}-{time_mid:04x}-{version:04x}-{:04x}-{:012x}",
            low >> 48,
            low & 0xffff_ffff_ffff
        )
    }

    /// The end of a generated name: five letters or digits that make no words.
    pub fn suffix(&mut self) -> String {
        const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
        (0..5).filter_map(|_| self.pick(LETTERS).map(|letter| char::from(*letter))).collect()
    }
}
