//! Handles: what callers get for a stream, an event, a graph. Never an address of anything.
//!
//! A handle names its kind, its index and the test that it belongs to, and no handle is given
//! twice: a stale one is always noticed.

/// What a handle stands for.
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

/// Makes and reads the handles of one world.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Handles {
    epoch: u8,
}

/// No address on any machine, so that following a handle ends at once.
const MARK: u64 = 0x00E5 << 48;

impl Handles {
    /// Those of the next world: none of the old ones fits.
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
