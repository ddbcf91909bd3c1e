//! Bind groups that are made once: found by the layout of the kernel and the parts that are bound, and kept until one
//! of the buffers is freed.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::binding::Binding;

/// The bind groups of a stream.
#[derive(Debug, Default)]
pub(crate) struct BindGroups {
    /// By [`hash_of`] what was bound.
    groups: Map<Vec<BindGroupEntry>>,
    /// Hashes of the groups in which a buffer is bound, by the buffer's identity.
    of_buffer: Map<Vec<u64>>,
}

type Map<V> = HashMap<u64, V, BuildHasherDefault<AsIs>>;

#[derive(Debug)]
struct BindGroupEntry {
    layout: u64,
    places: Box<[(u64, u64, u64)]>,
    group: wgpu::BindGroup,
}

impl BindGroupEntry {
    fn is_of(&self, layout: u64, bindings: &[Binding<'_>]) -> bool {
        self.layout == layout
            && self.places.len() == bindings.len()
            && self.places.iter().zip(bindings).all(|(place, binding)| *place == binding.place())
    }
}

impl BindGroups {
    /// The group of these bindings, which is made where there is none.
    ///
    /// # Errors
    ///
    /// That of making the group.
    pub(crate) fn find<E>(
        &mut self,
        layout: u64,
        bindings: &[Binding<'_>],
        make: impl FnOnce() -> Result<wgpu::BindGroup, E>,
    ) -> Result<&wgpu::BindGroup, E> {
        let hash = hash_of(layout, bindings);
        let is_wanted = |entry: &BindGroupEntry| entry.is_of(layout, bindings);
        let known = self.groups.get(&hash).and_then(|entries| entries.iter().position(is_wanted));
        let Some(at) = known else { return Ok(self.insert(hash, layout, bindings, make()?)) };
        Ok(&self.groups[&hash][at].group)
    }

    #[cold]
    fn insert(
        &mut self,
        hash: u64,
        layout: u64,
        bindings: &[Binding<'_>],
        group: wgpu::BindGroup,
    ) -> &wgpu::BindGroup {
        for binding in bindings {
            self.of_buffer.entry(binding.allocation.identity).or_default().push(hash);
        }
        let places = bindings.iter().map(Binding::place).collect();
        let entries = self.groups.entry(hash).or_default();
        entries.push(BindGroupEntry { layout, places, group });
        &entries[entries.len() - 1].group
    }

    /// Forgets the groups in which freed buffers are bound.
    pub(crate) fn evict(&mut self, identities: &[u64]) {
        for identity in identities {
            for hash in self.of_buffer.remove(identity).unwrap_or_default() {
                self.evict_of(hash, *identity);
            }
        }
    }

    fn evict_of(&mut self, hash: u64, identity: u64) {
        let Some(entries) = self.groups.get_mut(&hash) else { return };
        let is_bound = |place: &(u64, u64, u64)| place.0 == identity;
        entries.retain(|entry| {
            let is_kept = !entry.places.iter().any(is_bound);
            if !is_kept {
                // Its other buffers have one group less.
                for (other, ..) in &entry.places {
                    if let Some(hashes) = self.of_buffer.get_mut(other) {
                        if let Some(at) = hashes.iter().position(|of_other| *of_other == hash) {
                            hashes.swap_remove(at);
                        }
                    }
                }
            }
            is_kept
        });
        if entries.is_empty() {
            self.groups.remove(&hash);
        }
    }
}

/// A number for a layout and what is bound; others may have the same.
#[inline]
fn hash_of(layout: u64, bindings: &[Binding<'_>]) -> u64 {
    // Fibonacci hashing: nobody chooses identities in order to make them collide.
    let mix =
        |hash: u64, part: u64| (hash.rotate_left(5) ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    bindings.iter().fold(mix(0, layout), |hash, binding| {
        let (identity, offset, bytes) = binding.place();
        mix(mix(hash, identity ^ offset), bytes)
    })
}

/// The hasher of keys that are hashes already, or identities.
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
        // The map looks at the highest bits and at the lowest ones.
        let mixed = (self.0 ^ part).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        self.0 = mixed ^ (mixed >> 32);
    }
}
