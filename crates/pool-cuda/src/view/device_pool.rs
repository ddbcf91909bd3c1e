//! Defines the trait for backends whose pools return device views.

use pool_core::{PoolBackend, SlotRef, Stacked};
use pool_driver::error::CudaError;

use crate::cuda::Cuda;
use crate::stream::device_stream::DeviceStream;
use crate::view::block::DeviceBlock;
use crate::view::shape_descriptor::ShapeDescriptor;

/// A backend with memory on a CUDA device: [`Cuda`] or [`Stacked<Cuda>`](pool_core::Stacked). This
/// trait is sealed.
///
/// A function that launches kernels can accept both backends by declaring a parameter of type
/// `Scope<'_, B>` with `B: DevicePool`.
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
        /// Converts a slot reference into the type that device views store.
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
