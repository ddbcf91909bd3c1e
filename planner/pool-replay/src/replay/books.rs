//! Tracks the live buffers of a device after each event, and detects impossible events.

use std::collections::{BTreeMap, BTreeSet};

use crate::log::{Action, Event};

use super::fault::FaultKind;

/// A buffer that is live.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Live {
    /// The number of the buffer, in the order of allocation.
    pub(crate) number: u64,
    /// The event of the device that allocated the buffer.
    pub(crate) since: u64,
    pub(crate) event: Event,
}

/// The change that an event causes.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    /// A buffer became live.
    Allocated(Live),
    /// A buffer is no longer live.
    Freed(Live),
}

/// The live buffers of one device, by address.
#[derive(Debug, Default)]
pub(crate) struct Books {
    live: BTreeMap<u64, Live>,
    /// The addresses of allocations of 0 bytes. Even an allocation of 0 bytes is freed.
    empty: BTreeSet<u64>,
    buffers: u64,
    events: u64,
    bytes: u64,
}

impl Books {
    /// Processes an event. Calls `changed` for each change, and `wrong` if the event is impossible.
    /// If an allocation overlaps live buffers, these buffers are removed. The free of a buffer that
    /// does not exist is ignored.
    pub(crate) fn enter(
        &mut self,
        event: Event,
        changed: &mut dyn FnMut(Change),
        wrong: &mut dyn FnMut(FaultKind),
    ) {
        self.events += 1;
        match event.action {
            Action::Allocate if event.bytes > 0 => self.allocate(event, changed, wrong),
            Action::Allocate => drop(self.empty.insert(event.address)),
            Action::Free => self.free(event, changed, wrong),
            _ => {}
        }
    }

    fn allocate(
        &mut self,
        event: Event,
        changed: &mut dyn FnMut(Change),
        wrong: &mut dyn FnMut(FaultKind),
    ) {
        let Some(end) = event.address.checked_add(event.bytes) else {
            return wrong(FaultKind::Overflow);
        };
        while let Some(other) = self.overlapped(event.address, end) {
            let Event { place, address, bytes, .. } = other.event;
            wrong(FaultKind::Overlap { other: place, address, bytes });
            self.remove(other, changed);
        }
        let Some(bytes) = self.bytes.checked_add(event.asked()) else {
            return wrong(FaultKind::Overflow);
        };
        self.bytes = bytes;
        let live = Live { number: self.buffers, since: self.events - 1, event };
        self.buffers += 1;
        self.live.insert(event.address, live);
        changed(Change::Allocated(live));
    }

    fn free(
        &mut self,
        event: Event,
        changed: &mut dyn FnMut(Change),
        wrong: &mut dyn FnMut(FaultKind),
    ) {
        let Some(&live) = self.live.get(&event.address) else {
            // A buffer of size 0 is never live. Freeing address 0 does nothing.
            let was_empty = event.bytes == 0 && self.empty.remove(&event.address);
            if !was_empty && (event.bytes > 0 || event.address > 0) {
                wrong(FaultKind::UnknownFree);
            }
            return;
        };
        let Event { place, bytes: allocated, .. } = live.event;
        if event.bytes != 0 && event.bytes != allocated {
            wrong(FaultKind::FreedBytes { other: place, allocated });
        }
        self.remove(live, changed);
    }

    fn remove(&mut self, live: Live, changed: &mut dyn FnMut(Change)) {
        self.live.remove(&live.event.address);
        self.bytes -= live.event.asked();
        changed(Change::Freed(live));
    }

    /// Returns the highest live buffer that overlaps the addresses from `start` to `end`.
    fn overlapped(&self, start: u64, end: u64) -> Option<Live> {
        let (_, live) = self.live.range(..end).next_back()?;
        // The addition cannot overflow, because the end of the buffer was checked when it was
        // allocated.
        (live.event.address + live.event.bytes > start).then_some(*live)
    }

    /// Returns the live buffer that begins at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Live> {
        self.live.get(&address)
    }

    /// Returns the number of live bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of events that have been processed.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of buffers that have been allocated.
    pub(crate) fn buffers(&self) -> u64 {
        self.buffers
    }

    /// Returns the live buffers, in order of address.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Live> {
        self.live.values()
    }
}
