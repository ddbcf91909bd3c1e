//! The streams that pools may keep alive when they get only a reference to one.

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::CudaStream;
use pool_core::reserve::list;
use pool_driver::chain::Chain;

/// The announced streams, each by its address. Locked only to search, link and unlink.
static ANNOUNCED: Mutex<Chain<Weak<CudaStream>>> = Mutex::new(Chain::new());

fn announced() -> MutexGuard<'static, Chain<Weak<CudaStream>>> {
    ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_of(entry: &Weak<CudaStream>, stream: &CudaStream) -> bool {
    ptr::eq(entry.as_ptr(), stream)
}

/// Lets pools keep a stream alive when they get only a reference to it.
///
/// cudarc's traits pass streams as `&CudaStream`. A pool keeps an announced stream alive for as
/// long as it may have to wait for the stream. Pools announce their own streams, and those passed
/// to [`DeviceView::on`](crate::DeviceView::on) and [`record_use`](crate::record_use).
///
/// A use on any other stream ends with an event that cudarc records, and the pool's stream waits
/// for that event. Each such use costs an event. In three cases there is no event: the guard beside
/// the pointer was forgotten, cudarc's event tracking is off, or the launch is by
/// [`on`](crate::DeviceView::on) on a per-thread default stream. Then the host waits for all work
/// of the context before the memory is used again, which would invalidate a capture in that
/// context. So while a session of `pool-graph` captures, the pool does not wait, and the use fails
/// with [`CudaError::UnknownUse`](crate::CudaError::UnknownUse), which names the stream to
/// announce. A pool does not know of captures made without a session.
///
/// If the host has no memory for the entry, the stream is not announced.
pub fn announce(stream: &Arc<CudaStream>) {
    if announced().iter().any(|entry| is_of(entry, stream)) {
        return;
    }
    let Ok(mut link) = Chain::of(Arc::downgrade(stream)) else { return };
    let ended = {
        let mut announced = announced();
        let ended = announced.unlink(|entry| entry.strong_count() == 0);
        // Another thread may have announced the same stream meanwhile.
        if !announced.iter().any(|entry| is_of(entry, stream)) {
            announced.add(mem::take(&mut link));
        }
        ended
    };
    drop((ended, link));
}

/// Returns the announced stream of a reference.
///
/// A weak reference keeps the address of its stream in use, so no other stream can have it. A
/// stream that was moved out of its `Arc` has another address. So an entry with this address is
/// this stream.
pub(crate) fn find_announced(stream: &CudaStream) -> Option<Arc<CudaStream>> {
    announced().iter().find(|entry| is_of(entry, stream)).and_then(Weak::upgrade)
}

/// Returns every live announced stream, up to the first for which the host has no memory.
pub(crate) fn announced_streams() -> Vec<Arc<CudaStream>> {
    let count = announced().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(announced().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// A stream's entry in the list, unlinked and without its reference to the stream.
pub(crate) struct Withdrawal(Chain<Weak<CudaStream>>);

/// Unlinks the entry of a stream, so that it holds no reference to the stream. Until the entry is
/// [put back](Withdrawal::put_back), a pool that gets a reference to the stream does not find it.
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
