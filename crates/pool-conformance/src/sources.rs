//! Host memory that an upload reads and that a test then changes. If a faulty backend reads the
//! memory too late, it reads the changed bytes. Reading the bytes while they change is not
//! undefined behavior, because the bytes are atomic.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::{AtomicU8, Ordering};

thread_local! {
    static SOURCES: RefCell<Vec<Rc<[AtomicU8]>>> = const { RefCell::new(Vec::new()) };
}

/// The bytes that serve as an upload's source.
pub(crate) struct Source(Rc<[AtomicU8]>);

impl Source {
    pub(crate) fn new(content: &[u8]) -> Self {
        let bytes: Rc<[AtomicU8]> = content.iter().copied().map(AtomicU8::new).collect();
        SOURCES.with_borrow_mut(|sources| sources.push(Rc::clone(&bytes)));
        Self(bytes)
    }

    /// Passes the bytes to an upload as its source.
    pub(crate) fn lend<R>(&self, upload: impl FnOnce(&[u8]) -> R) -> R {
        let (start, length) = (self.0.as_ptr().cast::<u8>(), self.0.len());
        // SAFETY: an `AtomicU8` has the same memory representation as a `u8`. Writing to the bytes
        // requires access to `self`, which is borrowed during the upload and stays on this thread.
        upload(unsafe { std::slice::from_raw_parts(start, length) })
    }

    /// Overwrites all bytes with `value`.
    pub(crate) fn overwrite(&self, value: u8) {
        self.0.iter().for_each(|byte| byte.store(value, Ordering::Relaxed));
    }

    /// Returns the source that starts at this address, if it exists.
    pub(crate) fn at(address: usize) -> Option<Rc<[AtomicU8]>> {
        let is_it = |source: &&Rc<[AtomicU8]>| source.as_ptr().addr() == address;
        SOURCES.with_borrow(|sources| sources.iter().find(is_it).map(Rc::clone))
    }
}

impl Drop for Source {
    fn drop(&mut self) {
        SOURCES.with_borrow_mut(|sources| sources.retain(|kept| !Rc::ptr_eq(kept, &self.0)));
    }
}
