//! A set of bytes, as a class of a pattern denotes it.

/// A set of bytes: 256 bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ByteSet([u64; 4]);

impl ByteSet {
    /// No byte.
    pub const EMPTY: ByteSet = ByteSet([0; 4]);
    /// Every byte.
    pub const ALL: ByteSet = ByteSet([u64::MAX; 4]);
    /// Every byte but the newline: what a dot matches.
    pub const NO_NEWLINE: ByteSet = ByteSet([!(1 << b'\n'), u64::MAX, u64::MAX, u64::MAX]);

    /// The bytes for which `member` holds.
    pub fn of(member: impl Fn(u8) -> bool) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        (0..=u8::MAX).filter(|&byte| member(byte)).for_each(|byte| set.insert(byte));
        set
    }

    /// One byte.
    pub fn one(byte: u8) -> ByteSet {
        let mut set = ByteSet::EMPTY;
        set.insert(byte);
        set
    }

    /// How many bytes are in the set.
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Adds one byte.
    pub fn insert(&mut self, byte: u8) {
        self.0[usize::from(byte >> 6)] |= 1 << (byte & 63);
    }

    /// Whether the byte is in the set.
    pub fn contains(&self, byte: u8) -> bool {
        self.0[usize::from(byte >> 6)] >> (byte & 63) & 1 == 1
    }

    /// Whether the set has no byte.
    pub fn is_empty(&self) -> bool {
        *self == ByteSet::EMPTY
    }

    /// The bytes in either set.
    pub fn union(&self, other: &ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|word| self.0[word] | other.0[word]))
    }

    /// The bytes in both sets.
    pub fn intersection(&self, other: &ByteSet) -> ByteSet {
        ByteSet(std::array::from_fn(|word| self.0[word] & other.0[word]))
    }

    /// The bytes that are not in the set.
    pub fn complement(&self) -> ByteSet {
        ByteSet(self.0.map(|word| !word))
    }

    /// The set closed under ASCII case: with a letter, its other case is in it too.
    pub fn fold(&self) -> ByteSet {
        // 'A'..='Z' are the bits 1..=26 of the second word, 'a'..='z' the bits 33..=58.
        const UPPER: u64 = 0x07ff_fffe;
        let letters = self.0[1];
        let mut folded = *self;
        folded.0[1] |= (letters & UPPER) << 32 | (letters >> 32) & UPPER;
        folded
    }

    /// The bytes in ascending order. Linear in their number.
    pub fn iter(&self) -> impl Iterator<Item = u8> + '_ {
        (0u8..).zip(self.0).flat_map(|(place, word)| {
            let mut left = word;
            std::iter::from_fn(move || {
                let bit = (left != 0).then(|| left.trailing_zeros() as u8)?;
                left &= left - 1;
                Some(place << 6 | bit)
            })
        })
    }

    /// The maximal runs of neighbouring bytes, both ends included, in ascending order.
    pub fn ranges(&self) -> Vec<(u8, u8)> {
        let mut ranges: Vec<(u8, u8)> = Vec::new();
        for (place, word) in (0u8..).zip(self.0) {
            let mut left = word;
            while left != 0 {
                let low = left.trailing_zeros();
                let length = (left >> low).trailing_ones();
                left &= u64::MAX.checked_shl(low + length).unwrap_or(0);
                let (low, high) = (place << 6 | low as u8, place << 6 | (low + length - 1) as u8);
                match ranges.last_mut() {
                    Some((_, last)) if *last == low.wrapping_sub(1) => *last = high,
                    _ => ranges.push((low, high)),
                }
            }
        }
        ranges
    }
}

#[cfg(test)]
mod tests {
    use super::ByteSet;

    /// Folding adds the other case of each letter and nothing else.
    #[test]
    fn fold_is_ascii_case() {
        for byte in 0..=u8::MAX {
            let folded = ByteSet::of(|b| b == byte).fold();
            let expected = ByteSet::of(|b| b == byte.to_ascii_lowercase() || b == byte.to_ascii_uppercase());
            assert_eq!(folded, expected, "{byte}");
        }
    }

    /// One byte is one byte, and all are 256.
    #[test]
    fn lengths() {
        assert_eq!((ByteSet::one(7), ByteSet::one(7).len()), (ByteSet::of(|byte| byte == 7), 1));
        assert_eq!((ByteSet::ALL.len(), ByteSet::EMPTY.len()), (256, 0));
    }

    /// The ranges list each member once, and the complement the rest.
    #[test]
    fn ranges_cover_the_set() {
        let set = ByteSet::of(|b| b < 3 || b == 200 || b > 253);
        assert_eq!(set.ranges(), [(0, 2), (200, 200), (254, 255)]);
        assert_eq!(set.complement().ranges(), [(3, 199), (201, 253)]);
        assert_eq!(set.iter().count() + set.complement().iter().count(), 256);
        assert_eq!(ByteSet::ALL.ranges(), [(0, 255)]);
        assert_eq!(ByteSet::NO_NEWLINE, ByteSet::of(|byte| byte != b'\n'));
        for low in 0..=u8::MAX {
            let set = ByteSet::of(|byte| byte >= low && byte % 67 != 3);
            let members: Vec<u8> = (low..=u8::MAX).filter(|byte| byte % 67 != 3).collect();
            assert_eq!(set.iter().collect::<Vec<_>>(), members);
            let ranges = set.ranges();
            assert_eq!(ranges.iter().flat_map(|(low, high)| *low..=*high).collect::<Vec<_>>(), members);
            assert!(ranges.windows(2).all(|pair| pair[0].1 + 1 < pair[1].0));
        }
    }
}
