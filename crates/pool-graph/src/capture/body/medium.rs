//! The memory and the streams that a body uses: the arena and the streams of a capture, or only
//! addresses in a dry run.

use std::sync::Arc;

use pool_driver::event::Event;

use super::frontiers::Frontiers;
use crate::arena::CudaArena;
use crate::capture::error::CaptureError;

/// The memory and the streams of a body.
pub(super) enum Medium {
    /// A dry run, whose addresses have no memory behind them. The value is the address of the next
    /// temporary.
    Dry(u64),
    /// A capture in the driver.
    Live(LiveCapture),
    /// The body has ended. Forgotten pools hold no memory.
    Over,
}

/// A capture in progress in the driver.
pub(crate) struct LiveCapture {
    pub(super) arena: CudaArena,
    /// The event that orders streams of the capture.
    pub(super) event: Arc<Event>,
    /// The last nodes of the streams, as the body left them.
    pub(super) frontiers: Frontiers,
}

/// The address at which a dry run's temporaries begin. No device memory is at this address.
const DRY_BASE: u64 = 1 << 62;

impl LiveCapture {
    /// Creates a capture in the arena of its session. `frontiers` contains the last nodes of the
    /// streams.
    pub(crate) fn new(arena: &CudaArena, event: Arc<Event>, frontiers: Frontiers) -> Self {
        let arena = CudaArena::of_session(Arc::clone(arena.shared()));
        Self { arena, event, frontiers }
    }
}

impl Medium {
    pub(super) const DRY: Self = Self::Dry(DRY_BASE);

    /// Allocates bytes. Returns their address and their offset in the arena.
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
                found: "a pool requested memory after the end of its capture",
            }),
        }
    }

    /// Returns the capture in the driver; `None` in a dry run.
    pub(super) fn live(&mut self) -> Option<&mut LiveCapture> {
        match self {
            Self::Live(live) => Some(live),
            Self::Dry(_) | Self::Over => None,
        }
    }
}
