//! The state of a device before its trace begins.

use std::collections::{BTreeMap, HashSet};

use super::super::event::{Action, Event, Place, Pool};
use super::super::frames::Stack;

/// The state of one device before its trace begins, and the private pools of its segments. The size
/// of this state depends on the buffers and segments that exist before or after the trace, and not
/// on the length of the trace.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// The buffers that were live before the trace, by address.
    pub(super) buffers: BTreeMap<u64, Event>,
    /// The addresses of buffers that are live when the trace ends, and were allocated during the
    /// trace.
    pub(super) allocated: HashSet<u64>,
    /// The bytes reserved at the end, minus the bytes that were taken during the trace, plus the
    /// bytes that were returned.
    pub(super) reserved: i128,
    /// The addresses that the trace takes from the device and does not return. Each entry consists
    /// of the start, the end, and the index of the trace's entry.
    taken: BTreeMap<u64, (u64, u64)>,
    /// The segments of private pools at the end of the trace: the start, the end and the pool.
    pub(super) pools: BTreeMap<u64, (u64, Pool)>,
}

impl Before {
    /// Considers the event at an index of the trace.
    pub(super) fn note(&mut self, index: u64, event: &Event) {
        let address = event.address;
        match event.action {
            Action::Allocate => {
                self.allocated.insert(address);
            }
            Action::Free if !self.allocated.remove(&address) => {
                // The stack of a free belongs to the code that freed the buffer, not to the code
                // that allocated it.
                let stack = Stack::default();
                let earlier = Event { action: Action::Allocate, stack, ..*event };
                self.buffers.entry(address).or_insert(earlier);
            }
            Action::Reserve => {
                self.reserved -= i128::from(event.bytes);
                self.forget(address, event.bytes);
                self.taken.insert(address, (address.saturating_add(event.bytes), index));
            }
            Action::Release => {
                self.reserved += i128::from(event.bytes);
                self.forget(address, event.bytes);
            }
            Action::Free | Action::RequestFree | Action::Fail | Action::ReleasePool => {}
        }
    }

    /// Removes a range of addresses from those that the trace has taken.
    fn forget(&mut self, start: u64, bytes: u64) {
        let end = start.saturating_add(bytes);
        while let Some((&low, &(high, index))) = self.taken.range(..end).next_back() {
            if high <= start {
                return;
            }
            self.taken.remove(&low);
            if high > end {
                self.taken.insert(end, (high, index));
            }
            if low < start {
                self.taken.insert(low, (start, index));
            }
        }
    }

    /// Returns the private pool of an address at an index of the trace, or the default pool if the
    /// pool is unknown. The snapshot states only the pools of the segments that exist at the end.
    pub(super) fn pool_of(&self, address: u64, index: u64) -> Pool {
        let at = |&(end, pool): &(u64, Pool)| (address < end).then_some(pool);
        let pool = self.pools.range(..=address).next_back().and_then(|(_, one)| at(one));
        let Some(pool) = pool else { return Pool::default() };
        // A segment that is taken after this index replaces an earlier one at the same address.
        let taken = self.taken.range(..=address).next_back().map(|(_, one)| one);
        let is_later = taken.is_some_and(|&(end, taken)| address < end && index < taken);
        if is_later { Pool::default() } else { pool }
    }

    /// Returns an event that represents the memory that was reserved before the trace.
    fn reserve(&self, device: u32) -> Option<Event> {
        let bytes = u64::try_from(self.reserved).ok().filter(|&bytes| bytes > 0)?;
        Some(Event { device, ..Event::new(Action::Reserve, Place::Before, 0, bytes) })
    }
}

/// Passes on the state of all devices as events.
pub(super) fn pass_on(devices: &BTreeMap<u32, Before>, sink: &mut dyn FnMut(Event)) {
    devices.iter().filter_map(|(&device, before)| before.reserve(device)).for_each(&mut *sink);
    for (&device, before) in devices {
        for event in before.buffers.values() {
            // An event from a block already has its pool.
            let pool = match event.pool {
                Pool::DEFAULT => before.pool_of(event.address, 0),
                pool => pool,
            };
            sink(Event { place: Place::Before, time: None, device, pool, ..*event });
        }
    }
}
