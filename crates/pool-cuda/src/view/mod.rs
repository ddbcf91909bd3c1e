//! Views of device memory, and what they do in our and in cudarc's hands.

pub(crate) mod contents;
pub(crate) mod device_pointers;
pub(crate) mod device_view;
pub(crate) mod fill;
pub(crate) mod launch;
pub(crate) mod region;
pub(crate) mod shape;
pub(crate) mod transfer;
