//! A memory's live bytes in each section, stored in a tree that supports adding bytes to a span of
//! sections. The root of the tree contains the maximum over all sections.

/// A tree whose leaves are the sections of time.
#[derive(Clone, Debug)]
pub(super) struct Loads {
    leaves: usize,
    /// For each vertex, the maximum number of bytes in any of its sections. The maximum does not
    /// include additions that are stored at vertices above this one.
    most: Vec<i64>,
    /// For each vertex, the sum of all additions that apply to its entire span of sections.
    added: Vec<i64>,
}

impl Loads {
    /// Creates a tree in which all sections contain 0 bytes.
    pub(super) fn new(sections: usize) -> Self {
        let leaves = sections.max(1).next_power_of_two();
        Self { leaves, most: vec![0; 2 * leaves], added: vec![0; leaves] }
    }

    /// Adds a possibly negative number of bytes to each section in a span.
    pub(super) fn add(&mut self, span: (u32, u32), bytes: i64) {
        let (mut left, mut right) = (span.0 as usize + self.leaves, span.1 as usize + self.leaves);
        let (first, last) = (left, right - 1);
        while left < right {
            if left & 1 == 1 {
                self.apply(left, bytes);
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                self.apply(right, bytes);
            }
            left /= 2;
            right /= 2;
        }
        self.rise(first);
        self.rise(last);
    }

    /// Returns the maximum number of bytes in any section.
    pub(super) fn most(&self) -> u64 {
        u64::try_from(self.most[1]).unwrap_or(0)
    }

    fn apply(&mut self, vertex: usize, bytes: i64) {
        self.most[vertex] += bytes;
        if let Some(added) = self.added.get_mut(vertex) {
            *added += bytes;
        }
    }

    fn rise(&mut self, leaf: usize) {
        let mut vertex = leaf / 2;
        while vertex > 0 {
            let below = self.most[2 * vertex].max(self.most[2 * vertex + 1]);
            self.most[vertex] = below + self.added[vertex];
            vertex /= 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Loads;
    use crate::random::Random;

    #[test]
    fn the_root_has_the_maximum() {
        let mut random = Random::new(1, 2, 3);
        for sections in 1..20_u32 {
            let (mut loads, mut plain) =
                (Loads::new(sections as usize), vec![0_i64; sections as usize]);
            for _ in 0..50 {
                let lower = random.below(sections as usize);
                let upper = lower + 1 + random.below(sections as usize - lower);
                let bytes = i64::try_from(random.below(9)).unwrap_or(0);
                plain[lower..upper].iter_mut().for_each(|one| *one += bytes);
                let span = (u32::try_from(lower).unwrap_or(0), u32::try_from(upper).unwrap_or(0));
                loads.add(span, bytes);
                let most = plain.iter().max().copied().and_then(|most| u64::try_from(most).ok());
                assert_eq!(Some(loads.most()), most);
            }
        }
    }
}
