//! The streams that pools may keep alive when they get no more than a reference to one.

use std::mem;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use cudarc::driver::CudaStream;
use pool_core::reserve::list;
use pool_driver::chain::Chain;

/// The streams that were announced, each by the place where it lies. Locked for a look, and for linking and
/// unlinking.
static ANNOUNCED: Mutex<Chain<Weak<CudaStream>>> = Mutex::new(Chain::new());

fn announced() -> MutexGuard<'static, Chain<Weak<CudaStream>>> {
    ANNOUNCED.lock().unwrap_or_else(PoisonError::into_inner)
}

fn is_of(entry: &Weak<CudaStream>, stream: &CudaStream) -> bool {
    ptr::eq(entry.as_ptr(), stream)
}

/// Lets pools keep a stream alive when they get no more than a reference to it.
///
/// cudarc's traits pass streams as `&CudaStream`. A stream that was announced is kept alive for as long
/// as a pool must be able to wait for it. Pools announce their own streams, and those that
/// [`DeviceView::on`](crate::DeviceView::on) and [`record_use`](crate::record_use) get.
///
/// A use on any other stream ends with an event that cudarc records, and the pool's stream waits for that event. Each
/// such use costs an event. If the guard beside the pointer was forgotten, if cudarc's event tracking is off, and for a
/// launch with [`on`](crate::DeviceView::on) on a per-thread default stream, there is no event: the host waits for all
/// work of the context before the memory is used again, which would spoil a capture in that context. While a session of
/// `pool-graph` captures, the pool therefore does not wait, and the use fails with
/// [`CudaError::UnknownUse`](crate::CudaError::UnknownUse), which names the stream to announce. Captures that are made by
/// hand are not known to a pool.
///
/// Where the host has no memory for the note, the stream is not announced.
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

/// The announced stream that a reference is to.
///
/// A weak reference keeps the place where its stream lies, so no other stream comes to lie there; and a
/// stream that was moved out of its `Arc` lies elsewhere. So the stream of an entry with this address is
/// this stream.
pub(crate) fn find_announced(stream: &CudaStream) -> Option<Arc<CudaStream>> {
    announced().iter().find(|entry| is_of(entry, stream)).and_then(Weak::upgrade)
}

/// Every stream that was announced and lives; as many as the host has memory for.
pub(crate) fn announced_streams() -> Vec<Arc<CudaStream>> {
    let count = announced().iter().count();
    let Ok(mut all) = list(count) else { return Vec::new() };
    all.extend(announced().iter().take(count).filter_map(Weak::upgrade));
    all
}

/// A stream's entry among the announced ones, out of the list and without its reference to the stream.
pub(crate) struct Withdrawal(Chain<Weak<CudaStream>>);

/// Takes a stream from among the announced ones: no reference to it is there any more, and until its entry is
/// [put back](Withdrawal::put_back) a pool that gets a reference to the stream does not find it.
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
