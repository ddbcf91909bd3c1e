//! A tree over time that finds the addresses that are occupied during a time span.
//!
//! A time tree is a segment tree over the sections of time. A buffer is stored in the `spanning`
//! sets of the O(log n) vertices that cover its lifetime. The buffer is also stored in the `within`
//! sets of all vertices above those that cover its lifetime. A query reads both sets of each vertex
//! that covers the query's span. For the vertices above, a query reads only the `spanning` sets.
//! The sets merge adjacent ranges, so a tree of tightly packed buffers needs little memory.

use super::ranges::Ranges;
use super::union::Union;

/// The addresses that are occupied in each section of time, stored in a tree.
#[derive(Clone, Debug)]
pub(crate) struct TimeTree {
    leaves: usize,
    /// For each vertex, the ranges occupied during its entire time span.
    spanning: Vec<Ranges>,
    /// For each vertex, the ranges that are occupied during at least part of its time span.
    within: Vec<Ranges>,
}

impl TimeTree {
    /// Creates an empty tree over `sections` sections of time.
    pub(crate) fn new(sections: usize) -> Self {
        let leaves = sections.max(1).next_power_of_two();
        let empty = vec![Ranges::default(); 2 * leaves];
        Self { leaves, spanning: empty.clone(), within: empty }
    }

    /// Returns the approximate number of vertices that cover a time span.
    pub(crate) fn depth(&self) -> usize {
        4 * (self.leaves.ilog2() as usize + 1)
    }

    /// Removes all addresses from the tree.
    // Uncounted: the loop needs no counter because the function makes only one pass over the
    // vertices. A pass takes 20 milliseconds for a million sections.
    pub(crate) fn clear(&mut self) {
        self.spanning.iter_mut().for_each(Ranges::clear);
        self.within.iter_mut().for_each(Ranges::clear);
    }

    /// Marks the addresses `[start, end)` as occupied during the sections in `[lower, upper)`.
    // Uncounted: the loop needs no counter because the function visits only the vertices that cover
    // one span. The placer has already counted the depth of the tree.
    pub(crate) fn occupy(&mut self, (lower, upper): (u32, u32), start: u64, end: u64) {
        let (lower, upper) = (lower as usize, upper as usize);
        let (mut left, mut right) = (lower + self.leaves, upper + self.leaves);
        let (first, last) = (left, right - 1);
        while left < right {
            if left & 1 == 1 {
                self.spanning[left].add(start, end);
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                self.spanning[right].add(start, end);
            }
            left /= 2;
            right /= 2;
        }
        // Above the leaves, only the ancestors of the span's first and last leaves can partly
        // overlap the span.
        let partly = |vertex: usize, height: u32| {
            let begins = (vertex << height) - self.leaves;
            begins < lower || begins + (1 << height) > upper
        };
        let (mut left, mut right, mut height) = (first / 2, last / 2, 1);
        while left >= 1 {
            if partly(left, height) {
                self.within[left].add(start, end);
            }
            if right != left && partly(right, height) {
                self.within[right].add(start, end);
            }
            left /= 2;
            right /= 2;
            height += 1;
        }
    }

    /// Appends the ranges that are occupied during at least one of the sections in `[lower,
    /// upper)`.
    // Uncounted: the loop needs no counter because the function visits only the vertices that cover
    // one span. The placer has already counted the depth of the tree.
    pub(crate) fn occupied(&self, (lower, upper): (u32, u32), into: &mut Union) {
        let (lower, upper) = (lower as usize, upper as usize);
        let (mut left, mut right) = (lower + self.leaves, upper + self.leaves);
        let (first, last) = (left, right - 1);
        while left < right {
            if left & 1 == 1 {
                self.collect(left, into);
                left += 1;
            }
            if right & 1 == 1 {
                right -= 1;
                self.collect(right, into);
            }
            left /= 2;
            right /= 2;
        }
        let (mut left, mut right) = (first / 2, last / 2);
        while left >= 1 {
            into.add(self.spanning[left].as_slice());
            if right != left {
                into.add(self.spanning[right].as_slice());
            }
            left /= 2;
            right /= 2;
        }
    }

    fn collect(&self, vertex: usize, into: &mut Union) {
        into.add(self.spanning[vertex].as_slice());
        into.add(self.within[vertex].as_slice());
    }
}
