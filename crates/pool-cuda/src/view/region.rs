//! What every view is made of: an address in a slot's block, and a reference to the slot, through which the pool's
//! stream is found and other streams are noted.

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

/// The guard that has nothing to end: the pool's own stream needs no event, and of a stream that is known the pool finds
/// out by itself what it holds.
const NOTHING_TO_DO: SyncOnDrop<'static> = SyncOnDrop::Sync(None);

/// How a view that gives out a pointer is borrowed meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ViewAccess {
    Shared,
    /// No other view of the bytes is in use, nor a guard that another one gave.
    Exclusive,
}

/// Part of a block that a view covers.
///
/// A region is only ever used inside a view, before that view's `'s` has ended: so its slot is live and
/// below the cursor, its block stays where it is, and, because a [`SlotRef`] is not `Send`, this is the
/// thread that owns the pool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Region {
    pub(crate) address: Address,
    pub(crate) bytes: usize,
    slot: SlotRef<Cuda>,
}

impl Region {
    /// The first bytes of a slot's block.
    ///
    /// # Safety
    ///
    /// The region is used only inside a view that the slot's pool handed out, which covers these bytes.
    #[inline(always)]
    pub(crate) unsafe fn new(block: DeviceBlock, slot: SlotRef<Cuda>, bytes: usize) -> Self {
        // In a stack, also an array without bytes has an address.
        Self { address: if bytes == 0 { 0 } else { block.0 }, bytes, slot }
    }

    /// The first `bytes` bytes, and the rest; the region is at least as long.
    pub(crate) fn split(self, bytes: usize) -> (Self, Self) {
        let rest =
            Self { address: self.address + bytes as Address, bytes: self.bytes - bytes, ..self };
        (Self { bytes, ..self }, rest)
    }

    /// The pool's stream.
    #[inline]
    pub(crate) fn stream(&self) -> &DeviceStream {
        // SAFETY: the region's view is in use (type), so the pool lives while this is borrowed.
        unsafe { self.slot.pool_context() }
    }

    /// The bytes that are ordered together with the region: of a slot all that its block has, of a stack the region's own.
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

    /// The region's bytes, which lie in a block.
    fn bytes_of(&self, block: Address) -> Bytes {
        Bytes { block, start: self.address, length: self.bytes }
    }

    /// The region's address, as a pointer. Of a region without bytes it is none of the pool's.
    fn start(&self) -> NonNull<u8> {
        DeviceBlock(self.address).pointer()
    }

    /// Arms the region's bytes.
    fn arm(&self) {
        // SAFETY: the region's view is in use, on the pool's thread, and has these bytes (type).
        unsafe { self.slot.arm_bytes(self.start(), self.bytes) };
    }

    /// Makes the pool's stream come after the other streams that use the block, if there are any. Called before
    /// every use of the region on the pool's own stream.
    #[inline]
    pub(crate) fn join(&self) -> Result<(), CudaError> {
        let stream = self.stream();
        if stream.other_streams().is_empty() || self.bytes == 0 {
            return Ok(());
        }
        stream.other_streams().join(self.ordered(), stream.stream())
    }

    /// Makes a stream come after the pool's stream. The pool's stream comes after that one when the memory is next
    /// used on the pool's stream, handed out or freed.
    pub(crate) fn lend(&self, stream: &Arc<CudaStream>) -> Result<(), CudaError> {
        if self.is_own(stream) {
            return self.join();
        }
        self.stream().device().check_reach(stream)?;
        self.lend_to(stream, BlockUser::of_shared(stream))
    }

    /// As [`lend`](Self::lend), to a stream that may be of another device: for copies between devices.
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

    /// Arms the slot, and asks whether the stream may use its block.
    fn borrower<'b>(
        &self,
        stream: &'b CudaStream,
        user: BlockUser,
    ) -> Result<Borrower<'b>, CudaError> {
        self.arm();
        Ok(Borrower { stream, user, admitted: self.stream().admit(stream)? })
    }

    /// The address for work on a stream, which is ordered with the pool's stream, and the guard that ends the work. Where
    /// the two cannot be ordered, the address is 0, at which the driver refuses copies and fills, and the reason is kept
    /// for [`DeviceStream::take_unanswered`].
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

    /// The address and the guard for work on a stream that is not the pool's; as [`pointer_for`](Self::pointer_for).
    fn pointer_for_other<'a>(
        &'a self,
        stream: &'a CudaStream,
        access: ViewAccess,
    ) -> (Address, SyncOnDrop<'a>) {
        let reached = self.stream().device().check_reach(stream);
        match reached.and_then(|()| self.guarded(stream, access)) {
            Ok(None) => (self.address, NOTHING_TO_DO),
            Ok(Some(event)) => {
                // SAFETY: the event lives until the views of these bytes have ended, and the guard borrows from one.
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

    /// Orders a stream that is not the pool's, for a pointer that goes together with a guard.
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

    /// The address for a copy on the pool's own stream that may be to another device: that device is noted as a user.
    fn address_for_another_device(&self) -> Address {
        let joined = self.join();
        self.arm();
        let noted = self.stream().other_streams().note_another_device(self.ordered());
        // Noting the other device may have run code of others, which may have made another context current, and
        // cudarc goes on with its stream's bare handle.
        self.address_if(joined.and(noted).and(self.stream().bind()))
    }

    /// Notes that cudarc asked for the pool's stream, with which a copy to another device begins.
    pub(crate) fn asked_for_stream(&self) {
        self.stream().other_streams().note_question(self.address);
    }

    /// The address for work on the pool's own stream; as [`pointer_for`](Self::pointer_for).
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

    /// The address for the pool's own stream after that could not be ordered.
    #[cold]
    fn address_in_spite_of(&self, error: CudaError) -> Address {
        let other_streams = self.stream().other_streams();
        let waited = self.in_spite_of(error, |own| {
            other_streams.wait_for_users(self.ordered(), own).and_then(|()| self.stream().bind())
        });
        if waited { self.address } else { 0 }
    }

    /// Keeps the error of streams that could not be ordered. Where it was a call of the driver that failed, the host waits
    /// for the same streams instead, one by one: that is an order, too, by other calls. Returns whether it did.
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
