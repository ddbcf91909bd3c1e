//! Memory of a CUDA device.

mod without;

pub use without::DeviceMemory;
