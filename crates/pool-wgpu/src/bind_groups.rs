//! A cache of bind groups. The cache looks up a bind group by its layout and bound ranges. A bind
//! group stays in the cache until one of its buffers is freed. If the cache is full, it removes the
//! least recently used bind group.
//!
//! Every operation takes constant time. Each entry links to its neighbors in order of use, and
//! stores its position in each buffer's list of entries.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// The maximum number of bind groups in the cache. Each bind group occupies about 4.5 KiB, so a
/// full cache occupies 18 MiB.
const KEPT: usize = 4_096;
/// The maximum number of accepted kernels recorded for each bind group.
const TRIED: usize = 16;
/// The index that marks a missing entry.
const NONE: usize = usize::MAX;

/// A range of a buffer, given by the buffer's identity and the range's offset and length in bytes.
pub(crate) type BoundRange = (u64, u64, u64);

/// A cache of the bind groups created by a stream.
#[derive(Debug)]
pub(crate) struct BindGroups<G = wgpu::BindGroup> {
    entries: Vec<Entry<G>>,
    /// The indices of the entries that have no bind group.
    vacant: Vec<usize>,
    /// The index of the entry for each [hash](hash_of) of a layout and its bound ranges. If two
    /// entries have the same hash, the newer entry replaces the older one.
    by_hash: Map<usize>,
    /// The list of bindings that use each buffer. The keys are buffer identities.
    by_buffer: Map<Vec<Use>>,
    /// The indices of the most recently used entry (`newest`) and the least recently used entry
    /// (`oldest`).
    newest: usize,
    oldest: usize,
    limit: usize,
    /// The number of bind groups created so far.
    made: u64,
}

type Map<V> = HashMap<u64, V, BuildHasherDefault<AsIs>>;

/// A use of a buffer by one of an entry's bindings.
#[derive(Clone, Copy, Debug)]
struct Use {
    entry: usize,
    binding: usize,
}

#[derive(Debug)]
struct Entry<G> {
    hash: u64,
    layout: u64,
    ranges: Box<[BoundRange]>,
    /// The index of each binding's [`Use`] in its buffer's list.
    positions: Box<[usize]>,
    /// The indices of the entries used immediately after this entry (`newer`) and immediately
    /// before it (`older`).
    newer: usize,
    older: usize,
    kept: KeptGroup<G>,
}

/// A bind group, with an ID that is unique within its stream.
#[derive(Debug)]
pub(crate) struct KeptGroup<G = wgpu::BindGroup> {
    pub(crate) number: u64,
    /// The bind group, or `None` if the entry is unused.
    pub(crate) group: Option<G>,
    /// The IDs of the kernels that wgpu has [accepted](Self::note_tried) with this bind group.
    tried: Vec<u64>,
}

impl<G> KeptGroup<G> {
    /// Returns `true` if wgpu has already accepted a dispatch of the kernel with this bind group.
    #[inline]
    pub(crate) fn is_tried(&self, kernel: u64) -> bool {
        self.tried.contains(&kernel)
    }

    /// Records that wgpu has accepted a dispatch of the kernel with this bind group.
    pub(crate) fn note_tried(&mut self, kernel: u64) {
        if self.tried.len() == TRIED {
            self.tried.clear();
        }
        self.tried.push(kernel);
    }
}

impl<G> Default for BindGroups<G> {
    fn default() -> Self {
        Self::with_limit(KEPT)
    }
}

impl<G> BindGroups<G> {
    fn with_limit(limit: usize) -> Self {
        Self {
            entries: Vec::new(),
            vacant: Vec::new(),
            by_hash: Map::default(),
            by_buffer: Map::default(),
            newest: NONE,
            oldest: NONE,
            limit,
            made: 0,
        }
    }

