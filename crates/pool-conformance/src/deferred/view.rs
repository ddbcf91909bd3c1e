//! Views of deferred memory. A view consists of a block, an offset, a length, and a slot. Work on
//! another queue arms the view's slot.

use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;
use std::mem::{MaybeUninit, transmute_copy};
use std::rc::Rc;

use pool_core::{
    Element, LendView, PodElement, PoolBackend, PoolView, PoolViewMut, ShapeError, SlotRef,
    ViewError, bytemuck,
};

use super::flaw::ViewFlaw;
use super::lane::{Command, DeferredBlock};

/// An exclusive view of elements in deferred memory.
pub struct DeferredView<'s, T> {
    range: ElementRange<T>,
    slot: AnySlot,
    elements: PhantomData<&'s mut [T]>,
}

/// A shared view of elements in deferred memory.
pub struct DeferredViewRef<'s, T> {
    range: ElementRange<T>,
    elements: PhantomData<&'s [T]>,
}

/// A range of elements in a block. Exclusive views and shared views both contain an `ElementRange`.
struct ElementRange<T> {
    block: DeferredBlock,
    /// The first element's offset in the block, in bytes.
    offset: usize,
    length: usize,
    element: PhantomData<T>,
}

impl<T> Clone for DeferredViewRef<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DeferredViewRef<'_, T> {}

impl<T> Clone for ElementRange<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for ElementRange<T> {}

impl<'s, T: Element> DeferredView<'s, T> {
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::view`]. During `'s`, the slot must
    /// contain the block, and no other view of these elements may exist.
    pub(crate) unsafe fn new(block: DeferredBlock, slot: AnySlot, length: usize) -> Self {
        Self { range: ElementRange::new(block, length), slot, elements: PhantomData }
    }

    /// Returns the view's start address in the same form as [`DeferredBlock::address`].
    #[must_use]
    pub fn address(&self) -> usize {
        self.range.address()
    }

    /// Enqueues a write of `elements`. The number of elements in `elements` must equal the view's
    /// length.
    pub fn write(&mut self, elements: &[T]) {
        self.range.enqueue(|block, offset| Command::Write {
            block,
            offset,
            bytes: elements_bytes(elements).to_vec(),
        });
    }

    /// Writes `elements` immediately, before any enqueued work runs. The number of elements in
    /// `elements` must equal the view's length. Only faulty backends call `write_at_once`.
    pub(crate) fn write_at_once(&mut self, elements: &[T]) {
        let Some(buffer) = self.range.block.buffer() else { return };
        let ElementRange { block, offset, .. } = self.range;
        buffer.lane.run(Command::Write { block, offset, bytes: elements_bytes(elements).to_vec() });
    }

    /// Enqueues a write on another queue so that the pool cannot see the write. The write runs
    /// after all commands that have already been enqueued on this queue.
    pub fn write_elsewhere(&mut self, elements: &[T]) {
        let Some(buffer) = self.range.block.buffer() else { return };
        let ElementRange { block, offset, .. } = self.range;
        // SAFETY: the view is in use. The current thread owns the pool, because a view is not
        // `Send`.
        unsafe { self.slot.arm() };
        let bytes = elements_bytes(elements).to_vec();
        buffer.lane.push_elsewhere(Command::Write { block, offset, bytes });
    }

    /// Waits until all enqueued commands have run, and then returns the view's elements.
    #[must_use]
    pub fn read(&self) -> Vec<T> {
        self.range.read_later()()
    }

    /// Enqueues a command that reads the view. The returned function waits for this command and
    /// returns the elements.
    #[must_use]
    pub fn read_later(&self) -> Box<dyn FnOnce() -> Vec<T>> {
        Box::new(self.range.read_later())
    }
}

impl<'s, T: Element> DeferredViewRef<'s, T> {
    /// # Safety
    ///
    /// The caller must meet the requirements of [`PoolBackend::view_ref`].
    pub(crate) unsafe fn new(block: DeferredBlock, length: usize) -> Self {
        Self { range: ElementRange::new(block, length), elements: PhantomData }
    }

    /// Returns the view shifted by `bytes` bytes. Only faulty backends call `moved_by`.
    pub(crate) fn moved_by(mut self, bytes: usize) -> Self {
        self.range.offset += bytes;
        self
    }

    /// Returns the view's start address in the same form as [`DeferredBlock::address`].
    #[must_use]
    pub fn address(&self) -> usize {
        self.range.address()
    }

    /// Waits until all enqueued commands have run, and then returns the view's elements.
    #[must_use]
    pub fn read(&self) -> Vec<T> {
        self.range.read_later()()
    }

    /// Enqueues a command that reads the view. The returned function waits for this command and
    /// returns the elements.
    #[must_use]
    pub fn read_later(&self) -> Box<dyn FnOnce() -> Vec<T>> {
        Box::new(self.range.read_later())
    }
}

