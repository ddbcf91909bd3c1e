//! Implements the functionality that all view types share. The shared part of each view consists of
//! an address in a slot's block and a reference to the slot. Through its slot, a view accesses the
//! pool's stream and the other streams that use the pool's blocks.

use std::ptr::NonNull;
use std::sync::Arc;

use cudarc::driver::{CudaEvent, CudaStream, SyncOnDrop};
use pool_core::{BlockOf, SlotRef};
use pool_driver::calls::Address;
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::stream::block_user::BlockUser;
use crate::stream::device_stream::DeviceStream;
use crate::stream::guard_events::Bytes;
use crate::stream::other_streams::Borrower;
use crate::view::block::DeviceBlock;

/// A guard that does nothing when it is dropped. The pool returns this guard for its own stream
/// because that stream needs no event. The pool also returns this guard for streams that it keeps
/// alive, because it waits for those streams itself.
const NOTHING_TO_DO: SyncOnDrop<'static> = SyncOnDrop::Sync(None);

/// The kind of access for which a view returns a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewAccess {
    Shared,
    /// No other view of these bytes is in use, and no guard returned by one still exists.
    Exclusive,
}

/// The part of a block that a view covers.
///
/// A region is used only inside a view, before the view's lifetime `'s` has ended. The region's
/// slot is therefore still acquired, and it still contains the same block. A region can be used
/// only on the pool's thread because a [`SlotRef`] is not `Send`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) address: Address,
    pub(crate) bytes: usize,
    slot: SlotRef<Cuda>,
}

