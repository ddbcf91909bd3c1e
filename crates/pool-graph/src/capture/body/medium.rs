//! The source of a body's memory and the target of its work: the arena and the streams of a
//! capture, or none in a dry run.

use std::sync::Arc;

use pool_driver::event::Event;

use super::frontiers::Frontiers;
use crate::arena::CudaArena;
use crate::capture::error::CaptureError;

/// The memory and the streams of a body.
pub(super) enum Medium {
    /// A dry run, whose memory is addresses alone: the address of the next temporary.
    Dry(u64),
    /// A capture of the driver.
    Live(LiveCapture),
    /// None: the body has ended, and forgotten pools keep no memory.
    Over,
}

/// A capture of the driver in progress.
pub(crate) struct LiveCapture {
    pub(super) arena: CudaArena,
    /// The event that orders streams of the capture.
    pub(super) event: Arc<Event>,
    /// The nodes where the body left its streams.
    pub(super) frontiers: Frontiers,
}

/// The base of a dry run's temporaries, at addresses without device memory.
const DRY_BASE: u64 = 1 << 62;

impl LiveCapture {
    /// Creates a capture with the arena of its session, whose streams are at `frontiers`.
    pub(crate) fn new(arena: &CudaArena, event: Arc<Event>, frontiers: Frontiers) -> Self {
        let arena = CudaArena::of_session(Arc::clone(arena.shared()));
        Self { arena, event, frontiers }
    }
}

impl Medium {
    pub(super) const DRY: Self = Self::Dry(DRY_BASE);

    /// Allocates bytes. Returns their address, and their offset in the arena.
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

    /// Returns the capture of the driver; `None` in a dry run.
    pub(super) fn live(&mut self) -> Option<&mut LiveCapture> {
        match self {
            Self::Live(live) => Some(live),
            Self::Dry(_) | Self::Over => None,
        }
    }
}
