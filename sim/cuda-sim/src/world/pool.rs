//! The driver's memory pools: which memory they keep or release, and which freed addresses they
//! reuse.

use super::World;
use super::state::event::Moment;
use super::state::handle::Kind;
use super::state::memory::{Region, UNIT};
use super::state::pool::{Freed, Pool};
use crate::code::{Code, Outcome};

/// The attributes of a pool, by their numbers in CUDA.
const REUSE_FOLLOW_EVENT: u32 = 1;

const REUSE_NO_ORDER: u32 = 3;

const THRESHOLD: u32 = 4;

const RESERVED: u32 = 5;

const RESERVED_HIGH: u32 = 6;

const USED: u32 = 7;

const USED_HIGH: u32 = 8;

impl World {
    pub(crate) fn create_pool(
        &mut self,
        thread: u64,
        ordinal: i32,
        maximum: usize,
    ) -> Outcome<u64> {
        let device = self.device(ordinal)?;
        self.refuse_unsafe_call(thread)?;
        self.pools.push(Pool::new(device, maximum, false));
        Ok(self.handles.make(Kind::Pool, self.pools.len() - 1))
    }

    /// Destroys a pool. Live allocations remain valid, and their pages are released when the last
    /// allocation is freed.
    pub(crate) fn destroy_pool(&mut self, handle: u64) -> Outcome<()> {
        let pool = self.pool(handle)?;
        if self.pools[pool].is_default {
            return Err(Code::INVALID_VALUE);
        }
        self.pools[pool].lives = false;
        for device in &mut self.devices {
            if device.current_pool == pool {
                device.current_pool = device.default_pool;
            }
        }
        Ok(())
    }

    pub(super) fn pool(&mut self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        self.find(Kind::Pool, handle, "use of a pool").map_err(|_| Code::INVALID_VALUE)
    }

    /// Returns the default pool or the current pool of a device.
    pub(crate) fn pool_of(&self, ordinal: i32, current: bool) -> Outcome<u64> {
        let device = &self.devices[self.device(ordinal)?];
        let pool = if current { device.current_pool } else { device.default_pool };
        Ok(self.handles.make(Kind::Pool, pool))
    }

    pub(crate) fn set_current_pool(&mut self, ordinal: i32, handle: u64) -> Outcome<()> {
        let (device, pool) = (self.device(ordinal)?, self.pool(handle)?);
        if self.pools[pool].device != device {
            return Err(Code::INVALID_VALUE);
        }
        self.devices[device].current_pool = pool;
        Ok(())
    }

    pub(crate) fn pool_attribute(&mut self, handle: u64, attribute: u32) -> Outcome<u64> {
        let pool = self.pool(handle)?;
        let pool = &self.pools[pool];
        Ok(match attribute {
            REUSE_FOLLOW_EVENT..=REUSE_NO_ORDER => {
                u64::from(pool.reuse[(attribute - REUSE_FOLLOW_EVENT) as usize])
            }
            THRESHOLD => pool.threshold,
            RESERVED => pool.reserved as u64,
            RESERVED_HIGH => pool.reserved_high as u64,
            USED => pool.used as u64,
            USED_HIGH => pool.used_high as u64,
            _ => return Err(Code::INVALID_VALUE),
        })
    }

    /// Returns `true` if an attribute has 32 bits, and `false` if it has 64.
    pub(crate) fn is_short_attribute(attribute: u32) -> bool {
        (REUSE_FOLLOW_EVENT..=REUSE_NO_ORDER).contains(&attribute)
    }

