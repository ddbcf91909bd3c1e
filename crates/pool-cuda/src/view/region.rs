//! What every view is made of: an address in a slot's block, and a reference to the slot, through which the pool's
//! stream is found and other streams are noted.

use std::sync::Arc;

use cudarc::driver::CudaStream;
use pool_core::SlotRef;

use crate::cuda::Cuda;
use crate::driver::calls::Address;
use crate::driver::error::CudaError;
use crate::stream::block_user::BlockUser;
use crate::stream::device_stream::DeviceStream;
use crate::stream::other_streams::Borrower;
use crate::view::block::DeviceBlock;

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
        Self { address: block.0, bytes, slot }
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
        unsafe { self.slot.context() }
    }

    /// The block that the region lies in.
    fn block(&self) -> Address {
        // SAFETY: the region's view is in use (type).
        let block: DeviceBlock = unsafe { self.slot.block() };
        block.0
    }

    /// Makes the pool's stream come after the other streams that use the block, if there are any. Called before
    /// every use of the region on the pool's own stream.
    #[inline]
    pub(crate) fn join(&self) -> Result<(), CudaError> {
        let stream = self.stream();
        if stream.other_streams().is_empty() {
            return Ok(());
        }
        stream.other_streams().join(self.block(), stream.stream())
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
        // SAFETY: the region's view is in use, on the pool's thread (type).
        unsafe { self.slot.arm() };
        let own = self.stream();
        let admitted = own.admit(stream)?;
        own.other_streams().lend(self.block(), Borrower { stream, user, admitted }, own.stream())
    }

    /// The address for work on a stream, which is ordered with the pool's stream. Where the two cannot be ordered,
    /// the address is 0, at which the driver refuses copies and fills, and the reason is kept for
    /// [`DeviceStream::take_unanswered`].
    pub(crate) fn address_for(&self, stream: &CudaStream) -> Address {
        let other_streams = self.stream().other_streams();
        let may_be_elsewhere = other_streams.may_be_for_another_device(self.block());
        if !self.is_own(stream) {
            let reached = self.stream().device().check_reach(stream);
            let ordered =
                reached.and_then(|()| self.lend_to(stream, BlockUser::of_borrowed(stream)));
            return self.address_if(ordered);
        }
        let joined = self.join();
        if may_be_elsewhere && self.bytes > 0 {
            // SAFETY: the region's view is in use, on the pool's thread (type).
            unsafe { self.slot.arm() };
            let noted = other_streams.note_another_device(self.block());
            // Noting the other device may have run code of others, which may have made another context current, and
            // cudarc goes on with its stream's bare handle.
            return self.address_if(joined.and(noted).and(self.stream().bind()));
        }
        self.address_if(joined)
    }

    /// Notes that cudarc asked for the pool's stream, with which a copy to another device begins.
    pub(crate) fn asked_for_stream(&self) {
        self.stream().other_streams().note_question(self.block());
    }

    /// The address for work on the pool's own stream; as [`address_for`](Self::address_for).
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

    /// The address after the streams could not be ordered. Where the driver failed to order streams of one context,
    /// the host waits for all work of that context instead, and the address is good; else it is 0.
    #[cold]
    fn address_in_spite_of(&self, error: CudaError) -> Address {
        let stream = self.stream();
        stream.keep_unanswered(Err(error));
        let is_made_up_for = matches!(error, CudaError::Call { .. })
            && stream.other_streams().are_within(self.block(), stream.device().context())
            && stream.wait_for_all().is_ok();
        if is_made_up_for { self.address } else { 0 }
    }
}
