//! Allocates and frees memory: plain, page-locked, and stream-ordered.

use std::sync::Arc;

use super::World;
use super::state::clock::HOST;
use super::state::event::Moment;
use super::state::handle::Kind;
use super::state::memory::{Origin, Piece, Region, is_device_address};
use super::state::schedule::Goal;
use super::state::shadow::Actor;
use super::state::stream::Body;
use super::state::work::{Access, Unit, Work};
use crate::code::{Code, Outcome};
use crate::report::Mistake;

impl World {
    /// `cuMemAlloc`.
    pub(crate) fn allocate_plain(&mut self, thread: u64, bytes: usize) -> Outcome<u64> {
        let device = self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        if bytes == 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.take(device, bytes)?;
        let address = self.memory.fresh_address(bytes);
        self.memory.allocate(address, bytes, device, Origin::Plain);
        Ok(address)
    }

    /// The first half of `cuMemFree`. Returns the work to wait for; freeing null waits for nothing.
    pub(crate) fn begin_free(&mut self, thread: u64, address: u64) -> Outcome<Option<Goal>> {
        self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        if address == 0 {
            return Ok(None);
        }
        let device = self.freeable(address, "cuMemFree")?.device;
        Ok(Some(self.end_of_device(device)))
    }

    /// The second half of `cuMemFree`, called once all work of the device has finished.
    pub(crate) fn finish_free(&mut self, address: u64) -> Outcome<()> {
        // The region is looked up again, because another thread may have freed it during the wait.
        let region = self.freeable(address, "cuMemFree")?;
        self.note_end_by_host(region, "cuMemFree");
        self.memory.remove(address);
        match region.origin {
            Origin::Plain => self.give_back(region.device, region.len),
            Origin::Pool(pool) => self.pool_freed(pool, region, None),
            // The bytes remain reserved for the device's graphs until graph memory is trimmed.
            Origin::Graph => self.run_unit(Unit::Poison(region.block)),
            Origin::Mapped { .. } | Origin::Pinned | Origin::Registered | Origin::Module => {
                return Err(Code::INVALID_VALUE);
            }
        }
        if region.origin != Origin::Graph {
            self.memory.drop_block(region.block);
        }
        Ok(())
    }

    /// Records that the host ends a region. The work that the host has waited for is finished.
    /// Other work may still use the region, for example on the streams of another device.
    pub(crate) fn note_end_by_host(&mut self, region: Region, what: &'static str) {
        let mut clock = self.host_clock.clone();
        let stamp = clock.tick(HOST);
        let actor = Actor { stream: usize::MAX, number: 0, what, kernel: None, node: None };
        let clock = Arc::new(clock);
        self.note_accesses(&[whole(region)], &actor, (&clock, stamp));
        self.host_clock = Arc::unwrap_or_clone(clock);
    }

    fn freeable(&mut self, address: u64, what: &str) -> Outcome<Region> {
        let may = |region: &Region| {
            matches!(region.origin, Origin::Plain | Origin::Pool(_) | Origin::Graph)
        };
        if let Some(region) = self.memory.starting_at(address).filter(may) {
            return Ok(region);
        }
        let trouble = self.memory.trouble_with_free(address);
        Err(self.refuse(&trouble, what))
    }

    /// `cuMemHostAlloc`.
    pub(crate) fn allocate_host(&mut self, thread: u64, bytes: usize) -> Outcome<u64> {
        let device = self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        if bytes == 0 {
            return if self.other_answers { Err(Code::INVALID_VALUE) } else { Ok(0) };
        }
        let address = self.host.allocate(bytes).ok_or(Code::OUT_OF_MEMORY)?;
        self.memory.allocate(address, bytes, device, Origin::Pinned);
        Ok(address)
    }

    /// The first half of `cuMemFreeHost`.
    pub(crate) fn begin_free_host(&mut self, thread: u64, address: u64) -> Outcome<Goal> {
        self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        let region = self.pinned_region(address)?;
        self.report_pending_use(region, "cuMemFreeHost");
        Ok(self.end_of_device(region.device))
    }

    /// The second half of `cuMemFreeHost`.
    pub(crate) fn finish_free_host(&mut self, address: u64) -> Outcome<()> {
        let region = self.pinned_region(address)?;
        // Another thread may have added work during the wait, and other devices have not been
        // waited for.
        self.report_pending_use(region, "cuMemFreeHost");
        self.memory.remove(address);
        self.host.free(address, region.len);
        Ok(())
    }

    /// `cuMemHostRegister`: page-locks memory that the program owns.
    pub(crate) fn register_host(&mut self, thread: u64, start: u64, bytes: usize) -> Outcome<()> {
        let device = self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        if start == 0 || bytes == 0 || is_device_address(start) {
            return Err(Code::INVALID_VALUE);
        }
        if self.memory.is_taken(start, bytes) {
            return Err(Code::HOST_MEMORY_ALREADY_REGISTERED);
        }
        self.memory.allocate(start, bytes, device, Origin::Registered);
        Ok(())
    }

