//! Heap memory that is bound to its thread, logs its events, and hands freed blocks out again at
//! the same address. On request, it fails in `free` and in every write.

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::cell::{Cell, RefCell};
use std::fmt;
use std::ptr::NonNull;
use std::rc::Rc;

use pool_conformance::{HeapBackend, RefusalError};
use pool_core::{
    Advice, Device, Element, HostBackend, Pool, PoolBackend, PoolConfig, Reuse, SlotRef, Slots,
    ViewError,
};

/// Heap memory of one thread, with a log and [`Switches`].
#[derive(Debug)]
pub(crate) struct Logged;

/// The events, in order, on this thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Allocated { address: usize, bytes: usize },
    FreeCalled { address: usize, bytes: usize },
    DescriptorDropped,
    ContextDropped,
}

thread_local! {
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

fn log(event: Event) {
    EVENTS.with_borrow_mut(|events| events.push(event));
}

/// The events since the last call.
pub(crate) fn take_events() -> Vec<Event> {
    EVENTS.take()
}

/// The planted misbehaviour of the backend.
#[derive(Default)]
pub(crate) struct Switches {
    /// `free` panics, once, before it does anything.
    pub(crate) panic_in_free: Cell<bool>,
    /// Setting, filling and copying fail.
    pub(crate) fail_writes: Cell<bool>,
    /// Runs in every `free`.
    pub(crate) in_free: RefCell<Option<Rc<dyn Fn()>>>,
}

/// The context: a reference count that is not atomic, so it is bound to its thread.
#[derive(Debug)]
pub(crate) struct Watch {
    switches: Rc<Switches>,
    /// Every block that was ever allocated: addresses stay as long as the context.
    memory: RefCell<Vec<Memory>>,
}

impl fmt::Debug for Switches {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Switches").finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct Memory {
    block: NonNull<u8>,
    bytes: usize,
    idle: bool,
}

impl Drop for Watch {
    fn drop(&mut self) {
        log(Event::ContextDropped);
        for Memory { block, bytes, .. } in self.memory.take() {
            // SAFETY: allocated in `allocate` with this layout; the pool is dropped, so nothing
            // uses it.
            unsafe { dealloc(block.as_ptr(), layout(bytes)) };
        }
    }
}

fn layout(bytes: usize) -> Layout {
    Layout::from_size_align(bytes, Logged::ALIGN).unwrap()
}

/// Logs its drop.
#[derive(Debug, Default)]
pub(crate) struct Descriptor;

impl Drop for Descriptor {
    fn drop(&mut self) {
        log(Event::DescriptorDropped);
    }
}

/// A pool of logged memory and its switches; the log starts empty.
pub(crate) fn logged_pool(config: PoolConfig) -> (Pool<Logged>, Rc<Switches>) {
    take_events();
    let switches = Rc::<Switches>::default();
    let watch = Watch { switches: Rc::clone(&switches), memory: RefCell::default() };
    (Pool::with_config(watch, config).unwrap(), switches)
}

fn written(watch: &Watch, bytes: usize) -> Result<(), RefusalError> {
    if watch.switches.fail_writes.get() { Err(RefusalError { bytes }) } else { Ok(()) }
}

// SAFETY: blocks are zeroed when first allocated and no view makes them uninitialised. They stay in
// place, and an idle one has no owner, until the context is dropped. The context is not `Send`.
// Only `free` breaks the contract, and only on request: it unwinds before it has done anything, so
// that the pool's reaction can be tested.
unsafe impl PoolBackend for Logged {
    type Layout = Slots;
    type Context = Watch;
    type Block = NonNull<u8>;
    type View<'s, T: Element> = &'s mut [T];
    type ViewRef<'s, T: Element> = &'s [T];
    type Descriptor = Descriptor;
    type Error = RefusalError;
    type ViewError = ViewError;

    const ALIGN: usize = HeapBackend::ALIGN;
    const DANGLING: NonNull<u8> = HeapBackend::DANGLING;

    fn device(_: &Watch) -> Device {
        Device { kind: "logged", ordinal: Some(3) }
    }

    fn allocate(watch: &Watch, bytes: usize, _: Advice) -> Result<NonNull<u8>, RefusalError> {
        let mut memory = watch.memory.borrow_mut();
        let idle = memory.iter_mut().rev().find(|memory| memory.idle && memory.bytes == bytes);
        let block = if let Some(idle) = idle {
            idle.idle = false;
            // SAFETY: allocated below with the same bytes, and without an owner since it was freed.
            // Its last owner may have left bytes uninitialised.
            unsafe { idle.block.write_bytes(0, bytes) };
            idle.block
        } else {
            // SAFETY: the pool asks for at least one byte.
            let pointer = unsafe { alloc_zeroed(layout(bytes)) };
            let block = NonNull::new(pointer).ok_or(RefusalError { bytes })?;
            memory.push(Memory { block, bytes, idle: false });
            block
        };
        log(Event::Allocated { address: block.addr().get(), bytes });
        Ok(block)
    }

    unsafe fn free(watch: &Watch, block: NonNull<u8>, bytes: usize) {
        log(Event::FreeCalled { address: block.addr().get(), bytes });
        assert!(!watch.switches.panic_in_free.take(), "free was told to panic");
        let hook = watch.switches.in_free.borrow().clone();
        if let Some(hook) = hook {
            hook();
        }
        let mut memory = watch.memory.borrow_mut();
        let live = memory.iter_mut().find(|memory| memory.block == block && !memory.idle);
        let live = live.expect("freed twice, or never allocated");
        assert_eq!(live.bytes, bytes, "freed with other bytes than allocated");
        live.idle = true;
    }

    unsafe fn view<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s mut [T] {
        // SAFETY: the caller guarantees `length` valid elements, exclusively for `'s`.
        unsafe { std::slice::from_raw_parts_mut(block.cast().as_ptr(), length) }
    }

    unsafe fn view_ref<'s, T: Element>(
        block: NonNull<u8>,
        _: SlotRef<Self>,
        length: usize,
    ) -> &'s [T] {
        // SAFETY: as in `view`, shared.
        unsafe { std::slice::from_raw_parts(block.cast().as_ptr(), length) }
    }

    unsafe fn reuse(_: &Watch, _: NonNull<u8>, _: Reuse) -> Result<(), RefusalError> {
        Ok(())
    }

    unsafe fn set_bytes(
        watch: &Watch,
        block: NonNull<u8>,
        value: u8,
        bytes: usize,
    ) -> Result<(), RefusalError> {
        written(watch, bytes)?;
        // SAFETY: the block holds `bytes` bytes and nothing views it (caller).
        unsafe { block.write_bytes(value, bytes) };
        Ok(())
    }

    unsafe fn fill<T: Element>(
        watch: &Watch,
        block: NonNull<u8>,
        value: T,
        length: usize,
    ) -> Result<(), RefusalError> {
        written(watch, length * size_of::<T>())?;
        for index in 0..length {
            // SAFETY: the block holds `length` elements (caller).
            let place = unsafe { block.cast::<T>().add(index) };
            // SAFETY: within the block, aligned by `ALIGN`, and viewed by nothing (caller).
            unsafe { place.write(value) };
        }
        Ok(())
    }

    unsafe fn copy_from_host<T: Element>(
        watch: &Watch,
        block: NonNull<u8>,
        source: &[T],
    ) -> Result<(), RefusalError> {
        written(watch, size_of_val(source))?;
        let from = NonNull::from(source).cast::<T>();
        // SAFETY: the block holds `source.len()` elements (caller); a live slice is no part of it.
        unsafe { block.cast::<T>().copy_from_nonoverlapping(from, source.len()) };
        Ok(())
    }
}

// SAFETY: a block is a pointer to host memory, valid for all of its bytes and aligned; the dangling
// one is aligned.
unsafe impl HostBackend for Logged {
    fn host_pointer(block: NonNull<u8>) -> *mut u8 {
        block.as_ptr()
    }
}
