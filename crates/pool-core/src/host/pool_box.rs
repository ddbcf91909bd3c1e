//! Defines boxes that store values in a scope's memory. A box owns either one value or a slice of
//! values, and the values may implement `Drop`.

use core::fmt;
use core::marker::PhantomData;
use core::mem::{self, ManuallyDrop};
use core::ops::{Deref, DerefMut};
use core::ptr::{self, NonNull};

use super::plain::is_known_plain;
use crate::backend::{ArrayMemory, HostBackend, ScopeCursor};
use crate::error::{PoolError, panic_with};
use crate::scope::Scope;

/// An owned value or an owned slice of values in a scope. Dropping the box drops its value. If the
/// box owns a slice, the values are dropped from the last to the first.
///
/// [`Scope::boxed`] and [`Scope::boxed_slice`] create a `PoolBox`. The value may be of any type,
/// such as a file, a guard, or a `String` or `Vec` on the heap. If a box is forgotten or leaked,
/// its value is not dropped, but its memory still returns to the scope.
///
/// A box is a single pointer. It does not borrow the scope, so inner scopes can be opened while the
/// box exists. Like an array, each box uses its own slot. For many small values, such as the nodes
/// of a tree, use `allocator_api2`'s `Box` with [`Scope::allocator`], which stores many values in
/// one slot.
///
/// ```
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let mut scope = pool.scope();
/// let mut names = scope.boxed_slice(3, |i| format!("part {i}"));
/// names[0].push_str(" of 3");
/// let longest = {
///     let inner = scope.scope();
///     inner.boxed(names.iter().map(String::len).max()).unwrap_or(0)
/// };
/// assert_eq!((longest, &*names[0]), (11, "part 0 of 3"));
/// ```
///
/// A box cannot outlive its pool:
///
/// ```compile_fail,E0597
/// # use pool_conformance::HeapBackend as Memory;
/// let name = {
///     let mut pool = pool_core::Pool::<Memory>::new(Default::default());
///     pool.scope().boxed(String::from("gone")) // box_carried_out_of_its_pool
/// };
/// assert!(name.is_empty());
/// ```
///
/// The value cannot outlive the data to which it refers, because dropping the value may use that
/// data:
///
/// ```compile_fail,E0597
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// struct Shows<'a>(&'a str);
/// impl Drop for Shows<'_> {
///     fn drop(&mut self) {
///         assert_eq!(self.0, "text");
///     }
/// }
/// let scope = pool.scope();
/// let shows;
/// {
///     let text = String::from("text");
///     shows = scope.boxed(Shows(&text)); // value_outlives_what_it_refers_to
/// }
/// ```
///
/// A box implements `Send` only if its value does:
///
/// ```compile_fail,E0277
/// # use pool_conformance::HeapBackend as Memory;
/// # let mut pool = pool_core::Pool::<Memory>::new(Default::default());
/// let scope = pool.scope();
/// let shared = scope.boxed(std::rc::Rc::new(1));
/// std::thread::scope(|threads| {
///     threads.spawn(move || drop(shared)); // unsendable_value_to_thread
/// });
/// ```
pub struct PoolBox<'s, T: ?Sized + Boxable> {
    /// An initialized value that belongs only to this box and whose memory is valid for `'s`.
    value: NonNull<T>,
    owner: PhantomData<(&'s (), T)>,
}

// SAFETY: the box owns its value, and no other code uses the value's memory during `'s`.
unsafe impl<T: ?Sized + Boxable + Send> Send for PoolBox<'_, T> {}

// SAFETY: a shared reference to the box provides access only to a `&T`.
unsafe impl<T: ?Sized + Boxable + Sync> Sync for PoolBox<'_, T> {}

/// A trait that is implemented only in this module.
pub trait SealedBoxable {
    /// Drops the value. If the value is a slice, its elements are dropped from the last to the
    /// first.
    ///
    /// # Safety
    ///
    /// The requirements of [`ptr::drop_in_place`] apply.
    unsafe fn drop_in_reverse(this: *mut Self);
}

/// The types that a [`PoolBox`] can own, namely all sized types and slices of sized types. The
/// trait is sealed.
pub trait Boxable: SealedBoxable {}

impl<T> Boxable for T {}
impl<T> Boxable for [T] {}

impl<T> SealedBoxable for T {
    #[inline]
    unsafe fn drop_in_reverse(this: *mut Self) {
        // SAFETY: the caller upholds the safety contract of `ptr::drop_in_place`.
        unsafe { ptr::drop_in_place(this) };
    }
}

impl<T> SealedBoxable for [T] {
    #[inline]
    unsafe fn drop_in_reverse(this: *mut Self) {
        drop(Values { start: this.cast::<T>(), length: this.len() });
    }
}

/// Consecutive values that are dropped from the last to the first. If dropping one value panics,
/// the remaining values are still dropped.
struct Values<T> {
    start: *mut T,
    /// The number of values that are initialized and have not yet been dropped.
    length: usize,
}

impl<T> Values<T> {
    /// Drops the values one at a time. The count is decremented before each value is dropped,
    /// because the drop might panic.
    fn drop_all(&mut self) {
        while let Some(last) = self.length.checked_sub(1) {
            self.length = last;
            // SAFETY: the index is less than the number of values.
            let value = unsafe { self.start.add(last) };
            // SAFETY: the value was initialized and is dropped only once, because the count no
            // longer includes it.
            unsafe { ptr::drop_in_place(value) };
        }
    }
}

