//! The part that all views share: an address in a slot's block, and a reference to the slot.
//! Through the slot, a view reaches the pool's stream and the notes of other streams.

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

/// A guard that does nothing. The pool's own stream needs no event, and the pool itself waits for
/// known streams.
const NOTHING_TO_DO: SyncOnDrop<'static> = SyncOnDrop::Sync(None);

/// The kind of borrow of a view that returns a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewAccess {
    Shared,
    /// No other view of the bytes, and no guard from another view, is in use.
    Exclusive,
}

/// The part of a block that a view covers.
///
/// A region is used only inside a view, before that view's `'s` has ended. Its slot is therefore
/// live and below the cursor, and the slot's block stays in place. A [`SlotRef`] is not `Send`, so
/// the current thread is the one that owns the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) address: Address,
    pub(crate) bytes: usize,
    slot: SlotRef<Cuda>,
}

impl Region {
    /// Creates the region that covers the first bytes of a slot's block.
    ///
    /// # Safety
    ///
    /// The region must be used only inside a view that the slot's pool returned and that covers
    /// these bytes.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, bytes: usize) -> Self {
        // In a stack, an array without bytes also has an address.
        Self { address: if bytes == 0 { 0 } else { block.0 }, bytes, slot }
    }

    /// Splits the region into the first `bytes` bytes and the rest. The region must contain at
    /// least `bytes` bytes.
    pub(crate) fn split(self, bytes: usize) -> (Self, Self) {
        let rest =
            Self { address: self.address + bytes as Address, bytes: self.bytes - bytes, ..self };
        (Self { bytes, ..self }, rest)
    }

    /// Returns the pool's stream.
    #[inline]
    pub(crate) fn stream(&self) -> &DeviceStream {
        // SAFETY: the region's view is in use (type), so the pool lives during this borrow.
        unsafe { self.slot.pool_context() }
    }

    /// Returns the bytes that are ordered together with the region: the whole block for a slot, and
    /// the region's own bytes for a stack.
    fn ordered(&self) -> Bytes {
        if self.bytes == 0 {
            return self.bytes_of(0);
        }
        // SAFETY: the region's view is in use, on the pool's thread (type).
        match unsafe { self.slot.block_of(self.start()) } {
            BlockOf::Stack(DeviceBlock(block)) => self.bytes_of(block),
            BlockOf::Slot(DeviceBlock(block)) => Bytes::of_block(block),
            _ => self.bytes_of(self.address),
        }
    }

    /// Returns the region's bytes, given the block that contains them.
    fn bytes_of(&self, block: Address) -> Bytes {
        Bytes { block, start: self.address, length: self.bytes }
    }

    /// Returns the region's address as a pointer. If the region has no bytes, the pointer is not in
    /// the pool's memory.
    fn start(&self) -> NonNull<u8> {
        DeviceBlock(self.address).pointer()
    }

    /// Arms the region's bytes.
    fn arm(&self) {
        // SAFETY: the region's view is in use, on the pool's thread, and covers these bytes (type).
        unsafe { self.slot.arm_bytes(self.start(), self.bytes) };
    }

    /// Orders the pool's stream after all other streams that use the block. This is called before
    /// every use of the region on the pool's own stream.
    #[inline]
    pub(crate) fn join(&self) -> Result<(), CudaError> {
        let stream = self.stream();
        if stream.other_streams().is_empty() || self.bytes == 0 {
            return Ok(());
        }
        stream.other_streams().join(self.ordered(), stream.stream())
    }

    /// Orders a stream after the pool's stream. The pool's stream is ordered after that stream when
    /// the memory is next used on the pool's stream, reused or freed.
    pub(crate) fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        if self.is_own(stream) {
            return self.join();
        }
        self.stream().device().check_reach(stream)?;
        self.lend_to(stream, BlockUser::of_shared(stream))
    }

    /// Does the same as [`lend`](Self::lend), but also accepts a stream of another device. It is
    /// used for copies between devices.
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

    /// Arms the slot, and checks that the stream may use its block.
    fn borrower<'b>(
        &self,
        stream: &'b CudaStream,
        user: BlockUser,
    ) -> Result<Borrower<'b>, CudaError> {
        self.arm();
        Ok(Borrower { stream, user, admitted: self.stream().admit(stream)? })
    }

    /// Returns the address for work on a stream, after ordering it with the pool's stream, and the
    /// guard that ends the work. If the streams cannot be ordered, the address is 0, at which the
    /// driver refuses copies and fills. The reason is stored for [`DeviceStream::take_unanswered`].
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

    /// Returns the address and the guard for work on a stream other than the pool's; see
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
                // SAFETY: the event lives until all views of these bytes have ended, and the guard
                // borrows from such a view.
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

    /// Orders a stream other than the pool's, for a pointer with a guard.
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

    /// Returns the address for a copy on the pool's own stream that may have its destination on
    /// another device, and notes that device as a user.
    fn address_for_another_device(&self) -> Address {
        let joined = self.join();
        self.arm();
        let noted = self.stream().other_streams().note_another_device(self.ordered());
        // Adding the note may have run foreign code, which may have made another context current.
        // cudarc continues with its stream's raw handle.
        self.address_if(joined.and(noted).and(self.stream().bind()))
    }

    /// Notes that cudarc queried the pool's stream, which is how a copy to another device begins.
    pub(crate) fn asked_for_stream(&self) {
        self.stream().other_streams().note_question(self.address);
    }

    /// Returns the address for work on the pool's own stream; see
    /// [`pointer_for`](Self::pointer_for).
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

    /// Returns the address for the pool's own stream after the ordering has failed.
    #[cold]
    fn address_in_spite_of(&self, error: CudaError) -> Address {
        let other_streams = self.stream().other_streams();
        let waited = self.in_spite_of(error, |own| {
            other_streams.wait_for_users(self.ordered(), own).and_then(|()| self.stream().bind())
        });
        if waited { self.address } else { 0 }
    }

    /// Stores the error of streams that could not be ordered. If a driver call failed, the host
    /// waits for the same streams one by one, which orders them through other calls. Returns `true`
    /// if these waits succeeded.
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
