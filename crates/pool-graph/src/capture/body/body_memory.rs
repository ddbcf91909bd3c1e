//! The memory and streams that a body uses. A capture uses an arena and the session's streams,
//! whereas a dry run uses only addresses.

use std::sync::Arc;

use pool_driver::event::Event;

use super::frontiers::Frontiers;
use crate::arena::CudaArena;
use crate::capture::error::CaptureError;

/// The source of a body's memory, and the state of its streams.
pub(super) enum BodyMemory {
    /// A dry run, whose addresses do not refer to real memory. The `u64` is the address of the next
    /// temporary.
    Dry(u64),
    /// A capture that is in progress in the driver.
    Live(LiveCapture),
    /// The body has ended. Pools that outlive the body can no longer allocate memory.
    Over,
}

/// The arena and the streams of a capture that is in progress in the driver.
pub(crate) struct LiveCapture {
    pub(super) arena: CudaArena,
    /// The event that makes one of the capture's streams wait for another.
    pub(super) event: Arc<Event>,
    /// The last nodes that the capture's own work has added to its streams.
    pub(super) frontiers: Frontiers,
}

/// The address of the first temporary in a dry run. No device memory exists at this address.
const DRY_BASE: u64 = 1 << 62;

impl LiveCapture {
    /// Creates the state of a capture that allocates from the session's arena. `frontiers` contains
    /// the streams' last nodes.
    pub(crate) fn new(arena: &CudaArena, event: Arc<Event>, frontiers: Frontiers) -> Self {
        let arena = CudaArena::of_session(Arc::clone(arena.shared()));
        Self { arena, event, frontiers }
    }
}

impl BodyMemory {
    pub(super) const DRY: Self = Self::Dry(DRY_BASE);

    /// Allocates `bytes` bytes. Returns the address of the allocated memory and its offset in the
    /// arena.
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

    /// Returns the capture that is in progress in the driver, or `None` in a dry run.
    pub(super) fn live(&mut self) -> Option<&mut LiveCapture> {
        match self {
            Self::Live(live) => Some(live),
            Self::Dry(_) | Self::Over => None,
        }
    }
}
