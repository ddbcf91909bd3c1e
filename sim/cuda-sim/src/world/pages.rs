//! Virtual memory: reserved address ranges, pages of a device, and mappings.

use super::World;
use super::state::handle::Kind;
use super::state::memory::{LARGEST, Origin, PAGE, Region};
use super::state::pages::{Pages, Reserved};
use crate::code::{Code, Outcome};

impl World {
    pub(crate) fn create_pages(&mut self, ordinal: i32, bytes: usize) -> Outcome<u64> {
        let device = self.device(ordinal)?;
        if bytes == 0 || bytes % PAGE != 0 {
            return Err(Code::INVALID_VALUE);
        }
        self.take(device, bytes)?;
        let block = self.memory.block(bytes);
        self.pages.push(Pages { lives: true, device, bytes, block, mapped: 0 });
        Ok(self.handles.make(Kind::Pages, self.pages.len() - 1))
    }

    pub(crate) fn release_pages(&mut self, handle: u64) -> Outcome<()> {
        let pages = self.held_pages(handle)?;
        self.pages[pages].lives = false;
        self.free_pages_if_unused(pages);
        Ok(())
    }

    fn held_pages(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Pages, handle, "use of pages").map_err(|_| Code::INVALID_VALUE)
    }

    fn free_pages_if_unused(&mut self, pages: usize) {
        let own = &self.pages[pages];
        if own.lives || own.mapped > 0 {
            return;
        }
        let (device, bytes, block) = (own.device, own.bytes, own.block);
        self.give_back(device, bytes);
        self.memory.drop_block(block);
    }

    pub(crate) fn reserve(&mut self, bytes: usize, alignment: usize) -> Outcome<u64> {
        self.initialized()?;
        let whole = bytes > 0 && bytes % PAGE == 0;
        if !whole || (alignment > PAGE || (alignment > 0 && !alignment.is_power_of_two())) {
            return Err(Code::INVALID_VALUE);
        }
        if bytes > LARGEST {
            return Err(Code::OUT_OF_MEMORY);
        }
        let start = self.memory.fresh_address(bytes);
        self.reserved.push(Reserved { lives: true, start, bytes });
        Ok(start)
    }

    pub(crate) fn unreserve(&mut self, start: u64, bytes: usize) -> Outcome<()> {
        let is_it = |own: &&mut Reserved| own.lives && own.start == start && own.bytes == bytes;
        let end = start.saturating_add(bytes as u64);
        let inside = |region: &Region| start <= region.start && region.start < end;
        if self.memory.live().any(inside) {
            return Err(Code::INVALID_VALUE);
        }
        let found = self.reserved.iter_mut().find(is_it).ok_or(Code::INVALID_VALUE)?;
        found.lives = false;
        Ok(())
    }

    pub(crate) fn map(
        &mut self,
        start: u64,
        bytes: usize,
        offset: usize,
        handle: u64,
    ) -> Outcome<()> {
        let pages = self.held_pages(handle)?;
        let own = &self.pages[pages];
        if offset != 0 || bytes != own.bytes {
            return Err(Code::INVALID_VALUE);
        }
        let end = start.saturating_add(bytes as u64);
        let holds = |range: &Reserved| {
            range.lives && range.start <= start && end <= range.start + range.bytes as u64
        };
        let taken = |region: &Region| region.start < end && start < region.end();
        let aligned = start % PAGE as u64 == 0;
        if !aligned || !self.reserved.iter().any(holds) || self.memory.live().any(taken) {
            return Err(Code::INVALID_VALUE);
        }
        let origin = Origin::Mapped { pages, allowed: false };
        let region = Region { start, len: bytes, block: own.block, device: own.device, origin };
        self.memory.insert(region);
        self.pages[pages].mapped += 1;
        Ok(())
    }

    /// Returns the mapped regions that together cover a range exactly.
    fn mapped_in(&self, start: u64, bytes: usize) -> Outcome<Vec<Region>> {
        let end = start.saturating_add(bytes as u64);
        let inside = |region: &&Region| start <= region.start && region.end() <= end;
        let is_mapped = |region: &&Region| matches!(region.origin, Origin::Mapped { .. });
        let regions: Vec<Region> =
            self.memory.live().filter(inside).filter(is_mapped).copied().collect();
        let covered: usize = regions.iter().map(|region| region.len).sum();
        if covered == bytes && bytes > 0 { Ok(regions) } else { Err(Code::INVALID_VALUE) }
    }

    pub(crate) fn unmap(&mut self, start: u64, bytes: usize) -> Outcome<()> {
        self.initialized()?;
        for region in self.mapped_in(start, bytes)? {
            // The call does not wait, so the host must know that work on these addresses has
            // finished.
            self.note_end_by_host(region, "cuMemUnmap");
            self.memory.remove(region.start);
            if let Origin::Mapped { pages, .. } = region.origin {
                self.pages[pages].mapped -= 1;
                self.free_pages_if_unused(pages);
            }
        }
        Ok(())
    }

    /// Enables or disables reads and writes of a range by the device.
    pub(crate) fn set_access(&mut self, start: u64, bytes: usize, allow: bool) -> Outcome<()> {
        self.initialized()?;
        for region in self.mapped_in(start, bytes)? {
            if let Some(region) = self.memory.starting_at_mut(region.start) {
                if let Origin::Mapped { allowed, .. } = &mut region.origin {
                    *allowed = allow;
                }
            }
        }
        Ok(())
    }
}
