//! Implements views of device memory, their operations, and cudarc's traits for views.

pub(crate) mod block;
mod contents;
mod device_pointers;
pub(crate) mod device_pool;
pub(crate) mod device_view;
pub(crate) mod fill;
pub(crate) mod kernel_arguments;
pub(crate) mod launch;
pub(crate) mod region;
pub(crate) mod shape;
pub(crate) mod shape_descriptor;
pub(crate) mod transfer;
