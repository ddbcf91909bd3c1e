//! What callers point to: places for results, arrays, texts.
//!
//! No Rust code makes a value of these types; they come in through the C interface only. Whoever
//! calls the driver promises, as CUDA's documentation asks, that a pointer is null or points to as
//! many values as the call says, alive and untouched by others until it returns. Every proof in this
//! file rests on that promise.

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

/// A text that ends with a zero; may be null.
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

    /// Writes a result that the caller must want.
    pub(super) fn put(self, value: T) -> Outcome<()> {
        self.put_at(0, value)
    }

    /// Writes a result where the caller wants it.
    pub(super) fn put_if_wanted(self, value: T) {
        if !self.is_null() {
            // SAFETY: the caller promises a place for one value.
            unsafe { self.0.write_unaligned(value) }
        }
    }

    /// Writes one entry of an array that the caller said is long enough.
    pub(super) fn put_at(self, index: usize, value: T) -> Outcome<()> {
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises as many entries as it said, and `index` is below that.
        let place = unsafe { self.0.add(index) };
        // SAFETY: as above; nothing is assumed about alignment.
        unsafe { place.write_unaligned(value) };
        Ok(())
    }

    /// Reads what the caller has put there.
    pub(super) fn get(self) -> Outcome<T> {
        In(self.0.cast_const()).get()
    }

    /// What the caller has put there, as values that it passes.
    pub(super) fn as_input(self) -> In<T> {
        In(self.0.cast_const())
    }

    /// The address of one entry, for what is written there later, as the call allows.
    pub(super) fn address_of(self, index: usize) -> u64 {
        self.0.wrapping_add(index).expose_provenance() as u64
    }

    /// The same place for another type, where a call says what it holds.
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

    /// One entry of an array that the caller said is long enough.
    pub(super) fn get_at(self, index: usize) -> Outcome<T> {
        if self.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        // SAFETY: the caller promises as many entries as it said, and `index` is below that.
        let place = unsafe { self.0.add(index) };
        // SAFETY: as above; nothing is assumed about alignment.
        Ok(unsafe { place.read_unaligned() })
    }

    /// The number that it is, where it stands for one.
    pub(super) fn address(self) -> usize {
        self.0.addr()
    }

    /// The same place for another type, where a call says what it holds.
    pub(super) fn of<U>(self) -> In<U> {
        In(self.0.cast())
    }

    /// As many values as the caller says there are.
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
        // SAFETY: the caller promises a text that ends with a zero.
        let text = unsafe { CStr::from_ptr(self.0) };
        text.to_str().map(str::to_owned).map_err(|_| Code::INVALID_VALUE)
    }
}
