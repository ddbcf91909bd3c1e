//! The streams that a pool can keep alive even if it receives only a reference to one.

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::CudaStream;
use pool_core::reserve::list;
use pool_driver::chain::Chain;

/// The announced streams, identified by address. The lock is held only to search, link and unlink
/// entries.
static ANNOUNCED: Mutex<Chain<Weak<CudaStream>>> = Mutex::new(Chain::new());

fn announced() -> MutexGuard<'static, Chain<Weak<CudaStream>>> {
    ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_of(entry: &Weak<CudaStream>, stream: &CudaStream) -> bool {
    ptr::eq(entry.as_ptr(), stream)
}

/// Lets pools keep this stream alive even if they receive only a reference to it.
///
/// cudarc's traits pass streams as `&CudaStream`. A pool keeps an announced stream alive for as
/// long as it may have to wait for the stream. Pools announce their own streams, and the streams
/// passed to [`DeviceView::on`](crate::DeviceView::on) and [`record_use`](crate::record_use).
///
/// A use on any other stream ends with an event that cudarc records, and the pool's stream waits
/// for that event. Each such use costs one event. There is no event in three cases: the guard
/// returned with the pointer was forgotten, cudarc's event tracking is disabled, or
/// [`on`](crate::DeviceView::on) was used for a launch on a per-thread default stream. In these
/// cases the host waits for all work of the context before the memory is used again. Such a wait
/// would invalidate a capture in that context. While a session of `pool-graph` captures, the pool
/// therefore does not wait, and the use fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse), which names the stream to announce. A
/// pool cannot detect captures that are made without a session.
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
        // Another thread may have announced the same stream since the first check.
        if !announced.iter().any(|entry| is_of(entry, stream)) {
            announced.add(mem::take(&mut link));
        }
        ended
    };
    drop((ended, link));
}

/// Returns the announced stream behind a reference.
///
/// While a weak reference exists, no other stream can be allocated at the same address. A stream
/// that is moved out of its `Arc` changes its address. Therefore an entry with this address refers
/// to this stream.
pub(crate) fn find_announced(stream: &CudaStream) -> Option<Arc<CudaStream>> {
    announced().iter().find(|entry| is_of(entry, stream)).and_then(Weak::upgrade)
}

/// Returns every live announced stream. If the host runs out of memory, the list ends early.
pub(crate) fn announced_streams() -> Vec<Arc<CudaStream>> {
    let count = announced().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(announced().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// A stream's list entry, unlinked and without its reference to the stream.
pub(crate) struct Withdrawal(Chain<Weak<CudaStream>>);

/// Unlinks the entry of a stream and drops its reference to the stream. Until the entry is [put
/// back](Withdrawal::put_back), a pool that receives a reference to the stream does not find it.
pub(crate) fn withdraw(stream: *const CudaStream) -> Withdrawal {
    let mut links = announced().unlink(|entry| entry.as_ptr() == stream);
    links.iter_mut().for_each(|entry| *entry = Weak::new());
    Withdrawal(links)
}

impl Withdrawal {
    /// Announces the stream again.
    pub(crate) fn put_back(mut self, stream: &Arc<CudaStream>) {
        self.0.iter_mut().for_each(|entry| *entry = Arc::downgrade(stream));
        announced().add(mem::take(&mut self.0));
    }
}