    pub(crate) fn set_pool_attribute(
        &mut self,
        handle: u64,
        attribute: u32,
        value: u64,
    ) -> Outcome<()> {
        let pool = self.pool(handle)?;
        let pool = &mut self.pools[pool];
        match attribute {
            REUSE_FOLLOW_EVENT..=REUSE_NO_ORDER => {
                pool.reuse[(attribute - REUSE_FOLLOW_EVENT) as usize] = u32::from(value != 0);
            }
            THRESHOLD => pool.threshold = value,
            // The peaks may be reset to 0, but not set to any other value.
            RESERVED_HIGH if value == 0 => pool.reserved_high = pool.reserved,
            USED_HIGH if value == 0 => pool.used_high = pool.used,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    pub(crate) fn trim_pool(&mut self, thread: u64, handle: u64, keep: usize) -> Outcome<()> {
        let pool = self.pool(handle)?;
        self.refuse_unsafe_call(thread)?;
        self.forget_done_frees(pool);
        self.pools[pool].shrink(keep);
        Ok(())
    }

    /// Returns an address for an allocation that follows a stream's work, and the additional work
    /// that the allocation must wait for.
    pub(crate) fn pool_allocate(
        &mut self,
        pool: usize,
        stream: usize,
        bytes: usize,
    ) -> Outcome<(u64, Vec<Moment>)> {
        let len = bytes.checked_next_multiple_of(UNIT).ok_or(Code::OUT_OF_MEMORY)?;
        match self.pool_allocate_in_order(pool, stream, len) {
            Ok(address) => Ok((address, Vec::new())),
            Err(full) => self.pool_allocate_behind_frees(pool, len).ok_or(full),
        }
    }

    fn pool_allocate_in_order(&mut self, pool: usize, stream: usize, len: usize) -> Outcome<u64> {
        let found = self.freed_for(pool, stream, len);
        let taken = found.map(|index| {
            let entry = &mut self.pools[pool].free[index];
            let (address, moment) = (entry.address, entry.moment.clone());
            entry.address += len as u64;
            entry.len -= len;
            (address, moment)
        });
        self.pools[pool].free.retain(|freed| freed.len > 0);
        if let Err(full) = self.pool_grow(pool, len) {
            if let Some((address, moment)) = taken {
                self.pools[pool].free.push(Freed { address, len, moment });
            }
            return Err(full);
        }
        Ok(match taken {
            Some((address, _)) => address,
            None => self.memory.fresh_address(len),
        })
    }

    /// Returns an address that is being freed by pending work of other streams, together with the
    /// frees that the allocation must wait for. "the driver will look for memory that relies on
    /// another stream's pending progress. If such memory is found, the driver will insert the
    /// required dependency into the allocating stream and reuse the memory" (CUDA Programming
    /// Guide, "Stream Ordered Memory Allocator", internal stream dependencies).
    fn pool_allocate_behind_frees(
        &mut self,
        pool: usize,
        len: usize,
    ) -> Option<(u64, Vec<Moment>)> {
        let [_, _, internal_dependencies] = self.pools[pool].reuse;
        if internal_dependencies == 0 {
            return None;
        }
        let before = self.pools[pool].free.clone();
        let allocated = self.take_pending(pool, len);
        if allocated.is_none() {
            self.pools[pool].free = before;
        }
        allocated
    }

    /// Takes the smallest range with a pending free that is large enough. If there is none, takes
    /// the pages of several ranges, in the order of their frees.
    fn take_pending(&mut self, pool: usize, len: usize) -> Option<(u64, Vec<Moment>)> {
        let entries = self.pools[pool].free.iter_mut();
        let pending = entries.filter(|freed| freed.moment.is_some() && freed.len >= len);
        if let Some(freed) = pending.min_by_key(|freed| (freed.len, freed.address)) {
            let (address, moment) = (freed.address, freed.moment.clone());
            (freed.address, freed.len) = (address + len as u64, freed.len - len);
            self.pools[pool].free.retain(|freed| freed.len > 0);
            return self
                .pool_grow(pool, len)
                .ok()
                .map(|()| (address, moment.into_iter().collect()));
        }
        let mut moments = Vec::new();
        loop {
            let free = &mut self.pools[pool].free;
            let next = free.iter().position(|freed| freed.moment.is_some())?;
            moments.extend(free.remove(next).moment);
            if self.pool_grow(pool, len).is_ok() {
                return Some((self.memory.fresh_address(len), moments));
            }
        }
    }

    /// Returns the smallest freed range that is large enough and whose free has finished or
    /// precedes the stream's next operation.
    fn freed_for(&self, pool: usize, stream: usize, len: usize) -> Option<usize> {
        let mut clock = self.streams[stream].clock.clone();
        clock.join(&self.host_clock);
        let [behind_events, once_done, _] = self.pools[pool].reuse.map(|allowed| allowed != 0);
        let comes_before = |freed: &Freed| {
            freed.moment.as_ref().is_none_or(|moment| {
                let same_stream = moment.position.stream == stream;
                same_stream
                    || (behind_events && clock.includes(&moment.clock))
                    || (once_done && self.is_done(moment.position))
            })
        };
        let entries = self.pools[pool].free.iter().enumerate();
        let fitting = entries.filter(|(_, freed)| freed.len >= len && comes_before(freed));
        fitting.min_by_key(|(_, freed)| (freed.len, freed.address)).map(|(index, _)| index)
    }

    fn pool_grow(&mut self, pool: usize, len: usize) -> Outcome<()> {
        let (used, reserved) = (self.pools[pool].used, self.pools[pool].reserved);
        let device = self.pools[pool].device;
        let limit = self.devices[device].limit;
        if len > limit {
            return Err(Code::OUT_OF_MEMORY);
        }
        let grow = |world: &mut Self| {
            let own = &mut world.pools[pool];
            own.used = used + len;
            own.reserved = own.reserved.max(own.needed());
            let within = own.maximum == 0 || own.reserved <= own.maximum;
            within && world.taken(device) <= limit
        };
        if !grow(self) {
            (self.pools[pool].used, self.pools[pool].reserved) = (used, reserved);
            self.release_unused_pool_memory(device);
            let reserved = self.pools[pool].reserved;
            if !grow(self) {
                (self.pools[pool].used, self.pools[pool].reserved) = (used, reserved);
                return Err(Code::OUT_OF_MEMORY);
            }
        }
        let own = &mut self.pools[pool];
        own.used_high = own.used_high.max(own.used);
        own.reserved_high = own.reserved_high.max(own.reserved);
        Ok(())
    }

    /// Returns memory to its pool.
    pub(crate) fn pool_freed(&mut self, pool: usize, region: Region, moment: Option<Moment>) {
        let len = region.len.next_multiple_of(UNIT);
        self.pools[pool].used -= len;
        self.pools[pool].free.push(Freed { address: region.start, len, moment });
    }

    fn forget_done_frees(&mut self, pool: usize) {
        let mut free = std::mem::take(&mut self.pools[pool].free);
        for freed in &mut free {
            let done = freed.moment.as_ref().is_none_or(|moment| self.is_done(moment.position));
            if done {
                freed.moment = None;
            }
        }
        self.pools[pool].free = free;
    }

    /// Releases the memory that pools hold above their thresholds, after the host has waited.
    pub(crate) fn settle_pools(&mut self) {
        for pool in 0..self.pools.len() {
            self.forget_done_frees(pool);
            let keep = usize::try_from(self.pools[pool].threshold).unwrap_or(usize::MAX);
            let reserved = self.pools[pool].reserved;
            if reserved > keep {
                self.pools[pool].shrink(keep);
            }
        }
    }

    /// Releases the unused memory of all pools before the device is treated as full.
    pub(crate) fn release_unused_pool_memory(&mut self, device: usize) {
        for pool in 0..self.pools.len() {
            if self.pools[pool].device == device {
                self.forget_done_frees(pool);
                self.pools[pool].shrink(0);
            }
        }
    }
}