impl<T> Drop for Values<T> {
    fn drop(&mut self) {
        /// A guard that continues dropping values after a panic. A second panic aborts the process.
        struct GoOn<'a, T>(&'a mut Values<T>);
        impl<T> Drop for GoOn<'_, T> {
            fn drop(&mut self) {
                self.0.drop_all();
            }
        }
        if mem::needs_drop::<T>() {
            let values = GoOn(self);
            values.0.drop_all();
        }
    }
}

impl<'s, B: HostBackend> Scope<'s, B> {
    /// Moves a value of any type into the scope. Dropping the returned box drops the value.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_boxed`](Self::try_boxed) would return.
    #[inline]
    #[track_caller]
    pub fn boxed<T: 's>(&self, value: T) -> PoolBox<'s, T> {
        self.cursor.note_caller();
        self.try_boxed(value).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`boxed`](Self::boxed).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire). If an error is returned, the
    /// value is dropped.
    #[inline]
    pub fn try_boxed<T: 's>(&self, value: T) -> Result<PoolBox<'s, T>, PoolError<B::Error>> {
        // SAFETY: only a value of `T` is written to the memory.
        let memory = unsafe { self.take_unwritten::<T>(1, is_known_plain::<T>()) }?;
        let place = memory.start::<T>();
        // SAFETY: the memory was acquired for one value of `T` and is aligned for `T`, and no view
        // of it exists.
        unsafe { place.write(value) };
        // SAFETY: a block's address is never null.
        let value = unsafe { NonNull::new_unchecked(place) };
        Ok(PoolBox { value, owner: PhantomData })
    }

    /// Creates `length` values by calling `element(index)` for each index in ascending order.
    /// Dropping the returned box drops the values from the last to the first.
    ///
    /// The `element` closure may acquire arrays from the scope. If `element` panics, the values
    /// that have already been created are dropped.
    ///
    /// # Panics
    ///
    /// Panics with the error that [`try_boxed_slice`](Self::try_boxed_slice) would return.
    #[inline]
    #[track_caller]
    pub fn boxed_slice<T: 's>(
        &self,
        length: usize,
        element: impl FnMut(usize) -> T,
    ) -> PoolBox<'s, [T]> {
        self.cursor.note_caller();
        self.try_boxed_slice(length, element).unwrap_or_else(|error| panic_with(&error))
    }

    /// The fallible version of [`boxed_slice`](Self::boxed_slice).
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`try_acquire`](Self::try_acquire). If an error is returned,
    /// `element` is not called.
    #[inline]
    pub fn try_boxed_slice<T: 's>(
        &self,
        length: usize,
        mut element: impl FnMut(usize) -> T,
    ) -> Result<PoolBox<'s, [T]>, PoolError<B::Error>> {
        // SAFETY: only values of `T` are written to the memory.
        let memory = unsafe { self.take_unwritten::<T>(length, is_known_plain::<T>()) }?;
        let start = memory.start::<T>();
        let mut values = Values { start, length: 0 };
        while values.length < length {
            let value = element(values.length);
            // SAFETY: the memory was acquired for `length` values. The cursor has moved past the
            // memory, so arrays that `element` acquired do not overlap it.
            let place = unsafe { start.add(values.length) };
            // SAFETY: the position is within the acquired memory, and the block is aligned for `T`.
            unsafe { place.write(value) };
            values.length += 1;
        }
        mem::forget(values);
        let slice = ptr::slice_from_raw_parts_mut(start, length);
        // SAFETY: a block's address is never null.
        let value = unsafe { NonNull::new_unchecked(slice) };
        Ok(PoolBox { value, owner: PhantomData })
    }
}

impl<'s, T> PoolBox<'s, T> {
    /// Moves the value out of the box. The box's memory stays acquired until the scope ends.
    #[inline]
    #[must_use]
    pub fn into_inner(this: Self) -> T {
        let this = ManuallyDrop::new(this);
        // SAFETY: the value is initialized, and the box is not dropped, so the value is not used
        // again.
        unsafe { this.value.read() }
    }
}

impl<'s, T: ?Sized + Boxable> PoolBox<'s, T> {
    /// Returns a reference to the value. The reference remains valid for as long as the scope's
    /// views do, and the value is never dropped.
    #[inline]
    #[must_use]
    pub fn leak(this: Self) -> &'s mut T {
        let mut this = ManuallyDrop::new(this);
        // SAFETY: the value is initialized, its memory is valid for `'s`, and only this box owned
        // it.
        unsafe { this.value.as_mut() }
    }
}

impl<T: ?Sized + Boxable> Drop for PoolBox<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the value is initialized, and no code uses it after the drop.
        unsafe { T::drop_in_reverse(self.value.as_ptr()) };
    }
}

impl<T: ?Sized + Boxable> Deref for PoolBox<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: the value is initialized and belongs to this box.
        unsafe { self.value.as_ref() }
    }
}

impl<T: ?Sized + Boxable> DerefMut for PoolBox<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: the value is initialized and belongs to this box.
        unsafe { self.value.as_mut() }
    }
}

impl<T: ?Sized + Boxable + fmt::Debug> fmt::Debug for PoolBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl<T: ?Sized + Boxable + fmt::Display> fmt::Display for PoolBox<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, f)
    }
}
