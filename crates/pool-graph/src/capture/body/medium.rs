//! Where a body takes its memory from and puts its work: the arena and the streams of a capture, or nowhere in a dry
//! run.

use std::sync::Arc;

use pool_driver::event::Event;

use super::frontiers::Frontiers;
use crate::arena::CudaArena;
use crate::capture::error::CaptureError;

/// What a body works on.
pub(super) enum Medium {
    /// A dry run, whose memory is addresses alone: where the next temporary begins.
    Dry(u64),
    /// A capture of the driver.
    Live(LiveCapture),
    /// Nothing any more: the body is over, and pools that were forgotten keep no memory.
    Over,
}

/// A capture of the driver that is under way.
pub(crate) struct LiveCapture {
    pub(super) arena: CudaArena,
    /// The event by which streams of the capture are made to come after each other.
    pub(super) event: Arc<Event>,
    /// Where the body left its streams.
    pub(super) frontiers: Frontiers,
}

/// Where a dry run puts its temporaries: where no device has memory.
const DRY_BASE: u64 = 1 << 62;

impl LiveCapture {
    /// A capture with the arena of its session, whose streams stand where `frontiers` has them.
    pub(crate) fn new(arena: &CudaArena, event: Arc<Event>, frontiers: Frontiers) -> Self {
        let arena = CudaArena::of_session(Arc::clone(arena.shared()));
        Self { arena, event, frontiers }
    }
}

impl Medium {
    pub(super) const DRY: Self = Self::Dry(DRY_BASE);

    /// The address of new bytes, and where they lie in the arena.
    pub(super) fn take(&mut self, bytes: u64) -> Result<(u64, u64), CaptureError> {
        match self {
            Self::Dry(next) => {
                let address = *next;
                let elements = usize::try_from(bytes).unwrap_or(usize::MAX);
                let overflow = CaptureError::SizeOverflow { elements, size: 1 };
                *next = address.checked_add(bytes).ok_or(overflow)?;
                Ok((address, address - DRY_BASE))
            }
            Self::Live(live) => {
                let region = live.arena.allocate(bytes)?;
                Ok((region.address(), region.offset()))
            }
            Self::Over => Err(CaptureError::Internal {
                found: "a pool that has outlived its capture asked for memory",
            }),
        }
    }

    /// The capture of the driver; none in a dry run.
    pub(super) fn live(&mut self) -> Option<&mut LiveCapture> {
        match self {
            Self::Live(live) => Some(live),
            Self::Dry(_) | Self::Over => None,
        }
    }
}
