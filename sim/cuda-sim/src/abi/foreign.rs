//! Pointers from callers: places for results, arrays, texts.
//!
//! No Rust code makes a value of these types: they enter through the C interface alone. By CUDA's
//! documentation, a pointer is null or points to as much as the call states. The caller keeps that
//! memory alive and untouched by others until the call returns. Every proof in this file rests on
//! that promise.

use std::ffi::{CStr, c_char};

use crate::code::{Code, Outcome};

/// A place for one result, or for an array of them; may be null.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Out<T>(*mut T);

/// One value that a caller passes, or an array of them; may be null.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct In<T>(*const T);

/// A text that ends with a zero byte; may be null.
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

    /// Writes a result, if the caller passed a place for it.
    pub(super) fn put_if_wanted(self, value: T) {
        if !self.is_null() {
            // SAFETY: the caller promises a place for one value.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    /// Writes one entry of an array, which is as long as the caller stated.
    pub(super) fn put_at(self, index: usize, value: T) -> Outcome<()> {
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises the number of entries that it stated, and `index` is below
        // that.
        let place = unsafe { self.0.add(index) };
        // SAFETY: as above; nothing is assumed about alignment.
        unsafe { place.write_unaligned(value) };
        Ok(())
    }

    /// Reads the value there.
    pub(super) fn get(self) -> Outcome<T> {
        In(self.0.cast_const()).get()
    }

    /// Reads the place as an input of the call.
    pub(super) fn as_input(self) -> In<T> {
        In(self.0.cast_const())
    }

    /// Returns the address of one entry, for a write after the call returned, if CUDA allows that.
    pub(super) fn address_of(self, index: usize) -> u64 {
        self.0.wrapping_add(index).expose_provenance() as u64
    }

    /// Returns the same place for another type, in calls that state the type.
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
        // SAFETY: the caller promises one value, of this type.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// Reads one entry of an array, which is as long as the caller stated.
    pub(super) fn get_at(self, index: usize) -> Outcome<T> {
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises the number of entries that it stated, and `index` is below
        // that.
        let place = unsafe { self.0.add(index) };
        // SAFETY: as above; nothing is assumed about alignment.
        Ok(unsafe { place.read_unaligned() })
    }

    /// Returns the pointer as a number, for calls that pass a number in its place.
    pub(super) fn address(self) -> usize {
        self.0.addr()
    }

    /// Returns the same place for another type, in calls that state the type.
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
            // SAFETY: the caller promises `count` values, and `index` is below that.
            let place = unsafe { self.0.add(index) };
            // SAFETY: as above.
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
        // SAFETY: the caller promises a text that ends with a zero byte.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| Code::INVALID_VALUE)
    }
}
