//! The list of streams that pools can keep alive even if they receive only a reference
//! (`&CudaStream`).

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

/// Announces a stream, so that pools can keep the stream alive even if they receive only a
/// reference to it.
///
/// The traits of cudarc pass streams as `&CudaStream`, and a pool cannot keep a stream alive with
/// such a reference. If the stream has been announced, the pool finds the stream's `Arc`. The pool
/// then keeps the stream alive for as long as it may have to wait for the stream. Pools
/// automatically announce their own streams, and all streams that are passed to
/// [`DeviceView::on`](crate::DeviceView::on) or [`record_use`](crate::record_use).
///
/// Whenever a stream that was not announced uses memory of a pool, cudarc records an event after
/// the work. The pool's stream waits for this event. In three cases, cudarc does not record an
/// event:
///
/// - The guard that the pool returned together with the pointer was forgotten.
/// - The event tracking of cudarc is disabled.
/// - The memory is used by a launch on a per-thread default stream, and
///   [`on`](crate::DeviceView::on) created the launch's argument.
///
/// If no event was recorded, the host waits for all work in the stream's context before the memory
/// is used again. Waiting for a whole context would invalidate all captures in that context.
/// Therefore, while a `pool-graph` session is capturing, the next use of the memory fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse). The error names the stream that you
/// should announce. A pool cannot detect captures that were started without a session.
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
        // Another thread may have announced the same stream after the first lookup.
        if !announced.iter().any(|entry| is_of(entry, stream)) {
            announced.add(mem::take(&mut link));
        }
        ended
    };
    drop((ended, link));
}

/// Returns the announced stream that has the same address as the given reference.
///
/// An entry with this address always belongs to the referenced stream. As long as an entry's weak
/// reference exists, no other stream can be allocated at the same address. If a stream is moved out
/// of its `Arc`, the stream's address changes.
pub(crate) fn find_announced(stream: &CudaStream) -> Option<Arc<CudaStream>> {
    announced().iter().find(|entry| is_of(entry, stream)).and_then(Weak::upgrade)
}

/// Returns all announced streams that are still alive. If the host runs out of memory, the returned
/// list may be incomplete.
pub(crate) fn announced_streams() -> Vec<Arc<CudaStream>> {
    let count = announced().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(announced().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// The entry of a stream after it was removed from the list, without the weak reference to the
/// stream.
pub(crate) struct Withdrawal(Chain<Weak<CudaStream>>);

/// Removes the entry of a stream from the list, and drops the entry's weak reference. Pools cannot
/// find the stream by its address until the entry has been [put back](Withdrawal::put_back).
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
