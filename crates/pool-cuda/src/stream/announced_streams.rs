//! Keeps a list of announced streams, so that a pool can keep a stream alive although it receives
//! only a `&CudaStream`.

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::CudaStream;
use pool_core::reserve::list;
use pool_driver::chain::Chain;

/// The announced streams, identified by their addresses. The lock is held only while the list is
/// searched and while entries are added or removed.
static ANNOUNCED: Mutex<Chain<Weak<CudaStream>>> = Mutex::new(Chain::new());

fn announced() -> MutexGuard<'static, Chain<Weak<CudaStream>>> {
    ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_of(entry: &Weak<CudaStream>, stream: &CudaStream) -> bool {
    ptr::eq(entry.as_ptr(), stream)
}

/// Announces a stream, so that a pool can keep it alive even if the pool receives only a reference.
///
/// cudarc's traits pass streams as `&CudaStream`, and a pool cannot keep a stream alive through
/// such a reference. If the stream has been announced, the pool can look up its `Arc`. The pool
/// then keeps the stream alive as long as it may need to wait for the stream. Pools automatically
/// announce their own streams and all streams passed to [`DeviceView::on`](crate::DeviceView::on)
/// or [`record_use`](crate::record_use).
///
/// If a stream that was not announced uses a pool's memory, cudarc records an event after the work.
/// The pool's stream waits for this event. In three cases, cudarc does not record an event:
///
/// - The caller passed the guard that the pool returned with the pointer to `mem::forget`.
/// - cudarc's event tracking is disabled.
/// - A launch on a per-thread default stream uses the memory through an argument created by
///   [`on`](crate::DeviceView::on).
///
/// Without an event, the host waits for all work in the stream's context before the pool reuses the
/// memory. Waiting for a whole context would invalidate all of its captures. While a `pool-graph`
/// session is capturing, the next use of the memory therefore fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse). The error names the stream for the
/// program to announce. A pool cannot detect a capture that was started without a session.
///
/// If the host is out of memory, the stream is not announced.
pub fn announce(stream: &Arc<CudaStream>) {
    if announced().iter().any(|entry| is_of(entry, stream)) {
        return;
    }
    let Ok(mut link) = Chain::of(Arc::downgrade(stream)) else { return };
    let ended = {
        let mut announced = announced();
        let ended = announced.unlink(|entry| entry.strong_count() == 0);
        // Another thread may have announced the stream since the first lookup.
        if !announced.iter().any(|entry| is_of(entry, stream)) {
            announced.add(mem::take(&mut link));
        }
        ended
    };
    drop((ended, link));
}

/// Returns the announced stream at the same address as the given reference.
///
/// An entry with this address always belongs to the referenced stream. The entry's weak reference
/// prevents another stream from being allocated at the same address. Moving a stream out of its
/// `Arc` changes the stream's address.
pub(crate) fn find_announced(stream: &CudaStream) -> Option<Arc<CudaStream>> {
    announced().iter().find(|entry| is_of(entry, stream)).and_then(Weak::upgrade)
}

/// Returns all announced streams that are still alive. If the host is out of memory, the returned
/// list may be incomplete.
pub(crate) fn announced_streams() -> Vec<Arc<CudaStream>> {
    let count = announced().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(announced().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// A removed list entry that no longer holds a weak reference to the stream.
pub(crate) struct Withdrawal(Chain<Weak<CudaStream>>);

/// Removes a stream's entry from the list and drops its weak reference. Pools cannot look up the
/// stream by its address until [`put_back`](Withdrawal::put_back) has restored the entry.
pub(crate) fn withdraw(stream: *const CudaStream) -> Withdrawal {
    let mut links = announced().unlink(|entry| entry.as_ptr() == stream);
    links.iter_mut().for_each(|entry| *entry = Weak::new());
    Withdrawal(links)
}

impl Withdrawal {
    /// Announces the withdrawn stream again.
    pub(crate) fn put_back(mut self, stream: &Arc<CudaStream>) {
        self.0.iter_mut().for_each(|entry| *entry = Arc::downgrade(stream));
        announced().add(mem::take(&mut self.0));
    }
}
