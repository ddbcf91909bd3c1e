//! The live buffers after each event of a device, and the impossible events.

use std::collections::{BTreeMap, BTreeSet};

use crate::log::{Action, Event};

use super::fault::FaultKind;

/// A buffer that is live.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Live {
    /// The number of the buffer, in the order of allocation.
    pub(crate) number: u64,
    /// The event of the device that allocated it.
    pub(crate) since: u64,
    pub(crate) event: Event,
}

/// The change by an event.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Change {
    /// A buffer is live.
    Allocated(Live),
    /// A buffer no longer is.
    Freed(Live),
}

/// The live buffers of one device, by address.
#[derive(Debug, Default)]
pub(crate) struct Books {
    live: BTreeMap<u64, Live>,
    /// The addresses of allocations of no bytes, which are freed like others.
    empty: BTreeSet<u64>,
    buffers: u64,
    events: u64,
    bytes: u64,
}

impl Books {
    /// Enters an event. Calls `changed` for each change, and `wrong` for an impossible event. Then an allocation
    /// replaces live buffers that it overlaps, and a free of an unknown buffer has no effect.
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
            // A buffer without bytes was never live. A free of address 0 frees nothing.
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

    /// The highest live buffer that has bytes from `start` to `end`.
    fn overlapped(&self, start: u64, end: u64) -> Option<Live> {
        let (_, live) = self.live.range(..end).next_back()?;
        // Its end was checked when it was allocated.
        (live.event.address + live.event.bytes > start).then_some(*live)
    }

    /// The live buffer that begins at an address.
    pub(crate) fn at(&self, address: u64) -> Option<&Live> {
        self.live.get(&address)
    }

    /// The bytes that are live.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of events.
    pub(crate) fn events(&self) -> u64 {
        self.events
    }

    /// Returns the number of buffers.
    pub(crate) fn buffers(&self) -> u64 {
        self.buffers
    }

    /// Returns the live buffers, in order of address.
    pub(crate) fn live(&self) -> impl Iterator<Item = &Live> {
        self.live.values()
    }
}
