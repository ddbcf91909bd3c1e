//! A call that the library exports: its name and its address.

/// A call that the library exports, under the name that the symbol table contains.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    name: &'static str,
    address: *const (),
}

impl Entry {
    pub(super) const fn new(name: &'static str, address: *const ()) -> Self {
        Self { name, address }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn address(&self) -> *const () {
        self.address
    }
}
