//! Devices, their primary contexts, and their free memory.

use super::World;
use super::state::handle::Kind;
use super::state::memory::{Origin, PAGE, Region};
use crate::code::{Code, Outcome};

/// Allocations below this share pages.
const LARGE: usize = 1 << 20;

/// Returns `true` if an allocation takes whole pages of a device.
fn is_large(bytes: usize) -> bool {
    bytes >= LARGE
}

impl World {
    /// Returns the device of a caller's ordinal.
    pub(crate) fn device(&self, ordinal: i32) -> Outcome<usize> {
        self.initialized()?;
        let index = usize::try_from(ordinal).map_err(|_| Code::INVALID_DEVICE)?;
        if index < self.devices.len() { Ok(index) } else { Err(Code::INVALID_DEVICE) }
    }

    pub(crate) fn initialized(&self) -> Outcome<()> {
        if self.initialized { Ok(()) } else { Err(Code::NOT_INITIALIZED) }
    }

    /// Returns the device of a thread's current context, if the context works.
    pub(crate) fn current(&self, thread: u64) -> Outcome<usize> {
        let device = self.current_even_if_broken(thread)?;
        self.devices[device].sticky.map_or(Ok(device), Err)
    }

    fn current_even_if_broken(&self, thread: u64) -> Outcome<usize> {
        self.initialized()?;
        let device = self.top(thread).ok_or(Code::INVALID_CONTEXT)?;
        let lives = self.devices[device].retained > 0;
        if lives { Ok(device) } else { Err(Code::CONTEXT_IS_DESTROYED) }
    }

    pub(crate) fn current_context(&self, thread: u64) -> Outcome<u64> {
        self.initialized()?;
        Ok(self.top(thread).map_or(0, |device| self.handles.make(Kind::Context, device)))
    }

    /// Returns the device of the context on top of a thread's stack.
    pub(super) fn top(&self, thread: u64) -> Option<usize> {
        self.threads.get(&thread)?.contexts.last().copied()
    }

    /// Returns the device of a live context.
    pub(crate) fn context(&self, handle: u64) -> Outcome<usize> {
        self.initialized()?;
        let device = self.handles.index(Kind::Context, handle).ok_or(Code::INVALID_CONTEXT)?;
        let own = self.devices.get(device).ok_or(Code::INVALID_CONTEXT)?;
        if own.retained > 0 { Ok(device) } else { Err(Code::CONTEXT_IS_DESTROYED) }
    }

    pub(crate) fn current_device(&self, thread: u64) -> Outcome<i32> {
        let device = self.current_even_if_broken(thread)?;
        i32::try_from(device).map_err(|_| Code::UNKNOWN)
    }

    /// Replaces the thread's current context; 0 removes it.
    pub(crate) fn set_current(&mut self, thread: u64, context: u64) -> Outcome<()> {
        self.initialized()?;
        let device = if context == 0 { None } else { Some(self.context(context)?) };
        let contexts = &mut self.threads.entry(thread).or_default().contexts;
        contexts.pop();
        contexts.extend(device);
        Ok(())
    }

    /// Makes a context current, and keeps the previous one below it.
    pub(crate) fn push_context(&mut self, thread: u64, context: u64) -> Outcome<()> {
        let device = self.context(context)?;
        self.threads.entry(thread).or_default().contexts.push(device);
        Ok(())
    }

    /// Pops the current context, in any state, and returns it.
    pub(crate) fn pop_context(&mut self, thread: u64) -> Outcome<u64> {
        self.initialized()?;
        let device = self.threads.entry(thread).or_default().contexts.pop();
        let device = device.ok_or(Code::INVALID_CONTEXT)?;
        Ok(self.handles.make(Kind::Context, device))
    }

    pub(crate) fn retain(&mut self, ordinal: i32) -> Outcome<u64> {
        let device = self.device(ordinal)?;
        self.devices[device].retained += 1;
        if self.devices[device].legacy.is_none() {
            let legacy = self.new_stream(device, super::state::stream::Order::Legacy, 0);
            self.devices[device].legacy = Some(legacy);
        }
        Ok(self.handles.make(Kind::Context, device))
    }

