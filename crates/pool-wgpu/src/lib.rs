//! The wgpu backend of `pool`: pools of storage buffers on Vulkan, Metal, Direct3D 12, and the WebGPU of a browser.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod backend;
mod bind_groups;
mod binding;
mod block_watch;
mod calls;
mod counts;
mod elements;
mod error;
mod kernel;
mod memory;
mod open;
mod options;
mod parameters;
mod reading;
mod recorder;
mod setup;
mod staging;
mod stream;
mod turn;
mod view;

pub use binding::{Access, Binding};
pub use block_watch::BlockWatch;
pub use counts::Counts;
pub use error::WgpuError;
pub use kernel::{Kernel, PARAMETER_BYTES};
pub use memory::{Wgpu, WgpuBlock};
pub use options::StreamOptions;
pub use reading::Reading;
pub use stream::Stream;
pub use view::{BufferView, BufferViewMut};
pub use wgpu;
