//! How the suite of all backends looks into buffers.

use std::rc::Rc;

use pool_conformance::{Later, Ledger, Probe, SkipReason};
use pool_core::Element;
use pool_wgpu::{BlockWatch, BufferView, Stream, Wgpu};

use super::Snapshots;

/// A stream that the contexts of all pools share, and the ledger of their blocks.
pub(crate) struct WgpuProbe {
    stream: Stream,
    ledger: Ledger,
    /// Through which views are read that random programs compare; without them each is read for itself.
    snapshots: Option<Rc<Snapshots>>,
}

impl WgpuProbe {
    pub(crate) fn new(stream: Stream) -> Self {
        Self::with_ledger(stream, Ledger::new())
    }

    pub(crate) fn with_ledger(stream: Stream, ledger: Ledger) -> Self {
        Self { stream, ledger, snapshots: None }
    }

    /// A probe whose random programs read back once, at their end.
    pub(crate) fn with_snapshots(stream: Stream, snapshots: Rc<Snapshots>) -> Self {
        Self { snapshots: Some(snapshots), ..Self::new(stream) }
    }
}

/// Writes the ledger.
struct Watch(Ledger);

impl BlockWatch for Watch {
    fn admit(&self, bytes: usize) -> bool {
        self.0.ask(bytes).is_ok()
    }

    fn allocated(&self, identity: u64, bytes: usize) {
        self.0.given(usize::try_from(identity).unwrap(), bytes);
    }

    fn freed(&self, identity: u64, bytes: usize) {
        // What is wrong about it is in the ledger.
        let _ = self.0.freed(usize::try_from(identity).unwrap(), bytes);
    }
}

/// So many elements from their bytes, which the tests wrote as such.
fn elements<T: Element>(bytes: &[u8], length: usize) -> Vec<T> {
    let mut elements = vec![T::zeroed(); length];
    assert_eq!(bytes.len(), size_of_val(&*elements));
    let to = elements.as_mut_ptr().cast::<u8>();
    // SAFETY: as many bytes; they were written as elements, so they are valid as such.
    unsafe { to.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
    elements
}

impl Probe for WgpuProbe {
    type Backend = Wgpu;

    fn context(&self) -> Stream {
        self.stream.clone().watched(Watch(self.ledger.clone()))
    }

    fn shared_address<T: Element>(&self, view: &BufferView<'_, T>) -> usize {
        usize::try_from(view.identity()).unwrap()
    }

    fn read_shared<T: Element>(&self, view: &BufferView<'_, T>) -> Vec<T> {
        elements(&view.as_bytes().read().unwrap().wait().unwrap(), view.len())
    }

    fn read_later<T: Element>(&self, view: &BufferView<'_, T>) -> Later<'_, T> {
        let (length, bytes) = (view.len(), view.as_bytes());
        if let Some(snapshots) = &self.snapshots {
            let found = snapshots.take(bytes);
            return Box::new(move || elements(&found(), length));
        }
        let reading = bytes.read().unwrap();
        Box::new(move || elements(&reading.wait().unwrap(), length))
    }

    fn open_reads(&self) -> usize {
        // More than programs do in a few seconds: they read once, at their end.
        if self.snapshots.is_some() { 10_000 } else { 0 }
    }

    fn accounting(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }

    fn refusal(&self) -> Result<&Ledger, SkipReason> {
        Ok(&self.ledger)
    }
}