impl<T> ElementRange<T> {
    /// Returns `true` if views of this block make the given deliberate mistake.
    fn has(&self, flaw: ViewFlaw) -> bool {
        self.block.buffer().is_some_and(|buffer| buffer.lane.flaw.get() == flaw)
    }

    /// Checks that a copy is valid, given the number of elements in its source and its target.
    fn check_lengths(&self, from: usize, to: usize) -> Result<(), ViewError> {
        if from == to || self.has(ViewFlaw::CopiesAnyLength) {
            Ok(())
        } else {
            Err(ShapeError::CopyMismatch { from, to }.into())
        }
    }
}

impl<T: Element> ElementRange<T> {
    fn new(block: DeferredBlock, length: usize) -> Self {
        Self { block, offset: 0, length, element: PhantomData }
    }

    fn address(&self) -> usize {
        self.block.address() + self.offset
    }

    /// Enqueues a command. The command runs after all work on the block that other queues have
    /// enqueued.
    fn enqueue(&self, command: impl FnOnce(DeferredBlock, usize) -> Command) {
        if let Some(buffer) = self.block.buffer() {
            buffer.lane.join(self.block);
            buffer.lane.push(command(self.block, self.offset));
        }
    }

    /// Returns a command that reads the view, and the cell that receives the bytes.
    fn reading(&self) -> (Command, Rc<RefCell<Vec<u8>>>) {
        let Self { block, offset, length, .. } = *self;
        let bytes = length * size_of::<T>();
        let found = Rc::new(RefCell::new(vec![0; bytes]));
        (Command::Read { block, offset, bytes, into: Rc::clone(&found) }, found)
    }

    /// Enqueues a command that reads the view, and returns the cell that receives the bytes.
    fn enqueue_read(&self) -> Rc<RefCell<Vec<u8>>> {
        let (read, found) = self.reading();
        self.enqueue(|_, _| read);
        found
    }

    /// Reads the elements and returns them to the host.
    fn read_for_host(&self) -> Vec<T> {
        if let (true, Some(buffer)) = (self.has(ViewFlaw::ReadsEarly), self.block.buffer()) {
            let (read, found) = self.reading();
            buffer.lane.run(read);
            return elements(&found.borrow(), self.length);
        }
        self.read_later()()
    }

    fn read_later(&self) -> impl FnOnce() -> Vec<T> + use<T> {
        if let Some(buffer) = self.block.buffer() {
            buffer.lane.push_postponed();
        }
        let (length, found) = (self.length, self.enqueue_read());
        let lane = self.block.buffer().map(|buffer| Rc::clone(&buffer.lane));
        move || {
            if let Some(lane) = lane {
                lane.wait();
            }
            elements(&found.borrow(), length)
        }
    }
}

/// Returns the bytes of the elements as a slice.
pub(crate) fn elements_bytes<T: Element>(elements: &[T]) -> &[u8] {
    if size_of::<T>() == 0 { &[] } else { bytemuck::cast_slice(elements) }
}

/// Converts bytes to `length` elements.
fn elements<T: Element>(bytes: &[u8], length: usize) -> Vec<T> {
    let mut elements = vec![T::zeroed(); length];
    let to = elements.as_mut_ptr().cast::<u8>();
    // SAFETY: the vector contains `length` elements. The `bytes` that the callers pass represent
    // exactly `length` elements. The bytes are valid for `T` because they are either zeros or
    // copies of elements of type `T`.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    elements
}

impl<T> PoolViewMut for DeferredView<'_, T> {
    fn fill_with_value(&mut self, value: T) -> Result<(), ViewError>
    where
        T: Element,
    {
        let elements = vec![value; self.range.length];
        if self.range.has(ViewFlaw::FillsEarly) {
            self.write_at_once(&elements);
        } else {
            self.write(&elements);
        }
        Ok(())
    }

    fn fill_with_zeros(&mut self) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.fill_with_value(T::zeroed())
    }

    fn copy_from_host(&mut self, source: &[T]) -> Result<(), ViewError>
    where
        T: Element,
    {
        self.range.check_lengths(source.len(), self.range.length)?;
        self.write(source);
        Ok(())
    }

    fn copy_from<'a>(&mut self, source: DeferredViewRef<'a, T>) -> Result<(), ViewError>
    where
        Self: 'a,
        T: Element,
    {
        self.range.check_lengths(source.range.length, self.range.length)?;
        let short = usize::from(self.range.has(ViewFlaw::CopiesShort)).min(source.range.length);
        let source = ElementRange { length: source.range.length - short, ..source.range };
        let (Some(from), Some(to)) = (source.block.buffer(), self.range.block.buffer()) else {
            return Ok(());
        };
        if self.range.has(ViewFlaw::CopiesWhenRead) {
            let ((read, found), ElementRange { block, offset, .. }) =
                (source.reading(), self.range);
            to.lane.postpone([read, Command::WriteFound { block, offset, found }]);
            return Ok(());
        }
        let found = source.enqueue_read();
        // Only a wait can order the commands of two queues.
        if !Rc::ptr_eq(&from.lane, &to.lane) && !self.range.has(ViewFlaw::CopiesAcrossEarly) {
            from.lane.wait();
        }
        self.range.enqueue(|block, offset| Command::WriteFound { block, offset, found });
        Ok(())
    }
}

