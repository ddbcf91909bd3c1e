//! The list of streams that a pool can keep alive even if the pool receives only a reference
//! (`&CudaStream`).

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::CudaStream;
use pool_core::reserve::list;
use pool_driver::chain::Chain;

/// The announced streams, identified by their addresses. The lock is held only while entries are
/// searched, linked or unlinked.
static ANNOUNCED: Mutex<Chain<Weak<CudaStream>>> = Mutex::new(Chain::new());

fn announced() -> MutexGuard<'static, Chain<Weak<CudaStream>>> {
    ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_of(entry: &Weak<CudaStream>, stream: &CudaStream) -> bool {
    ptr::eq(entry.as_ptr(), stream)
}

/// Allows pools to keep this stream alive even if a pool receives only a reference to the stream.
///
/// The traits of cudarc pass streams as `&CudaStream`, which a pool cannot keep alive. If the
/// stream has been announced, the pool finds the stream's `Arc`, and keeps the stream alive for as
/// long as the pool may have to wait for it. Pools announce their own streams, and the streams
/// passed to [`DeviceView::on`](crate::DeviceView::on) and [`record_use`](crate::record_use).
///
/// Each time a stream that was not announced uses memory of a pool, cudarc records an event after
/// the work, and the pool's stream waits for this event. No event is recorded in three cases:
///
/// - The guard that was returned with the pointer was forgotten.
/// - The event tracking of cudarc is disabled.
/// - The use is a launch on a per-thread default stream, through [`on`](crate::DeviceView::on).
///
/// If no event was recorded, the host waits for all work in the stream's context before the memory
/// is used again. Waiting for a whole context would invalidate all captures in that context.
/// Therefore, while a `pool-graph` session is capturing, the next use of the memory fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse), which names the stream that must be
/// announced. A pool cannot detect captures that were started without a session.
///
/// If the host is out of memory, this function does not announce the stream.
pub fn announce(stream: &Arc<CudaStream>) {
    if announced().iter().any(|entry| is_of(entry, stream)) {
        return;
    }
    let Ok(mut link) = Chain::of(Arc::downgrade(stream)) else { return };
    let ended = {
        let mut announced = announced();
        let ended = announced.unlink(|entry| entry.strong_count() == 0);
        // Another thread may have announced the same stream after the first check.
        if !announced.iter().any(|entry| is_of(entry, stream)) {
            announced.add(mem::take(&mut link));
        }
        ended
    };
    drop((ended, link));
}

/// Returns the announced stream with the same address as the given reference.
///
/// An entry with the reference's address always refers to the referenced stream. While an entry's
/// weak reference exists, no other stream can be allocated at the same address. If a stream is
/// moved out of its `Arc`, the stream's address changes.
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

/// The unlinked list entry of a stream, without its weak reference to the stream.
pub(crate) struct Withdrawal(Chain<Weak<CudaStream>>);

/// Unlinks the entry of a stream, and drops the entry's reference to the stream. Pools cannot find
/// a withdrawn stream by its address until the entry has been [put back](Withdrawal::put_back).
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