    /// Returns the bind group for a layout and its bound ranges. The method creates the bind group
    /// if the cache does not contain it.
    ///
    /// # Errors
    ///
    /// Returns the error from the function that creates the bind group.
    #[inline]
    pub(crate) fn find<E>(
        &mut self,
        layout: u64,
        ranges: impl Iterator<Item = BoundRange> + Clone,
        make: impl FnOnce() -> Result<G, E>,
    ) -> Result<&mut KeptGroup<G>, E> {
        let hash = hash_of(layout, ranges.clone());
        let known = self.by_hash.get(&hash).copied();
        let is_wanted = |at: &usize| self.entries[*at].is_of(layout, &ranges);
        let at = match known.filter(is_wanted) {
            Some(at) => {
                self.use_now(at);
                at
            }
            None => self.insert(hash, layout, ranges.collect(), make()?),
        };
        Ok(&mut self.entries[at].kept)
    }

    #[cold]
    fn insert(&mut self, hash: u64, layout: u64, ranges: Box<[BoundRange]>, group: G) -> usize {
        if let Some(colliding) = self.by_hash.get(&hash).copied() {
            self.remove(colliding);
        }
        if self.by_hash.len() >= self.limit {
            self.remove(self.oldest);
        }
        self.made += 1;
        let kept = KeptGroup { number: self.made, group: Some(group), tried: Vec::new() };
        let vacant = self.vacant.pop();
        let at = vacant.unwrap_or(self.entries.len());
        let note = |(binding, range): (usize, &BoundRange)| {
            let uses = self.by_buffer.entry(range.0).or_default();
            uses.push(Use { entry: at, binding });
            uses.len() - 1
        };
        let positions = ranges.iter().enumerate().map(note).collect();
        let entry = Entry { hash, layout, ranges, positions, newer: NONE, older: NONE, kept };
        match vacant {
            Some(at) => self.entries[at] = entry,
            None => self.entries.push(entry),
        }
        self.by_hash.insert(hash, at);
        self.link(at);
        at
    }

    /// Removes all bind groups that refer to a freed buffer.
    pub(crate) fn evict(&mut self, identities: &[u64]) {
        for identity in identities {
            while let Some(last) = self.by_buffer.get(identity).and_then(|uses| uses.last()) {
                self.remove(last.entry);
            }
        }
    }

    fn remove(&mut self, at: usize) {
        self.unlink(at);
        self.by_hash.remove(&self.entries[at].hash);
        for binding in 0..self.entries[at].ranges.len() {
            self.forget_use(at, binding);
        }
        self.vacant.push(at);
        // The bind group is dropped last because dropping it runs wgpu code.
        self.entries[at].kept.group = None;
    }

    /// Removes a binding from its buffer's list of uses. The last use in the list moves to the
    /// index of the removed use.
    fn forget_use(&mut self, at: usize, binding: usize) {
        let entry = &self.entries[at];
        let (identity, position) = (entry.ranges[binding].0, entry.positions[binding]);
        let Some(uses) = self.by_buffer.get_mut(&identity) else { return };
        uses.swap_remove(position);
        let moved = uses.get(position).copied();
        if uses.is_empty() {
            self.by_buffer.remove(&identity);
        }
        if let Some(moved) = moved {
            self.entries[moved.entry].positions[moved.binding] = position;
        }
    }

    #[inline]
    fn use_now(&mut self, at: usize) {
        if at != self.newest {
            self.unlink(at);
            self.link(at);
        }
    }

    /// Inserts an entry as the most recently used entry.
    fn link(&mut self, at: usize) {
        let before = std::mem::replace(&mut self.newest, at);
        self.set(at, |entry| (entry.newer, entry.older) = (NONE, before));
        self.set(before, |entry| entry.newer = at);
        if self.oldest == NONE {
            self.oldest = at;
        }
    }

    /// Removes an entry from the list ordered by last use.
    fn unlink(&mut self, at: usize) {
        let (newer, older) = (self.entries[at].newer, self.entries[at].older);
        self.set(newer, |entry| entry.older = older);
        self.set(older, |entry| entry.newer = newer);
        if self.newest == at {
            self.newest = older;
        }
        if self.oldest == at {
            self.oldest = newer;
        }
    }

