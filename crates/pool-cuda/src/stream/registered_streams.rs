//! Maintains a list of registered streams, which a pool can keep alive even if it receives only a
//! `&CudaStream`.

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::CudaStream;
use pool_core::reserve::list;
use pool_driver::chain::Chain;

/// The registered streams, identified by their addresses. The lock is held only while the list is
/// searched or entries are added or removed.
static REGISTERED: Mutex<Chain<Weak<CudaStream>>> = Mutex::new(Chain::new());

fn registered() -> MutexGuard<'static, Chain<Weak<CudaStream>>> {
    REGISTERED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_of(entry: &Weak<CudaStream>, stream: &CudaStream) -> bool {
    ptr::eq(entry.as_ptr(), stream)
}

/// Registers a stream so that a pool can keep it alive even if the pool receives only a reference
/// to it.
///
/// cudarc's traits pass each stream as a `&CudaStream`, which does not allow a pool to keep the
/// stream alive. If the stream has been registered, the pool can look up its `Arc`. The pool then
/// keeps the stream alive for as long as it might need to wait for the stream. Pools automatically
/// register their own streams, and all streams passed to [`DeviceView::on`](crate::DeviceView::on)
/// or [`record_use`](crate::record_use).
///
/// If an unregistered stream uses a pool's memory, cudarc records an event after the work. The
/// pool's stream waits for this event. In three cases, cudarc does not record an event:
///
/// - The guard returned with the pointer has been forgotten with `mem::forget`.
/// - cudarc's event tracking is disabled.
/// - A launch on a per-thread default stream uses the memory through an argument created by
///   [`on`](crate::DeviceView::on).
///
/// Without an event, the host waits for all work in the stream's context before the pool reuses the
/// memory. Waiting for all work in a context would invalidate all captures in that context. While a
/// `pool-graph` session is capturing, the next use of the memory therefore fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse). The error names the stream that the
/// program should register. A pool cannot detect a capture that was started outside a session.
///
/// If the host is out of memory, the stream is not registered.
pub fn register_stream(stream: &Arc<CudaStream>) {
    if registered().iter().any(|entry| is_of(entry, stream)) {
        return;
    }
    let Ok(mut link) = Chain::of(Arc::downgrade(stream)) else { return };
    let ended = {
        let mut registered = registered();
        let ended = registered.unlink(|entry| entry.strong_count() == 0);
        // Another thread might have registered the stream since the first lookup.
        if !registered.iter().any(|entry| is_of(entry, stream)) {
            registered.add(mem::take(&mut link));
        }
        ended
    };
    drop((ended, link));
}

/// Returns the registered stream at the same address as the given reference.
///
/// An entry with this address always belongs to the referenced stream. The entry's weak reference
/// prevents another stream from being allocated at the same address. Moving a stream out of its
/// `Arc` changes the stream's address.
pub(crate) fn find_registered(stream: &CudaStream) -> Option<Arc<CudaStream>> {
    registered().iter().find(|entry| is_of(entry, stream)).and_then(Weak::upgrade)
}

/// Returns all registered streams that are still alive. If the host is out of memory, the returned
/// list might be incomplete.
pub(crate) fn registered_streams() -> Vec<Arc<CudaStream>> {
    let count = registered().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(registered().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// A list entry that has been removed and no longer holds a weak reference to its stream.
pub(crate) struct Withdrawal(Chain<Weak<CudaStream>>);

/// Removes a stream's entry from the list and drops its weak reference. Pools cannot look up the
/// stream by its address until [`put_back`](Withdrawal::put_back) has restored the entry.
pub(crate) fn withdraw(stream: *const CudaStream) -> Withdrawal {
    let mut links = registered().unlink(|entry| entry.as_ptr() == stream);
    links.iter_mut().for_each(|entry| *entry = Weak::new());
    Withdrawal(links)
}

impl Withdrawal {
    /// Registers the withdrawn stream again.
    pub(crate) fn put_back(mut self, stream: &Arc<CudaStream>) {
        self.0.iter_mut().for_each(|entry| *entry = Arc::downgrade(stream));
        registered().add(mem::take(&mut self.0));
    }
}
