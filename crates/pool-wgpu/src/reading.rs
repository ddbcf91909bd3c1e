//! Defines the future that returns elements after they have been copied to the host. This future
//! does not borrow the view.

use std::fmt;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use pool_core::{PodElement, bytemuck};

use crate::ending;
use crate::error::WgpuError;
use crate::setup::Setup;
use crate::staging::IdleBuffers;
#[cfg(target_arch = "wasm32")]
use crate::suspend;

/// A pending copy of a view's elements to the host, started by [`read`](crate::BufferView::read).
///
/// A `Reading` borrows neither the view nor the pool. The copy has already been submitted, so later
/// commands do not change the elements that the `Reading` returns. [`wait`](Self::wait) blocks the
/// thread and may be called from a wgpu callback. In a browser, no thread may block, so you must
/// await the `Reading`.
///
/// Outside a browser, wgpu does not poll the device automatically. Polling the future therefore
/// also polls the device and schedules another poll. Dropping a `Reading` makes its staging buffer
/// available again.
#[must_use = "dropping this value drops the elements"]
pub struct Reading<T> {
    setup: Arc<Setup>,
    /// The staging buffer, or `None` if the `Reading` contains no bytes or if its elements have
    /// been taken.
    mapping: Option<Arc<Mapping>>,
    length: usize,
    /// The first element's offset in the staging buffer, in bytes.
    shift: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Reading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("length", &self.length).finish_non_exhaustive()
    }
}

/// A staging buffer that wgpu is mapping for the host.
struct Mapping {
    setup: Arc<Setup>,
    buffer: wgpu::Buffer,
    pool: Arc<IdleBuffers>,
    progress: Mutex<Progress>,
}

enum Progress {
    Waiting(Option<Waker>),
    Mapped,
    Failed(String),
    /// The `Reading` was dropped, and the callback will make its buffer available again.
    Abandoned,
    /// The contents have been taken, and the buffer is available again.
    Taken,
}

impl Mapping {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Handles the mapping's result. This method is called after wgpu has mapped the buffer or
    /// failed to map it.
    fn answer(self: Arc<Self>, answer: Result<(), wgpu::BufferAsyncError>) {
        let mut progress = self.progress();
        let next = match answer {
            Ok(()) => Progress::Mapped,
            Err(error) => Progress::Failed(error.to_string()),
        };
        match &*progress {
            Progress::Taken => return,
            Progress::Abandoned => {
                drop(progress);
                if let Progress::Mapped = next {
                    self.give_back();
                }
                return;
            }
            _ => {}
        }
        let before = std::mem::replace(&mut *progress, next);
        drop(progress);
        // The lock is not held while the waker is called, because a waker runs user code.
        if let Progress::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    /// Unmaps the buffer and makes it available again. The buffer is dropped if the device is lost.
    fn give_back(&self) {
        if self.setup.calls.scoped(|| self.buffer.unmap()).is_ok() {
            self.pool.give(self.buffer.clone());
        }
    }

    /// Returns `true` if the contents have arrived. The method also checks the buffer itself,
    /// because wgpu maps a buffer before it runs the callback. Another callback may call this
    /// method after the buffer has been mapped but before its own callback runs.
    fn is_there(&self) -> Result<bool, WgpuError> {
        match &*self.progress() {
            Progress::Mapped => return Ok(true),
            Progress::Failed(message) => {
                return Err(WgpuError::Unreadable { message: message.clone() });
            }
            Progress::Waiting(_) | Progress::Abandoned | Progress::Taken => {}
        }
        Ok(!cfg!(target_arch = "wasm32") && self.buffer.get_mapped_range(..).is_ok())
    }

    /// Stores the waker that the callback will call. Returns the given waker if the mapping has
    /// already completed. If the mapping has not completed yet, the method returns the previous
    /// waker, if any. The caller must drop the returned waker once the lock has been released.
    fn keep_waker(&self, waker: Waker) -> Option<Waker> {
        match &mut *self.progress() {
            Progress::Waiting(place) => place.replace(waker),
            _ => Some(waker),
        }
    }

    /// Replaces the progress and returns the previous value. If the returned value contains a
    /// waker, the caller must drop it once the lock has been released.
    fn set(&self, progress: Progress) -> Progress {
        std::mem::replace(&mut *self.progress(), progress)
    }
}

impl<T> Reading<T> {
    /// Creates a `Reading` that contains no bytes, for an empty view or for zero-sized elements.
    pub(crate) fn of_nothing(setup: Arc<Setup>, length: usize) -> Self {
        Self { setup, mapping: None, length, shift: 0, elements: PhantomData }
    }