impl<'a, T> LendView<'a> for DeferredViewRef<'_, T> {
    type Shared = DeferredViewRef<'a, T>;
    type Same = DeferredViewRef<'a, T>;

    fn reborrow(&'a mut self) -> DeferredViewRef<'a, T> {
        self.as_view()
    }

    fn as_view(&'a self) -> DeferredViewRef<'a, T> {
        let start = self.range.has(ViewFlaw::LendsStart);
        let offset = if start { 0 } else { self.range.offset };
        DeferredViewRef { range: ElementRange { offset, ..self.range }, elements: PhantomData }
    }
}

impl<'a, T> LendView<'a> for DeferredView<'_, T> {
    type Shared = DeferredViewRef<'a, T>;
    type Same = DeferredView<'a, T>;

    fn as_view(&'a self) -> DeferredViewRef<'a, T> {
        DeferredViewRef { range: self.range, elements: PhantomData }
    }

    fn reborrow(&'a mut self) -> DeferredView<'a, T> {
        DeferredView { range: self.range, slot: self.slot, elements: PhantomData }
    }
}

/// Implements the traits shared by both kinds of views.
macro_rules! both_kinds {
    ($view:ident { $($field:ident),* }) => {
        impl<T> PoolView for $view<'_, T> {
            type Element = T;
            type Error = ViewError;

            fn copy_to_host(&self, destination: &mut [T]) -> Result<(), ViewError>
            where
                T: PodElement,
            {
                self.range.check_lengths(self.range.length, destination.len())?;
                let found = self.range.read_for_host();
                destination.iter_mut().zip(found).for_each(|(to, of)| *to = of);
                Ok(())
            }

            fn copy_to_vec(&self) -> Result<Vec<T>, ViewError>
            where
                T: PodElement,
            {
                Ok(self.range.read_for_host())
            }

            fn len(&self) -> usize {
                self.range.length
            }

            fn into_split_at(self, index: usize) -> Result<(Self, Self), ShapeError> {
                let ElementRange { block, offset, length, element } = self.range;
                let anywhere = self.range.has(ViewFlaw::SplitsAnywhere);
                let index = if anywhere { index.min(length) } else { index };
                let Some(rest) = length.checked_sub(index) else {
                    return Err(ShapeError::SplitOutOfRange { asked: index, extent: length });
                };
                let late = usize::from(self.range.has(ViewFlaw::PartsLate));
                let after = offset + (index + late) * size_of::<T>();
                let before = ElementRange { length: index, ..self.range };
                let after = ElementRange { block, offset: after, length: rest, element };
                let view = |range| Self { range, $($field: self.$field,)* elements: PhantomData };
                Ok((view(before), view(after)))
            }
        }

        impl<T> fmt::Debug for $view<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($view))
                    .field("block", &self.range.block)
                    .field("offset", &self.range.offset)
                    .field("length", &self.range.length)
                    .finish_non_exhaustive()
            }
        }
    };
}

both_kinds!(DeferredView { slot });
both_kinds!(DeferredViewRef {});

/// The slot of a view. The slot belongs to a pool that uses
/// [`DeferredBackend`](super::DeferredBackend) or a backend that wraps it.
#[derive(Clone, Copy)]
pub(crate) struct AnySlot {
    slot: MaybeUninit<*const ()>,
    arm: unsafe fn(MaybeUninit<*const ()>),
}

impl AnySlot {
    pub(crate) fn new<B: PoolBackend>(slot: SlotRef<B>) -> Self {
        const { assert!(size_of::<SlotRef<B>>() == size_of::<*const ()>()) };
        // SAFETY: an assertion checks that both types have the same size. A `MaybeUninit` may
        // contain any bytes.
        Self { slot: unsafe { transmute_copy(&slot) }, arm: arm::<B> }
    }

    /// # Safety
    ///
    /// The caller must meet the requirements of [`SlotRef::arm`].
    unsafe fn arm(self) {
        // SAFETY: `new` stored the slot together with the function for the slot's type. The caller
        // upholds the contract of `SlotRef::arm`.
        unsafe { (self.arm)(self.slot) };
    }
}

/// # Safety
///
/// The bytes must represent a `SlotRef<B>`, and the caller must meet the requirements of
/// [`SlotRef::arm`].
unsafe fn arm<B: PoolBackend>(slot: MaybeUninit<*const ()>) {
    // SAFETY: the caller guarantees that the bytes represent a `SlotRef<B>`.
    let slot: SlotRef<B> = unsafe { transmute_copy(&slot) };
    // SAFETY: the caller upholds the contract of `SlotRef::arm`.
    unsafe { slot.arm() };
}
