//! The backends whose pools return device views: [`Cuda`], and stacks of it.

use pool_core::{PoolBackend, SlotRef, Stacked};
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::stream::device_stream::DeviceStream;
use crate::view::block::DeviceBlock;
use crate::view::shape_descriptor::ShapeDescriptor;

/// [`Cuda`] or [`Stacked<Cuda>`](pool_core::Stacked): the backends of device memory. Sealed.
///
/// Functions that launch kernels from a scope and are generic over the layout take a `Scope<'_, B>`
/// with `B: DevicePool`.
pub trait DevicePool:
    PoolBackend<
        Context = DeviceStream,
        Block = DeviceBlock,
        Descriptor = ShapeDescriptor,
        Error = CudaError,
    > + sealed::DevicePool
{
}

impl DevicePool for Cuda {}

impl DevicePool for Stacked<Cuda> {}

pub(crate) mod sealed {
    use super::{Cuda, PoolBackend, SlotRef, Stacked};

    pub trait DevicePool: PoolBackend {
        /// Converts the reference that device views keep.
        fn of_views(slot: SlotRef<Self>) -> SlotRef<Cuda>;
    }

    impl DevicePool for Cuda {
        fn of_views(slot: SlotRef<Self>) -> SlotRef<Cuda> {
            slot
        }
    }

    impl DevicePool for Stacked<Cuda> {
        fn of_views(slot: SlotRef<Self>) -> SlotRef<Cuda> {
            slot.of_backend()
        }
    }
}