    /// Creates a `Reading` for a staging buffer after a copy to this buffer has been submitted. The
    /// elements start at offset `shift` within the buffer, in bytes.
    pub(crate) fn new(
        setup: Arc<Setup>,
        pool: Arc<IdleBuffers>,
        buffer: wgpu::Buffer,
        shift: u64,
        length: usize,
    ) -> Result<Self, WgpuError> {
        let shift = usize::try_from(shift).unwrap_or_default();
        let progress = Mutex::new(Progress::Waiting(None));
        let mapping = Arc::new(Mapping { setup: Arc::clone(&setup), buffer, pool, progress });
        let same = Arc::clone(&mapping);
        let map =
            || mapping.buffer.map_async(wgpu::MapMode::Read, .., move |answer| same.answer(answer));
        setup.calls.scoped(map).map_err(|error| WgpuError::refused(&error))?;
        Ok(Self { setup, mapping: Some(mapping), length, shift, elements: PhantomData })
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns `true` if the `Reading` contains no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Blocks until the contents have arrived.
    #[cfg(not(target_arch = "wasm32"))]
    fn wait_until_there(&self) -> Result<(), WgpuError> {
        let Some(mapping) = &self.mapping else { return Ok(()) };
        self.setup.calls.check_thread()?;
        if self.is_there(mapping)? {
            return Ok(());
        }
        self.setup.calls.poll(wgpu::PollType::wait_indefinitely())?;
        if self.is_there(mapping)? {
            return Ok(());
        }
        // All submitted work has completed, so wgpu has either mapped the buffer or failed to map
        // it. The callback may have run on any thread.
        self.setup.calls.find_loss()?;
        Err(WgpuError::Unreadable { message: "wgpu did not map the buffer".to_owned() })
    }

    /// Waits until the contents have arrived, if the event loop can run during the wait. In a
    /// browser, the contents arrive only while the event loop runs, and no code may block the event
    /// loop.
    #[cfg(target_arch = "wasm32")]
    fn wait_until_there(&self) -> Result<(), WgpuError> {
        let Some(mapping) = &self.mapping else { return Ok(()) };
        while !self.is_there(mapping)? {
            if !suspend::run_event_loop() {
                return Err(WgpuError::CannotWait);
            }
        }
        Ok(())
    }

    /// Returns `true` if the contents have arrived.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::Unreadable`] or [`WgpuError::DeviceLost`] if the contents can no longer
    /// arrive.
    fn is_there(&self, mapping: &Arc<Mapping>) -> Result<bool, WgpuError> {
        // If wgpu has dropped the callback, nothing else refers to the mapping.
        let is_forgotten = Arc::strong_count(mapping) == 1;
        let is_there = mapping.is_there();
        if matches!(is_there, Ok(true)) {
            return is_there;
        }
        if is_forgotten || is_there.is_err() {
            self.setup.calls.find_loss()?;
        }
        match is_there {
            Ok(false) if is_forgotten => {
                Err(WgpuError::Unreadable { message: "wgpu dropped the request".to_owned() })
            }
            other => other,
        }
    }

    /// Copies the bytes out of the staging buffer and makes the buffer available again.
    fn take(&mut self, into: &mut [u8]) -> Result<(), WgpuError> {
        let Some(mapping) = self.mapping.take() else { return Ok(()) };
        drop(mapping.set(Progress::Taken));
        let end = (self.shift + into.len()).next_multiple_of(4) as u64;
        let mapped = match mapping.buffer.get_mapped_range(..end) {
            Ok(mapped) => mapped,
            Err(error) => {
                self.setup.calls.find_loss()?;
                return Err(WgpuError::Unreadable { message: error.to_string() });
            }
        };
        into.copy_from_slice(&mapped[self.shift..self.shift + into.len()]);
        drop(mapped);
        mapping.give_back();
        Ok(())
    }
}

impl<T: PodElement> Reading<T> {
    /// Blocks until the elements have arrived, and then returns them. In a browser, no code may
    /// block, so this method succeeds only if the elements have already arrived. If the elements
    /// might not have arrived yet, await the `Reading`.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::DeviceLost`] if the device is lost, [`WgpuError::Unreadable`] if wgpu
    /// cannot map the contents, or [`WgpuError::ThreadEnding`] if this thread is ending. In a
    /// browser, this method returns [`WgpuError::CannotWait`] if the elements have not arrived yet.
    pub fn wait(mut self) -> Result<Vec<T>, WgpuError> {
        self.wait_until_there()?;
        self.elements()
    }

