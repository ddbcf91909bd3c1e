//! The access of the conformance suite to buffers.

use std::rc::Rc;

use pool_conformance::{BackendProbe, Later, Ledger, SkipReason};
use pool_core::Element;
use pool_wgpu::{BlockWatch, BufferView, Stream, Wgpu};

use super::Snapshots;

/// A stream that the contexts of all pools share, and the ledger of their blocks.
pub(crate) struct WgpuProbe {
    stream: Stream,
    ledger: Ledger,
    /// Reads views that are checked later, so that nothing is submitted for them.
    snapshots: Rc<Snapshots>,
    open_reads: usize,
    /// False only as a planted mistake.
    pub(crate) reports_frees: bool,
}

impl WgpuProbe {
    pub(crate) fn new(stream: Stream) -> Self {
        Self::with_ledger(stream, Ledger::new())
    }

    pub(crate) fn with_ledger(stream: Stream, ledger: Ledger) -> Self {
        let snapshots = Snapshots::new(stream.clone());
        Self { stream, ledger, snapshots, open_reads: 0, reports_frees: true }
    }

    /// A probe whose random programs read back once, at their end.
    pub(crate) fn with_snapshots(stream: Stream, snapshots: Rc<Snapshots>) -> Self {
        // More reads than a program has, mostly.
        let ledger = Ledger::new();
        Self { stream, ledger, snapshots, open_reads: 10_000, reports_frees: true }
    }
}

/// Writes the ledger.
struct Watch {
    ledger: Ledger,
    reports_frees: bool,
}

impl BlockWatch for Watch {
    fn admit(&self, bytes: usize) -> bool {
        self.ledger.ask(bytes).is_ok()
    }

    fn allocated(&self, identity: u64, bytes: usize) {
        self.ledger.given(usize::try_from(identity).unwrap(), bytes);
    }

    fn freed(&self, identity: u64, bytes: usize) {
        if self.reports_frees {
            // The ledger records any mistake.
            let _ = self.ledger.freed(usize::try_from(identity).unwrap(), bytes);
        }
    }
}

/// Returns `length` elements of their bytes, which the tests wrote as such.
fn elements<T: Element>(bytes: &[u8], length: usize) -> Vec<T> {
    let mut elements = vec![T::zeroed(); length];
    assert_eq!(bytes.len(), size_of_val(&*elements));
    let to = elements.as_mut_ptr().cast::<u8>();
    // SAFETY: `to` has exactly these bytes; they were written as elements, so they are valid as
    // such.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    elements
}

impl BackendProbe for WgpuProbe {
    type Backend = Wgpu;

    fn context(&self) -> Stream {
        let (ledger, reports_frees) = (self.ledger.clone(), self.reports_frees);
        self.stream.clone().watched(Watch { ledger, reports_frees })
    }

    fn shared_address<T: Element>(&self, view: &BufferView<'_, T>) -> usize {
        usize::try_from(view.address()).unwrap()
    }

    fn read_shared<T: Element>(&self, view: &BufferView<'_, T>) -> Vec<T> {
        elements(&view.as_bytes().read().unwrap().wait().unwrap(), view.len())
    }

    fn read_later<T: Element>(&self, view: &BufferView<'_, T>) -> Later<'_, T> {
        let (length, found) = (view.len(), self.snapshots.take(view.as_bytes()));
        Box::new(move || elements(&found(), length))
    }

    fn open_reads(&self) -> usize {
        self.open_reads
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
