//! Free blocks, by address and by size. Neighbouring blocks are merged, unless they belong to
//! pieces that were taken from the device separately.

use std::collections::{BTreeMap, BTreeSet};

/// A range of addresses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Block {
    pub(super) address: u64,
    pub(super) bytes: u64,
    /// `true` if the block begins at the start of a piece that was taken from the device.
    pub(super) is_head: bool,
}

#[derive(Debug, Default)]
pub(super) struct FreeList {
    by_address: BTreeMap<u64, Block>,
    by_size: BTreeSet<(u64, u64)>,
}

impl FreeList {
    /// Adds a block, and merges it with its neighbours.
    pub(super) fn insert(&mut self, mut block: Block) {
        let after = block.address.checked_add(block.bytes);
        let next = after.and_then(|end| self.by_address.get(&end)).copied();
        if let Some(next) = next.filter(|next| !next.is_head) {
            self.remove(next);
            block.bytes += next.bytes;
        }
        let previous = self.by_address.range(..block.address).next_back().map(|(_, &block)| block);
        let touches = |one: &Block| one.address + one.bytes == block.address && !block.is_head;
        if let Some(previous) = previous.filter(touches) {
            self.remove(previous);
            block = Block { bytes: previous.bytes + block.bytes, ..previous };
        }
        self.by_size.insert((block.bytes, block.address));
        self.by_address.insert(block.address, block);
    }

    /// Takes the smallest block that is large enough, or the lowest of several such blocks.
    pub(super) fn take_best_fit(&mut self, bytes: u64) -> Option<Block> {
        let &(_, address) = self.by_size.range((bytes, 0)..).next()?;
        let block = *self.by_address.get(&address)?;
        self.remove(block);
        Some(block)
    }

    /// Returns all blocks, in order of address.
    pub(super) fn into_blocks(self) -> impl Iterator<Item = Block> {
        self.by_address.into_values()
    }

    fn remove(&mut self, block: Block) {
        self.by_address.remove(&block.address);
        self.by_size.remove(&(block.bytes, block.address));
    }
}