    /// Blocks until the elements have arrived, and then writes them to `destination`, which must
    /// have the same number of elements.
    ///
    /// # Errors
    ///
    /// Returns the same errors as [`wait`](Self::wait).
    pub(crate) fn wait_into(mut self, destination: &mut [T]) -> Result<(), WgpuError> {
        self.wait_until_there()?;
        self.take(bytes_of_mut(destination))
    }

    fn elements(&mut self) -> Result<Vec<T>, WgpuError> {
        // The length becomes 0, so polling the future again returns no elements.
        let mut elements = vec![T::zeroed(); std::mem::take(&mut self.length)];
        self.take(bytes_of_mut(&mut elements))?;
        Ok(elements)
    }
}

fn bytes_of_mut<T: PodElement>(elements: &mut [T]) -> &mut [u8] {
    if size_of::<T>() == 0 { &mut [] } else { bytemuck::cast_slice_mut(elements) }
}

impl<T: PodElement> Future for Reading<T> {
    type Output = Result<Vec<T>, WgpuError>;

    /// Returns the elements after they have arrived. Returns an empty vector if an earlier poll has
    /// already returned the elements.
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match self.poll_there(context) {
            Poll::Ready(Ok(())) => Poll::Ready(self.elements()),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => Poll::Pending,
        }
    }
}

impl<T> Reading<T> {
    fn poll_there(&self, context: &Context<'_>) -> Poll<Result<(), WgpuError>> {
        let Some(mapping) = &self.mapping else { return Poll::Ready(Ok(())) };
        self.setup.calls.check_thread()?;
        // The lock is not held while a waker is dropped, because a waker's destructor is user code.
        drop(mapping.keep_waker(context.waker().clone()));
        if !cfg!(target_arch = "wasm32") {
            self.setup.calls.poll(wgpu::PollType::Poll)?;
        }
        if self.is_there(mapping)? {
            return Poll::Ready(Ok(()));
        }
        if !cfg!(target_arch = "wasm32") {
            context.waker().wake_by_ref();
        }
        Poll::Pending
    }
}

impl<T> Drop for Reading<T> {
    fn drop(&mut self) {
        let mapping = self.mapping.take();
        if ending::is_ending() {
            // A thread that is ending must not drop wgpu values, so another thread drops the
            // mapping and the setup later.
            return ending::leave((mapping, Arc::clone(&self.setup)));
        }
        let Some(mapping) = mapping else { return };
        if let Progress::Mapped = mapping.set(Progress::Abandoned) {
            mapping.give_back();
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use pool_core::{Pool, PoolView};

    use crate::Wgpu;
    use crate::error::WgpuError;
    use crate::flaw::support::own_stream;

    /// A program causes this error only if it destroys or maps a buffer directly with wgpu. The
    /// test therefore sets the error before the device reports its result.
    #[test]
    fn contents_that_wgpu_does_not_map_are_an_error_and_the_next_are_read() {
        let Some((stream, _quiet)) = own_stream(wgpu::Limits::default()) else { return };
        let mut pool = Pool::<Wgpu>::new(stream.clone());
        let scope = pool.scope();
        let view = scope.acquire_filled(1_000, 7_u32);
        let reading = view.read().unwrap();
        let mapping = reading.mapping.clone().unwrap();
        mapping.answer(Err(wgpu::BufferAsyncError));
        let message = wgpu::BufferAsyncError.to_string();
        assert_eq!(reading.wait().unwrap_err(), WgpuError::Unreadable { message });
        for _ in 0..3 {
            assert_eq!(view.copy_to_vec().unwrap(), [7; 1_000]);
        }
        // The device has now reported its result, and the callback has made the first buffer
        // available again.
        assert!(stream.counts().staging_buffers_created <= 2);
    }
}
