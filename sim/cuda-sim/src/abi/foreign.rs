//! Pointers from callers: destinations for results, arrays, and texts.
//!
//! No Rust code creates a value of these types: they only enter through the C interface. By CUDA's
//! documentation, a pointer is null or points to the number of values that the call states. The caller
//! keeps that memory alive, and no other code accesses the memory until the call returns. Every proof
//! in this file relies on that promise.

use std::ffi::{CStr, c_char};

use crate::code::{Code, Outcome};

/// A destination for one result or for an array of results; may be null.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Out<T>(*mut T);

/// A value or an array of values that the caller passes; may be null.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct In<T>(*const T);

/// A text that is terminated by a zero byte; may be null.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Text(*const c_char);

impl<T> Clone for Out<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Out<T> {}

impl<T> Clone for In<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for In<T> {}

impl<T: Copy> Out<T> {
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Writes a required result.
    pub(super) fn put(self, value: T) -> Outcome<()> {
        self.put_at(0, value)
    }

    /// Writes a result if the caller passed a destination for it.
    pub(super) fn put_if_wanted(self, value: T) {
        if !self.is_null() {
            // SAFETY: the caller promises that the pointer refers to writable memory for one value.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    /// Writes one entry of an array whose length the caller stated.
    pub(super) fn put_at(self, index: usize, value: T) -> Outcome<()> {
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises the number of entries that it stated, and `index` is below that
        // number.
        let place = unsafe { self.0.add(index) };
        // SAFETY: the entry is part of the caller's writable array, and an unaligned write needs no
        // alignment.
        unsafe { place.write_unaligned(value) };
        Ok(())
    }

    /// Reads the value that the pointer refers to.
    pub(super) fn get(self) -> Outcome<T> {
        In(self.0.cast_const()).get()
    }

    /// Converts into a pointer to an input of the call.
    pub(super) fn as_input(self) -> In<T> {
        In(self.0.cast_const())
    }

    /// Returns the address of one entry, for calls that CUDA allows to write after they have
    /// returned.
    pub(super) fn address_of(self, index: usize) -> u64 {
        self.0.wrapping_add(index).expose_provenance() as u64
    }

    /// Returns the same pointer with another type, for calls that state the type at run time.
    pub(super) fn of<U>(self) -> Out<U> {
        Out(self.0.cast())
    }
}

impl<T: Copy> In<T> {
    pub(super) fn is_null(self) -> bool {
        self.0.is_null()
    }

    pub(super) fn get(self) -> Outcome<T> {
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises that the pointer refers to one value of this type.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Reads one entry of an array whose length the caller stated.
    pub(super) fn get_at(self, index: usize) -> Outcome<T> {
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises the number of entries that it stated, and `index` is below that
        // number.
        let place = unsafe { self.0.add(index) };
        // SAFETY: the entry is part of the caller's array, and an unaligned read needs no
        // alignment.
        Ok(unsafe { place.read_unaligned() })
    }

    /// Returns the pointer as a number, for calls that pass a number in this parameter.
    pub(super) fn address(self) -> usize {
        self.0.addr()
    }

    /// Returns the same pointer with another type, for calls that state the type at run time.
    pub(super) fn of<U>(self) -> In<U> {
        In(self.0.cast())
    }

    /// Reads `count` values.
    pub(super) fn array(self, count: usize) -> Outcome<Vec<T>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let read = |index| {
            // SAFETY: the caller promises `count` values, and `index` is below `count`.
            let place = unsafe { self.0.add(index) };
            // SAFETY: the entry is part of the caller's array, and an unaligned read needs no
            // alignment.
            unsafe { place.read_unaligned() }
        };
        Ok((0..count).map(read).collect())
    }
}

impl Text {
    pub(super) fn is_null(&self) -> bool {
        self.0.is_null()
    }

    pub(super) fn get(&self) -> Outcome<String> {
        if self.0.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises a text that is terminated by a zero byte.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| Code::INVALID_VALUE)
    }
}
