//! The acquires of a forward, in their order, recorded by a backend around `Cpu` that sees each
//! view.

use std::cell::RefCell;
use std::fmt::Write;

use pool_conformance::adapted::{Adaptor, Block};
use pool_conformance::{AdaptedBackend, Element, HostBackend};
use pool_facade::{Cpu, PoolBackend};

/// `Cpu`, with a record of each view that is made in this thread.
pub(crate) type Noted = AdaptedBackend<Context>;

/// The context of [`Noted`].
#[derive(Debug)]
pub(crate) struct Context(());

thread_local! {
    static NOTED: RefCell<Vec<Acquire>> = const { RefCell::new(Vec::new()) };
}

impl Context {
    pub(crate) fn new() -> Self {
        Self(())
    }
}

/// An array: the address of its slot's block, and its bytes.
#[derive(Clone, Copy, Debug)]
struct Acquire {
    address: usize,
    bytes: usize,
}

// SAFETY: all methods but `view` are those of `Cpu`. Views of `Cpu` are slices, which do not use
// their slot, and `view` makes the same slice of the same block.
unsafe impl Adaptor for Context {
    type Inner = Cpu;
    type Descriptor = <Cpu as PoolBackend>::Descriptor;

    fn inner(&self) -> &() {
        &self.0
    }

    unsafe fn view<'s, T: Element>(
        block: Block<Self>,
        _: pool_core::SlotRef<Noted>,
        length: usize,
    ) -> &'s mut [T] {
        let start = Cpu::host_pointer(block);
        let acquire = Acquire { address: start.addr(), bytes: length * size_of::<T>() };
        NOTED.with_borrow_mut(|noted| noted.push(acquire));
        // SAFETY: the caller guarantees `length` valid elements at the block, exclusively for `'s`,
        // and blocks of `Cpu` are aligned for every element.
        unsafe { std::slice::from_raw_parts_mut(start.cast(), length) }
    }
}

/// The arrays of a forward in the order of their acquires, each with its lifetime.
#[derive(Debug)]
pub(crate) struct Acquires {
    /// The bytes of each, and its slot.
    arrays: Vec<(usize, usize)>,
}

impl Acquires {
    /// Returns the acquires of `run`, in a pool whose blocks do not move.
    ///
    /// The i-th slot is the i-th one that occurs: a slot is first used when all before it are in
    /// use.
    pub(crate) fn of<E>(run: impl FnOnce() -> Result<(), E>) -> Result<Self, E> {
        NOTED.take();
        run()?;
        let mut slots = Vec::new();
        let of_slot = |Acquire { address, bytes }| {
            let slot = slots.iter().position(|known| *known == address);
            let slot = slot.unwrap_or_else(|| {
                slots.push(address);
                slots.len() - 1
            });
            (bytes, slot)
        };
        Ok(Self { arrays: NOTED.take().into_iter().map(of_slot).collect() })
    }

    /// Bytes of all arrays.
    pub(crate) fn sum(&self) -> usize {
        self.arrays.iter().map(|(bytes, _)| bytes).sum()
    }

    /// Returns the peak of live bytes: an array lives until its slot, or one before it, is acquired
    /// again.
    pub(crate) fn peak(&self) -> usize {
        let mut live: Vec<usize> = Vec::new();
        let peaks = self.arrays.iter().map(|&(bytes, slot)| {
            live.truncate(slot);
            live.push(bytes);
            live.iter().sum()
        });
        peaks.max().unwrap_or(0)
    }

    /// Returns a log for `pool-plan replay`, whose arrays are adjacent from an address on, and their end.
    pub(crate) fn log(&self, start: usize) -> (String, usize) {
        let (mut text, mut at) = (String::new(), start);
        let mut live: Vec<(usize, usize)> = Vec::new();
        let mut note = |action, (address, bytes): (usize, usize)| {
            // Writing into a string cannot fail.
            let _ =
                writeln!(text, r#"{{"action":"{action}","address":{address},"bytes":{bytes}}}"#);
        };
        for &(bytes, slot) in &self.arrays {
            while live.len() > slot {
                live.pop().into_iter().for_each(|array| note("free", array));
            }
            live.push((at, bytes));
            note("alloc", (at, bytes));
            at += bytes.next_multiple_of(512);
        }
        live.into_iter().rev().for_each(|array| note("free", array));
        (text, at)
    }
}
