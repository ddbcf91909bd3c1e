//! Memory of a CUDA device, arenas on its streams, and what the driver says of graphs.

#[cfg(feature = "cuda")]
mod capture;
#[cfg(feature = "cuda")]
pub(crate) mod graph_reading;
#[cfg(feature = "cuda")]
mod installed;
#[cfg(feature = "cuda")]
mod memory;
#[cfg(not(feature = "cuda"))]
mod without;

#[cfg(feature = "cuda")]
pub use memory::DeviceMemory;
#[cfg(feature = "cuda")]
pub(crate) use memory::answer;
#[cfg(not(feature = "cuda"))]
pub use without::DeviceMemory;
