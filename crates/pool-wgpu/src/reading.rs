//! Contents on their way to the host: a future that borrows nothing.

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

/// The elements that a view held when [`read`](crate::BufferView::read) was called, on their way to
/// the host.
///
/// It borrows neither the view nor the pool: the copy is submitted, and later commands do not
/// change it. [`wait`](Self::wait) blocks, and may be called in a callback of wgpu. A browser
/// supports only the future. The future polls the device whenever it is polled, and requests
/// another poll, because outside of a browser no other code polls. When dropped, it returns its
/// staging buffer.
#[must_use = "dropping this value drops the elements"]
pub struct Reading<T> {
    setup: Arc<Setup>,
    /// `None` if there are no bytes, or if they were already taken.
    mapping: Option<Arc<Mapping>>,
    length: usize,
    /// The offset of the first byte in the staging buffer.
    shift: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T> fmt::Debug for Reading<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading").field("length", &self.length).finish_non_exhaustive()
    }
}

/// A staging buffer that is being mapped.
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
    /// The reading was dropped. The callback returns the buffer.
    Abandoned,
    /// The contents were taken, and the buffer was returned.
    Taken,
}

impl Mapping {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The callback for wgpu when the buffer is mapped.
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
        // Not under the lock: a waker is foreign code.
        if let Progress::Waiting(Some(waker)) = before {
            waker.wake();
        }
    }

    /// Unmaps the buffer for reuse. The buffer of a lost device is dropped.
    fn give_back(&self) {
        if self.setup.calls.scoped(|| self.buffer.unmap()).is_ok() {
            self.pool.give(self.buffer.clone());
        }
    }

    /// Returns `true` if the contents have arrived. wgpu maps a buffer before it calls back. This
    /// call may come from another callback that runs before ours.
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

    /// Stores a waker to be called, and returns the one to be dropped outside of the lock.
    fn keep_waker(&self, waker: Waker) -> Option<Waker> {
        match &mut *self.progress() {
            Progress::Waiting(place) => place.replace(waker),
            _ => Some(waker),
        }
    }

    /// Sets the progress, and returns the former one, whose waker must be dropped outside of the
    /// lock.
    fn set(&self, progress: Progress) -> Progress {
        std::mem::replace(&mut *self.progress(), progress)
    }
}

impl<T> Reading<T> {
    /// Makes a reading of no elements, or of elements without bytes.
    pub(crate) fn of_nothing(setup: Arc<Setup>, length: usize) -> Self {
        Self { setup, mapping: None, length, shift: 0, elements: PhantomData }
    }

    /// Makes a reading of a staging buffer, for which a copy was submitted, from the byte `shift`
    /// on.
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
        let told = Arc::clone(&mapping);
        let map =
            || mapping.buffer.map_async(wgpu::MapMode::Read, .., move |answer| told.answer(answer));
        setup.calls.scoped(map).map_err(|error| WgpuError::refused(&error))?;
        Ok(Self { setup, mapping: Some(mapping), length, shift, elements: PhantomData })
    }

    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Returns `true` if there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Waits until the contents have arrived.
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
        // When all submitted work is done, wgpu has mapped the buffer or has refused to, on
        // whichever thread calls back.
        self.setup.calls.find_loss()?;
        Err(WgpuError::Unreadable { message: "wgpu has not mapped the buffer".to_owned() })
    }

    /// Checks that the contents have arrived: in a browser they arrive while the event loop runs,
    /// which no code may block.
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
    /// [`WgpuError::Unreadable`] and [`WgpuError::DeviceLost`] if they never will be.
    fn is_there(&self, mapping: &Arc<Mapping>) -> Result<bool, WgpuError> {
        // With the callback dropped, the mapping has no other owner.
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
                Err(WgpuError::Unreadable { message: "wgpu has dropped the request".to_owned() })
            }
            other => other,
        }
    }

    /// Copies the bytes out of the staging buffer, and returns the buffer.
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
    /// Waits for the elements. In a browser, where no code may block, they must have arrived: await
    /// the reading there.
    ///
    /// # Errors
    ///
    /// [`WgpuError::DeviceLost`]; [`WgpuError::Unreadable`] if wgpu cannot map them;
    /// [`WgpuError::ThreadEnding`]; in a browser [`WgpuError::CannotWait`] for elements that have
    /// not arrived.
    pub fn wait(mut self) -> Result<Vec<T>, WgpuError> {
        self.wait_until_there()?;
        self.elements()
    }

    /// Waits for the elements, whose number is the length of `destination`.
    ///
    /// # Errors
    ///
    /// Same as [`wait`](Self::wait).
    pub(crate) fn wait_into(mut self, destination: &mut [T]) -> Result<(), WgpuError> {
        self.wait_until_there()?;
        self.take(bytes_of_mut(destination))
    }

    fn elements(&mut self) -> Result<Vec<T>, WgpuError> {
        // A future that is polled again has no elements left.
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

    /// Returns the elements; none if an earlier poll took them.
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
        // Not under the lock: a waker is foreign code, and so is its drop.
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
            // Without them this value drops nothing of wgpu's.
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

    /// wgpu reports that for a buffer that its user destroys or maps twice, which no user of this
    /// crate can. So the result is planted, before the device's own.
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
        // The device's own result has arrived meanwhile, and has returned the buffer of the first
        // one.
        assert!(stream.counts().staging_buffers_created <= 2);
    }
}