    /// The first half of `cuMemHostUnregister`.
    pub(crate) fn begin_unregister(&mut self, thread: u64, address: u64) -> Outcome<Goal> {
        self.current(thread)?;
        self.refuse_unsafe_call(thread)?;
        let region = self.registered_region(address)?;
        self.report_pending_use(region, "cuMemHostUnregister");
        Ok(self.end_of_device(region.device))
    }

    /// The second half of `cuMemHostUnregister`.
    pub(crate) fn finish_unregister(&mut self, address: u64) -> Outcome<()> {
        let region = self.registered_region(address)?;
        self.report_pending_use(region, "cuMemHostUnregister");
        self.memory.remove(region.start);
        Ok(())
    }

    fn registered_region(&self, address: u64) -> Outcome<Region> {
        let found = self.memory.starting_at(address);
        let found = found.filter(|region| region.origin == Origin::Registered);
        found.ok_or(Code::HOST_MEMORY_NOT_REGISTERED)
    }

    /// Reports pending work that uses host memory. The caller must keep the memory until its copies
    /// have finished. The driver waits for the copies, but no document promises this.
    fn report_pending_use(&mut self, region: Region, what: &str) {
        let shadow = &self.memory.blocks[region.block].shadow;
        let Some(pending) = shadow.unknown_to(&self.host_clock) else { return };
        let text = format!("{what}: {region}; the host has not waited for {}", pending.actor);
        self.reports.add(Mistake::UseAfterFree, &text);
    }

    fn pinned_region(&mut self, address: u64) -> Outcome<Region> {
        let found = self.memory.starting_at(address);
        if let Some(region) = found.filter(|region| region.origin == Origin::Pinned) {
            return Ok(region);
        }
        let trouble = self.memory.trouble_with_free(address);
        Err(self.refuse(&trouble, "cuMemFreeHost"))
    }

    /// `cuMemAllocAsync`, from the device's current pool or from a given pool. An allocation of 0
    /// bytes has no address.
    pub(crate) fn allocate_async(
        &mut self,
        thread: u64,
        stream: u64,
        bytes: usize,
        pool: Option<u64>,
    ) -> Outcome<u64> {
        let stream = self.stream(thread, stream)?;
        let device = self.streams[stream].device;
        let pool = match pool {
            None => self.devices[device].current_pool,
            Some(handle) => self.find(Kind::Pool, handle, "allocation from a pool")?,
        };
        if self.capturing(stream)?.is_some() {
            return self.capture_allocation(stream, bytes, device);
        }
        self.refuse_legacy_beside_captures(stream)?;
        self.refuse_unsafe_call(thread)?;
        if bytes == 0 {
            return Ok(0);
        }
        let (address, frees) = self.pool_allocate(pool, stream, bytes)?;
        let region = self.memory.allocate(address, bytes, device, Origin::Pool(pool));
        let accesses = [whole(region)];
        self.submit(stream, "cuMemAllocAsync", &accesses, &frees, Body::Unit(Unit::Nothing));
        Ok(address)
    }

    /// `cuMemFreeAsync`, which also frees memory of `cuMemAlloc`.
    pub(crate) fn free_async(&mut self, thread: u64, stream: u64, address: u64) -> Outcome<()> {
        let stream = self.stream(thread, stream)?;
        if self.capturing(stream)?.is_some() {
            return self.capture_free(stream, address);
        }
        self.refuse_legacy_beside_captures(stream)?;
        self.refuse_unsafe_call(thread)?;
        if address == 0 {
            return Ok(());
        }
        let region = self.freeable(address, "cuMemFreeAsync")?;
        self.free_in_order(stream, region, "cuMemFreeAsync");
        Ok(())
    }

    /// Ends a region in stream order.
    pub(crate) fn free_in_order(
        &mut self,
        stream: usize,
        region: Region,
        what: &'static str,
    ) -> Moment {
        self.memory.remove(region.start);
        let unit = match region.origin {
            Origin::Graph => Unit::Poison(region.block),
            Origin::Plain => {
                let Region { block, device, len, .. } = region;
                Unit::FreePlain { block, device, bytes: len }
            }
            _ => Unit::Free(region.block),
        };
        let moment = self.submit(stream, what, &[whole(region)], &[], Body::Unit(unit));
        if let Origin::Pool(pool) = region.origin {
            self.pool_freed(pool, region, Some(moment.clone()));
        }
        moment
    }

    fn capture_free(&mut self, stream: usize, address: u64) -> Outcome<()> {
        let Some((capture, _)) = self.capturing(stream)? else {
            return Err(Code::ILLEGAL_STATE);
        };
        let graph = self.captures[capture].graph;
        if !self.can_free_in_graph(graph, address) {
            return Err(Code::INVALID_VALUE);
        }
        self.capture_work(stream, Work::Free { address });
        let node = self.last_node(graph);
        self.freed_in_graph(graph, address, node);
        Ok(())
    }
}

/// Returns an access to all bytes of a region, as made by an allocation or a free.
fn whole(region: Region) -> Access {
    let piece = Piece { block: region.block, start: 0, len: region.len };
    Access { piece, writes: true, node: None }
}