    /// Releases the primary context. The last release destroys its streams, events and memory,
    /// which must have no work left. Objects that were not freed before are reported as leaks.
    pub(crate) fn release(&mut self, ordinal: i32) -> Outcome<()> {
        let device = self.device(ordinal)?;
        let retained = &mut self.devices[device].retained;
        *retained = retained.checked_sub(1).ok_or(Code::INVALID_CONTEXT)?;
        if *retained == 0 {
            self.end_context(device);
        }
        Ok(())
    }

    /// Ends the primary context regardless of its holders; its work is done.
    pub(crate) fn reset_context(&mut self, ordinal: i32) -> Outcome<()> {
        let device = self.device(ordinal)?;
        if self.devices[device].retained > 0 {
            self.devices[device].retained = 0;
            self.end_context(device);
        }
        Ok(())
    }

    fn end_context(&mut self, device: usize) {
        self.show_printed(device);
        self.peers.forget(device);
        for line in self.leaks_of(Some(device)) {
            self.lost.push(format!("{line}, when its context ended"));
        }
        let of_device =
            |module: &usize| self.modules[*module].lives && self.modules[*module].device == device;
        let modules: Vec<usize> = (0..self.modules.len()).filter(of_device).collect();
        modules.into_iter().for_each(|module| self.end_module(module));
        for stream in self.streams.iter_mut().filter(|stream| stream.device == device) {
            stream.lives = false;
            stream.capture = None;
        }
        for event in self.events.iter_mut().filter(|event| event.device == device) {
            event.lives = false;
        }
        let own = |region: &&Region| {
            region.device == device && !matches!(region.origin, Origin::Mapped { .. })
        };
        let regions: Vec<Region> = self.memory.live().filter(own).copied().collect();
        for region in regions {
            self.memory.remove(region.start);
            match region.origin {
                Origin::Plain => self.give_back(device, region.len),
                Origin::Pool(pool) => self.pool_freed(pool, region, None),
                Origin::Graph
                | Origin::Mapped { .. }
                | Origin::Pinned
                | Origin::Registered
                | Origin::Module => continue,
            }
            self.memory.drop_block(region.block);
        }
        let own = &mut self.devices[device];
        (own.legacy, own.sticky) = (None, None);
        own.per_thread.clear();
    }

    /// Returns the memory that a device has allocated, in whole pages.
    pub(crate) fn taken(&self, device: usize) -> usize {
        let own = &self.devices[device];
        let pools = self.pools.iter().filter(|pool| pool.device == device && pool.lives);
        let pooled: usize = pools.map(|pool| pool.reserved).sum();
        own.small.next_multiple_of(PAGE) + own.large + pooled + self.graph_memory_reserved(device)
    }

    /// Free and total bytes.
    pub(crate) fn memory_information(&self, thread: u64) -> Outcome<(usize, usize)> {
        let device = self.current(thread)?;
        let limit = self.devices[device].limit;
        Ok((limit.saturating_sub(self.taken(device)), limit))
    }

    /// Takes bytes of a device. If it is full, pools release unused memory first. Fails if that is
    /// not enough.
    pub(crate) fn take(&mut self, device: usize, bytes: usize) -> Outcome<()> {
        let (small, large) = (self.devices[device].small, self.devices[device].large);
        let add = |world: &mut Self| {
            if is_large(bytes) {
                let whole = bytes.checked_next_multiple_of(PAGE).unwrap_or(usize::MAX);
                world.devices[device].large = large.saturating_add(whole);
            } else {
                world.devices[device].small =
                    small + bytes.next_multiple_of(super::state::memory::UNIT);
            }
        };
        // The check does not add first: a sum of pages must not wrap.
        let fits = |world: &Self| {
            bytes <= world.devices[device].limit
                && world.taken(device) <= world.devices[device].limit
        };
        add(self);
        if !fits(self) {
            self.release_unused_pool_memory(device);
        }
        if fits(self) {
            return Ok(());
        }
        (self.devices[device].small, self.devices[device].large) = (small, large);
        Err(Code::OUT_OF_MEMORY)
    }

    /// Returns the bytes of a `take`.
    pub(crate) fn give_back(&mut self, device: usize, bytes: usize) {
        let own = &mut self.devices[device];
        if is_large(bytes) {
            own.large -= bytes.next_multiple_of(PAGE);
        } else {
            own.small -= bytes.next_multiple_of(super::state::memory::UNIT);
        }
    }
}