impl Region {
    /// Creates the region that covers the first `bytes` bytes of a slot's block.
    ///
    /// # Safety
    ///
    /// The region must be used only inside a view that covers these bytes and was returned by the
    /// slot's pool.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, bytes: usize) -> Self {
        // An empty region has address 0, although a stack assigns addresses to empty arrays as
        // well.
        Self { address: if bytes == 0 { 0 } else { block.0 }, bytes, slot }
    }

    /// Splits the region into its first `bytes` bytes and the remaining bytes. The region must
    /// contain at least `bytes` bytes.
    pub(crate) fn split(self, bytes: usize) -> (Self, Self) {
        let rest =
            Self { address: self.address + bytes as Address, bytes: self.bytes - bytes, ..self };
        (Self { bytes, ..self }, rest)
    }

    /// Returns the stream of the pool that owns the region.
    #[inline]
    pub(crate) fn stream(&self) -> &DeviceStream {
        // SAFETY: the region is used only while its view is in use, so the pool is alive during
        // this borrow.
        unsafe { self.slot.pool_context() }
    }

    /// Returns the bytes that the pool orders as one unit when this region is used. In a slot, the
    /// unit is the slot's whole block. In a stack, the unit consists of the region's own bytes.
    fn ordered(&self) -> Bytes {
        if self.bytes == 0 {
            return self.bytes_of(0);
        }
        // SAFETY: the region is used only while its view is in use, and only on the pool's thread.
        match unsafe { self.slot.block_of(self.start()) } {
            BlockOf::Stack(DeviceBlock(block)) => self.bytes_of(block),
            BlockOf::Slot(DeviceBlock(block)) => Bytes::of_block(block),
            _ => self.bytes_of(self.address),
        }
    }

    /// Returns the range that the region covers within the given block.
    fn bytes_of(&self, block: Address) -> Bytes {
        Bytes { block, start: self.address, length: self.bytes }
    }

    /// Returns the region's address as a pointer. An empty region's pointer does not point into the
    /// pool's memory.
    fn start(&self) -> NonNull<u8> {
        DeviceBlock(self.address).pointer()
    }

    /// Arms the slot that contains the region's bytes so that the pool waits for other streams
    /// before the slot is acquired again.
    fn arm(&self) {
        // SAFETY: the region is used only while its view is in use, the view covers these bytes,
        // and this code runs on the pool's thread.
        unsafe { self.slot.arm_bytes(self.start(), self.bytes) };
    }

    /// Makes the pool's stream wait for all other streams that use the block. Call this method
    /// before each use of the region on the pool's own stream.
    #[inline]
    pub(crate) fn join(&self) -> Result<(), CudaError> {
        let stream = self.stream();
        if stream.other_streams().is_empty() || self.bytes == 0 {
            return Ok(());
        }
        stream.other_streams().join(self.ordered(), stream.stream())
    }

    /// Makes another stream wait for the pool's stream before it uses the region. The pool waits
    /// for that stream before reusing or freeing the memory, or using it on the pool's own stream.
    pub(crate) fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        if self.is_own(stream) {
            return self.join();
        }
        self.stream().device().check_reach(stream)?;
        self.lend_to(stream, BlockUser::of_shared(stream))
    }

    /// Makes a stream wait, just like [`lend`](Self::lend). Unlike `lend`, this method also accepts
    /// streams on other devices, which copies between devices require.
    pub(crate) fn lend_anywhere(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        if self.is_own(stream) {
            self.join()
        } else {
            self.lend_to(stream, BlockUser::of_shared(stream))
        }
    }

    fn is_own(&self, stream: &CudaStream) -> bool {
        **self.stream().stream() == *stream
    }

    fn lend_to(&self, stream: &CudaStream, user: BlockUser) -> Result<(), CudaError> {
        if self.bytes == 0 {
            return Ok(());
        }
        let own = self.stream();
        own.other_streams().lend(self.ordered(), self.borrower(stream, user)?, own.stream())
    }

    /// Arms the region's slot and checks whether the stream may use the slot's block.
    fn borrower<'b>(
        &self,
        stream: &'b CudaStream,
        user: BlockUser,
    ) -> Result<Borrower<'b>, CudaError> {
        self.arm();
        Ok(Borrower { stream, user, admitted: self.stream().admit(stream)? })
    }

    /// Orders a stream relative to the pool's stream. Returns the address for work on the stream.
    /// The method also returns a guard, which must be dropped after this work has been enqueued.
    ///
    /// Returns address 0 if the streams cannot be ordered. The driver rejects copies and fills at
    /// address 0. The error can be retrieved later with [`DeviceStream::take_pending_error`].
    pub(crate) fn pointer_for<'a>(
        &'a self,
        stream: &'a CudaStream,
        access: ViewAccess,
    ) -> (Address, SyncOnDrop<'a>) {
        let may_be_elsewhere = self.stream().other_streams().end_questions(self.address);
        if !self.is_own(stream) {
            return self.pointer_for_other(stream, access);
        }
        let address = if may_be_elsewhere && self.bytes > 0 {
            self.address_for_another_device()
        } else {
            self.address_if(self.join())
        };
        (address, NOTHING_TO_DO)
    }

    /// Does the same as [`pointer_for`](Self::pointer_for), but for work on a stream other than the
    /// pool's.
    fn pointer_for_other<'a>(
        &'a self,
        stream: &'a CudaStream,
        access: ViewAccess,
    ) -> (Address, SyncOnDrop<'a>) {
        let reached = self.stream().device().check_reach(stream);
        match reached.and_then(|()| self.guarded(stream, access)) {
            Ok(None) => (self.address, NOTHING_TO_DO),
            Ok(Some(event)) => {
                // SAFETY: the event is alive until all views of these bytes have ended. The guard
                // borrows from one of these views.
                let event = unsafe { event.as_ref() };
                (self.address, SyncOnDrop::Record(Some((event, stream))))
            }
            Err(error) => {
                let user = BlockUser::of_borrowed(stream);
                let waited = self.in_spite_of(error, |own| {
                    self.stream().other_streams().lend_by_waiting(self.ordered(), stream, user, own)
                });
                (if waited { self.address } else { 0 }, NOTHING_TO_DO)
            }
        }
    }

    /// Orders another stream relative to the pool's stream. If the stream is unknown to the pool,
    /// the method returns the event that the guard must record.
    fn guarded(
        &self,
        stream: &CudaStream,
        access: ViewAccess,
    ) -> Result<Option<NonNull<CudaEvent>>, CudaError> {
        if self.bytes == 0 {
            return Ok(None);
        }
        let own = self.stream();
        let ordered = self.ordered();
        let bytes = self.bytes_of(ordered.block);
        if access == ViewAccess::Exclusive {
            own.other_streams().end_guards(&bytes);
        }
        let to = self.borrower(stream, BlockUser::of_borrowed(stream))?;
        own.other_streams().lend_with_guard((ordered, bytes), to, own.stream())
    }

    /// Returns the address for a copy on the pool's own stream that may write to another device.
    /// The method also records that the other device uses the memory.
    fn address_for_another_device(&self) -> Address {
        let joined = self.join();
        self.arm();
        let noted = self.stream().other_streams().note_another_device(self.ordered());
        // An allocator hook might have made another context current while the pool recorded the
        // use. The stream's context must be current because cudarc will use the stream's raw handle
        // next.
        self.address_if(joined.and(noted).and(self.stream().bind()))
    }

    /// Records that cudarc queried the pool's stream. Two queries followed by a pointer request
    /// indicate a copy to another device.
    pub(crate) fn asked_for_stream(&self) {
        self.stream().other_streams().note_question(self.address);
    }

    /// Returns the address for work on the pool's own stream, or 0 if the pool cannot order the
    /// other streams that use the memory.
    #[inline]
    pub(crate) fn own_address(&self) -> &Address {
        static REFUSED: Address = 0;
        match self.address_if(self.join()) {
            0 => &REFUSED,
            _ => &self.address,
        }
    }

    #[inline]
    fn address_if(&self, ordered: Result<(), CudaError>) -> Address {
        match ordered {
            Ok(()) => self.address,
            Err(error) => self.address_in_spite_of(error),
        }
    }

    /// Returns the address for work on the pool's own stream if ordering the other streams with
    /// events has failed.
    #[cold]
    fn address_in_spite_of(&self, error: CudaError) -> Address {
        let other_streams = self.stream().other_streams();
        let waited = self.in_spite_of(error, |own| {
            other_streams.wait_for_users(self.ordered(), own).and_then(|()| self.stream().bind())
        });
        if waited { self.address } else { 0 }
    }

    /// Stores the error that occurred while the streams were being ordered. The host then waits for
    /// the same streams one after another. These waits use other driver calls than the one that
    /// failed, so they might succeed. Returns `true` if every wait succeeds.
    #[cold]
    fn in_spite_of(
        &self,
        error: CudaError,
        wait: impl FnOnce(&CudaStream) -> Result<(), CudaError>,
    ) -> bool {
        self.stream().keep_pending_error(Err(error));
        matches!(error, CudaError::Call { .. }) && wait(self.stream().stream()).is_ok()
    }
}
