//! Handles of streams, events, graphs and other objects. A handle is never a valid memory address.
//!
//! A handle encodes the kind, the index and the world of its object. Handles are not reused, so a
//! stale handle is always detected.

/// The kind of object that a handle refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Kind {
    Context = 1,
    Stream,
    Event,
    Graph,
    Node,
    Exec,
    Pool,
    Pages,
    Module,
    Function,
    Library,
    Kernel,
    Link,
}

/// Creates and decodes the handles of one world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handles {
    epoch: u8,
}

/// No machine has a valid address with this prefix, so dereferencing a handle faults immediately.
const MARK: u64 = 0x00E5 << 48;

impl Handles {
    /// Returns the handles for the next world. None of them equals a handle of this world.
    pub(crate) fn next(self) -> Self {
        Self { epoch: self.epoch.wrapping_add(1) }
    }

    pub(crate) fn make(self, kind: Kind, index: usize) -> u64 {
        self.high(kind) | (index as u64) << 4
    }

    pub(crate) fn index(self, kind: Kind, handle: u64) -> Option<usize> {
        let low = handle & 0xFFFF_FFFF;
        let fits = handle & !0xFFFF_FFFF == self.high(kind) && low & 0xF == 0;
        usize::try_from(low >> 4).ok().filter(|_| fits)
    }

    fn high(self, kind: Kind) -> u64 {
        MARK | (kind as u64) << 40 | u64::from(self.epoch) << 32
    }
}

#[cfg(test)]
mod tests {
    use super::{Handles, Kind};

    #[test]
    fn a_handle_fits_its_kind_and_its_world_alone() {
        let handles = Handles::default();
        let handle = handles.make(Kind::Event, 7);
        assert_eq!(handles.index(Kind::Event, handle), Some(7));
        assert_eq!(handles.index(Kind::Stream, handle), None);
        assert_eq!(handles.next().index(Kind::Event, handle), None);
        assert_eq!(handles.index(Kind::Event, handle + 1), None);
        assert_eq!(handles.index(Kind::Event, 0), None);
    }
}
