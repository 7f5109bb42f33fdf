//! Ends of names. The randomness comes from outside, as a seed.

/// As Kubernetes: none that form words or are mistaken for each other.
const ALPHABET: [char; 27] = [
    'b', 'c', 'd', 'f', 'g', 'h', 'j', 'k', 'l', 'm', 'n', 'p', 'q', 'r', 's', 't', 'v', 'w', 'x', 'z', '2',
    '4', '5', '6', '7', '8', '9',
];

/// splitmix64: small, well distributed, the same on every machine.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    pub fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// Five characters: the end of a name that has to differ from others.
    pub fn suffix(&mut self) -> String {
        (0..5)
            .filter_map(|_| usize::try_from(self.next() % 27).ok().and_then(|at| ALPHABET.get(at)))
            .collect()
    }

    /// A whole number from 0 to one less than `end`; 0 if there is none.
    pub fn below(&mut self, end: u32) -> i64 {
        i64::try_from(self.next() % u64::from(end.max(1))).unwrap_or(0)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
