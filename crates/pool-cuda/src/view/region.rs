//! The part of a view that is common to all view types. The common part consists of an address in
//! the block of a slot, and a reference to the slot. Through the slot, a view accesses the pool's
//! stream and the pool's notes of other streams.

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

/// A guard that does nothing when it is dropped. Such a guard is sufficient for the pool's own
/// stream, which needs no event. Such a guard is also sufficient for streams that the pool knows,
/// because the pool itself waits for them.
const NOTHING_TO_DO: SyncOnDrop<'static> = SyncOnDrop::Sync(None);

/// The kind of access that a pointer from a view is used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewAccess {
    Shared,
    /// Access through a view while neither another view of the same bytes nor a guard from such a
    /// view is in use.
    Exclusive,
}

/// The part of a block that a view covers.
///
/// A region is used only inside a view, before the lifetime `'s` of that view has ended. The
/// region's slot is therefore alive and below the cursor, and the slot's block has not been
/// replaced. Because a [`SlotRef`] is not `Send`, a region can be used only on the thread that owns
/// the pool.
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
    /// The region must be used only inside a view that covers these bytes and that was returned by
    /// the slot's pool.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, bytes: usize) -> Self {
        // In a stack, even an empty array has an address, which is replaced by 0 here.
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

    /// Returns the bytes that the pool orders as a unit when the region is used. If the region is
    /// in a slot, the pool orders the slot's whole block as a unit. If the region is in a stack,
    /// the pool orders only the region's own bytes.
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

    /// Returns the region's address as a pointer. If the region is empty, this pointer does not
    /// point into the pool's memory.
    fn start(&self) -> NonNull<u8> {
        DeviceBlock(self.address).pointer()
    }

    /// Arms the slot that contains the region's bytes.
    fn arm(&self) {
        // SAFETY: the region is used only while its view is in use, the view covers these bytes,
        // and this code runs on the pool's thread.
        unsafe { self.slot.arm_bytes(self.start(), self.bytes) };
    }

    /// Makes the pool's stream wait for all other streams that use the block. This method must be
    /// called before every use of the region on the pool's own stream.
    #[inline]
    pub(crate) fn join(&self) -> Result<(), CudaError> {
        let stream = self.stream();
        if stream.other_streams().is_empty() || self.bytes == 0 {
            return Ok(());
        }
        stream.other_streams().join(self.ordered(), stream.stream())
    }

    /// Makes a stream wait for the pool's stream, so that the stream can use the region. The pool
    /// waits for that stream before it reuses or frees the memory, or uses the memory on its own
    /// stream.
    pub(crate) fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        if self.is_own(stream) {
            return self.join();
        }
        self.stream().device().check_reach(stream)?;
        self.lend_to(stream, BlockUser::of_shared(stream))
    }

    /// Does the same as [`lend`](Self::lend), but also accepts streams of other devices, as copies
    /// between devices require.
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

    /// Arms the slot, and checks whether the stream may use the slot's block.
    fn borrower<'b>(
        &self,
        stream: &'b CudaStream,
        user: BlockUser,
    ) -> Result<Borrower<'b>, CudaError> {
        self.arm();
        Ok(Borrower { stream, user, admitted: self.stream().admit(stream)? })
    }

    /// Orders a stream with the pool's stream. The method returns the address for work on the
    /// stream, and a guard that must be dropped after this work has been enqueued.
    ///
    /// If the streams cannot be ordered, the method returns address 0. The driver rejects copies
    /// and fills at this address. The error is stored, and [`DeviceStream::take_unanswered`]
    /// returns it later.
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

    /// Returns the address and the guard for work on a stream other than the pool's stream, like
    /// [`pointer_for`](Self::pointer_for).
    fn pointer_for_other<'a>(
        &'a self,
        stream: &'a CudaStream,
        access: ViewAccess,
    ) -> (Address, SyncOnDrop<'a>) {
        let reached = self.stream().device().check_reach(stream);
        match reached.and_then(|()| self.guarded(stream, access)) {
            Ok(None) => (self.address, NOTHING_TO_DO),
            Ok(Some(event)) => {
                // SAFETY: the event is alive until all views of these bytes have ended, and the
                // guard borrows from a view of these bytes.
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

    /// Orders a stream other than the pool's stream with the pool's stream. If the pool does not
    /// know the stream, the method returns the event that the guard must record.
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

    /// Returns the address for a copy that runs on the pool's own stream and may write to another
    /// device. The method also notes that the other device uses the memory.
    fn address_for_another_device(&self) -> Address {
        let joined = self.join();
        self.arm();
        let noted = self.stream().other_streams().note_another_device(self.ordered());
        // A hook of the allocator may have made another context current while the note was added.
        // The stream's context is made current again, because cudarc goes on to use the stream's
        // raw handle.
        self.address_if(joined.and(noted).and(self.stream().bind()))
    }

    /// Records that cudarc queried the pool's stream. A copy to another device begins with a query
    /// of the pool's stream.
    pub(crate) fn asked_for_stream(&self) {
        self.stream().other_streams().note_question(self.address);
    }

    /// Returns the address for work on the pool's own stream, or 0 if the other streams cannot be
    /// ordered.
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

    /// Returns the address for work on the pool's own stream after the other streams could not be
    /// ordered with events.
    #[cold]
    fn address_in_spite_of(&self, error: CudaError) -> Address {
        let other_streams = self.stream().other_streams();
        let waited = self.in_spite_of(error, |own| {
            other_streams.wait_for_users(self.ordered(), own).and_then(|()| self.stream().bind())
        });
        if waited { self.address } else { 0 }
    }

    /// Stores the error that occurred when the streams could not be ordered. If a driver call
    /// failed, the host then waits for the same streams one after another, because these waits use
    /// different driver calls. The method returns `true` if all of these waits succeeded.
    #[cold]
    fn in_spite_of(
        &self,
        error: CudaError,
        wait: impl FnOnce(&CudaStream) -> Result<(), CudaError>,
    ) -> bool {
        self.stream().keep_unanswered(Err(error));
        matches!(error, CudaError::Call { .. }) && wait(self.stream().stream()).is_ok()
    }
}