    /// Applies a closure to the entry at the given index. This method does nothing if the index is
    /// [`NONE`].
    fn set(&mut self, at: usize, change: impl FnOnce(&mut Entry<G>)) {
        if let Some(entry) = self.entries.get_mut(at) {
            change(entry);
        }
    }
}

impl<G> Entry<G> {
    #[inline]
    fn is_of(&self, layout: u64, ranges: &(impl Iterator<Item = BoundRange> + Clone)) -> bool {
        self.layout == layout && self.ranges.iter().copied().eq(ranges.clone())
    }
}

/// Returns a hash of a layout and its bound ranges.
#[inline]
fn hash_of(layout: u64, ranges: impl Iterator<Item = BoundRange>) -> u64 {
    // Fibonacci hashing is sufficient because users cannot choose identities that collide.
    let mix =
        |hash: u64, part: u64| (hash.rotate_left(5) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    // An identity is the index of a buffer's first byte. The sum of an identity and an offset
    // therefore identifies exactly one byte.
    ranges.fold(mix(0x243F_6A88_85A3_08D3, layout), |hash, (identity, offset, bytes)| {
        mix(mix(hash, identity.wrapping_add(offset)), bytes)
    })
}

/// A hasher for keys that are already hashes or unique identities.
#[derive(Debug, Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, part: u64) {
        // The bits are mixed again because the map uses the highest and lowest bits of each hash.
        let mixed = (self.0 ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{BindGroups, BoundRange};

    /// A simple model with which the test compares the cache. The model stores the bind groups in
    /// order from least to most recently used.
    type Model = Vec<(u64, Vec<BoundRange>, u64)>;

    #[derive(Clone, Debug)]
    enum Step {
        Find(u64, Vec<BoundRange>),
        Free(u64),
    }

    fn step() -> impl Strategy<Value = Step> {
        let range = (0..6_u64, 0..2_u64, 1..3_u64).prop_map(|(i, o, b)| (i << 8, o, b));
        prop_oneof![
            6 => (0..2_u64, prop::collection::vec(range, 1..4)).prop_map(|(l, p)| Step::Find(l, p)),
            1 => (0..6_u64).prop_map(|i| Step::Free(i << 8)),
        ]
    }

    fn find_in_model(model: &mut Model, limit: usize, layout: u64, ranges: &[BoundRange]) -> bool {
        let is_wanted =
            |entry: &(u64, Vec<BoundRange>, u64)| entry.0 == layout && entry.1 == ranges;
        let known = model.iter().position(is_wanted);
        if let Some(at) = known {
            let entry = model.remove(at);
            model.push(entry);
        } else {
            if model.len() == limit {
                model.remove(0);
            }
            model.push((layout, ranges.to_vec(), 0));
        }
        known.is_some()
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_groups_that_are_kept_are_the_most_recently_used_of_live_buffers(
            steps in prop::collection::vec(step(), 1..200),
            limit in 1..6_usize,
        ) {
            let mut groups = BindGroups::<()>::with_limit(limit);
            let mut model = Model::new();
            for step in steps {
                match step {
                    Step::Find(layout, ranges) => {
                        let mut is_known = true;
                        let found = groups.find(layout, ranges.iter().copied(), || {
                            is_known = false;
                            Ok::<_, ()>(())
                        });
                        let number = found.map(|kept| kept.number).unwrap_or_default();
                        let was_known = find_in_model(&mut model, limit, layout, &ranges);
                        prop_assert_eq!(is_known, was_known);
                        let newest = model.len() - 1;
                        if is_known {
                            prop_assert_eq!(model[newest].2, number);
                        }
                        model[newest].2 = number;
                    }
                    Step::Free(identity) => {
                        groups.evict(&[identity]);
                        model.retain(|(_, ranges, _)| ranges.iter().all(|r| r.0 != identity));
                    }
                }
                prop_assert_eq!(groups.by_hash.len(), model.len());
                prop_assert!(groups.entries.len() <= limit);
                let uses: usize = groups.by_buffer.values().map(Vec::len).sum();
                let bound: usize = model.iter().map(|(_, ranges, _)| ranges.len()).sum();
                prop_assert_eq!(uses, bound);
            }
        }
    }
}
