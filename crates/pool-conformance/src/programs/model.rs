//! The naive model. The model records every byte range that has been handed out and keeps an
//! account for each open pool.

use super::account::Account;
use super::contents::{Contents, Remains};
use super::program::Setting;
use crate::host::Extent;
use crate::ledger::BlockCounts;
use crate::probe::{BackendProbe, Watching};

/// The bytes that one live view occupies.
#[derive(Clone, Copy, Debug)]
struct Range {
    /// The index of the open pool that handed out the view.
    pool: usize,
    slot: usize,
    start: usize,
    bytes: usize,
    /// The start of the block that contains the view, if the backend counts its blocks.
    block: Option<usize>,
}

/// The state that the model expects of each pool.
#[derive(Debug)]
pub(super) struct Model {
    live: Vec<Range>,
    /// The open pools. The last pool is in use, and all other pools are suspended.
    accounts: Vec<Account>,
    /// The contents of every block in every pool.
    pub(super) contents: Contents,
    last_seed: u64,
    has_slots: bool,
}

impl Model {
    /// Creates a state with no pools.
    pub(super) fn new(has_slots: bool) -> Self {
        let contents = Contents::new(has_slots);
        Self { live: Vec::new(), accounts: Vec::new(), contents, last_seed: 0, has_slots }
    }

    /// Returns a previously unused seed.
    pub(super) fn new_seed(&mut self) -> u64 {
        self.last_seed += 1;
        self.last_seed
    }

    /// Records that a pool was created. The new pool is in use until it is closed.
    pub(super) fn open(&mut self, setting: Setting, held: Option<BlockCounts>) {
        self.accounts.push(Account::open(setting, held, self.has_slots));
    }

    /// Records that the pool in use was dropped.
    pub(super) fn close(&mut self, held: Option<BlockCounts>) {
        self.give_back(0);
        let closed = self.accounts.pop().expect("an open pool");
        for resting in &mut self.accounts {
            resting.was_beside(closed.allocations(held));
        }
    }

    /// Returns the account of the pool in use.
    pub(super) fn account(&mut self) -> &mut Account {
        self.accounts.last_mut().expect("an open pool")
    }

    /// Returns the account of the pool in use and the block contents of all pools.
    pub(super) fn account_and_contents(&mut self) -> (&mut Account, &mut Contents) {
        (self.accounts.last_mut().expect("an open pool"), &mut self.contents)
    }

    /// Records that the slot at index `active` and all slots after it have been returned to the
    /// pool in use.
    pub(super) fn give_back(&mut self, active: usize) {
        let pool = self.accounts.len() - 1;
        self.live.retain(|range| range.pool != pool || range.slot < active);
        let account = self.account();
        account.active = account.active.min(active);
    }

    /// Records that the pool in use handed out a view.
    pub(super) fn hand_out<P: BackendProbe>(
        &mut self,
        probe: &P,
        slot: usize,
        start: usize,
        bytes: usize,
    ) {
        if bytes == 0 {
            return;
        }
        let block = probe.block_of(start);
        if probe.held().is_some() {
            let (at, size) = block.expect("a view outside of every block");
            assert!(start + bytes <= at + size, "a view beyond its block of {size} bytes");
        }
        let pool = self.accounts.len() - 1;
        let new = Range { pool, slot, start, bytes, block: block.map(|(at, _)| at) };
        for old in &self.live {
            let apart = new.start + new.bytes <= old.start || old.start + old.bytes <= new.start;
            assert!(apart, "two live views overlap: {new:?} and {old:?}");
            let same_slot = (new.pool, new.slot) == (old.pool, old.slot);
            let same_block = new.block.is_some() && new.block == old.block;
            let may_share = same_slot || !self.has_slots;
            assert!(may_share || !same_block, "two slots share a block: {new:?} and {old:?}");
        }
        self.live.push(new);
    }

    /// Records that a view with the given number of bytes was handed out with recycled contents.
    /// Returns the bytes of the view that must be zero.
    pub(super) fn read<P: BackendProbe>(
        &mut self,
        probe: &P,
        start: usize,
        bytes: usize,
    ) -> Remains {
        match probe.place_of(start) {
            Some((block, offset)) if bytes > 0 => self.contents.read(block, offset..offset + bytes),
            _ => Remains::default(),
        }
    }

    /// Records that a view with the given number of bytes was handed out for writing.
    pub(super) fn write<P: BackendProbe>(&mut self, probe: &P, start: usize, bytes: usize) {
        if let Some((block, offset)) = probe.place_of(start) {
            self.contents.write(block, offset..offset + bytes);
        }
    }

    /// Does the same as [`write`](Self::write), but for a host slice. Writing to a host slice may
    /// mark the slot as possibly uninitialized.
    pub(super) fn write_host<P: BackendProbe>(&mut self, probe: &P, extent: Extent, marks: bool) {
        let Some((block, offset)) = probe.place_of(extent.start) else { return };
        if marks {
            self.contents.mark(block, offset, extent.asked, extent.bytes);
        } else {
            self.contents.write(block, offset..offset + extent.asked);
        }
    }
}
