//! The wgpu backend of `pool`, which provides pools of storage buffers on Vulkan, Metal, Direct3D
//! 12, and WebGPU in a browser.
//!
//! A pool's context is a [`Stream`], which consists of a device, its queue, and one encoder. Fills,
//! copies, and dispatches are recorded in this encoder in call order. In a steady state, a scope
//! creates neither buffers nor bind groups.
//!
//! ```no_run
//! use pool_core::{Pool, PoolView};
//! use pool_wgpu::{Access, Stream, Wgpu};
//!
//! let stream = Stream::open()?; // or `Stream::new(device, queue)` of your own
//! let double = stream.kernel(
//!     "@group(0) @binding(0) var<storage, read_write> y: array<f32>;
//!      @group(0) @binding(1) var<storage, read> x: array<f32>;
//!      @group(1) @binding(0) var<uniform> factor: f32;
//!      @compute @workgroup_size(64) fn main(@builtin(global_invocation_id) id: vec3<u32>) {
//!          if id.x < arrayLength(&x) { y[id.x] = factor * x[id.x]; }
//!      }",
//!     "main",
//!     &[Access::ReadWrite, Access::Read],
//! )?;
//! let mut pool = Pool::<Wgpu>::new(stream.clone());
//! for _ in 0..1_000 {
//!     let scope = pool.scope();
//!     let x = scope.acquire_filled(1_000, 1.0_f32);
//!     let mut y = scope.acquire::<f32, _>(1_000);
//!     let bindings = [y.binding_mut()?, x.binding()?];
//!     stream.dispatch(&double, &bindings, &2.0_f32.to_le_bytes(), [16, 1, 1])?;
//!     let doubled = y.read()?; // await it, or wait for it
//!     assert_eq!(doubled.wait()?[999], 2.0);
//! }
//! # Ok::<(), pool_wgpu::WgpuError>(())
//! ```
//!
//! A kernel accesses views through bindings, which borrow from the views. You can create your own
//! bind groups with [`Binding::resource`]. Use [`Stream::record`] to record the commands that use
//! your own bind groups, or submit those commands after the stream's own. A part of a view can be
//! bound only if its start is a multiple of the device's alignment. Fills, copies, and reads can
//! start at any byte.
//!
//! # Features
//!
//! | feature | enables | adds |
//! |---|---|---|
//! | `vulkan` (default) | Vulkan, on Linux, Android and Windows | no dependencies on other systems |
//! | `metal` (default) | Metal, on Apple's systems | no dependencies on other systems |
//! | `dx12` (default) | Direct3D 12, on Windows | no dependencies on other systems |
//! | `webgpu` (default) | WebGPU in a browser, for `wasm32-unknown-unknown` | no dependencies on other systems |
//! | `half` | `half::f16` as an element, which `Stream::supports` then checks | the `half` crate |

#![cfg_attr(docsrs, feature(doc_cfg))]
#![cfg_attr(
    target_family = "wasm",
    allow(
        clippy::arc_with_non_send_sync,
        reason = "in a browser, wgpu's types belong to one thread, and elsewhere the same code uses several"
    )
)]

// The unit tests share support code with the test suite. The support code refers to the crate by
// its external name.
#[cfg(test)]
extern crate self as pool_wgpu;

// Layering: a module may import only the modules that its row lists after the colon. The
// `cargo xtask imports` command checks this list, and `cargo xtask imports --list` prints it.
//
// bind_groups, config, counts, error, memory, suspend: nothing
// binding: memory
// elements, ending, exclusive_state: error
// calls: ending, error, exclusive_state
// open: config, ending, error
// kernel: binding, calls, ending, error
// staging: calls, counts, error
// parameters: calls, error, kernel
// setup: calls, counts, ending, error, kernel
// reading: ending, error, setup, staging, suspend
// recorder: bind_groups, binding, calls, error, exclusive_state, kernel, memory, parameters, setup, staging
// flaw: error, memory, recorder, setup
// stream: binding, config, counts, elements, ending, error, flaw, kernel, memory, open, reading,
//     recorder, setup, staging, exclusive_state
// block_part: binding, error, memory, stream
// thread: error, stream
// view: binding, block_part, error, memory, reading, stream
// backend: block_part, error, memory, stream, view

mod backend;
mod bind_groups;
mod binding;
mod calls;
mod config;
mod counts;
mod elements;
mod ending;
mod error;
#[cfg(all(test, not(pool_browser_tests)))]
mod flaw;
// The browser tests are a separate program that needs access to this module.
mod block_part;
mod exclusive_state;
#[cfg(pool_browser_tests)]
#[doc(hidden)]
#[allow(missing_docs, reason = "planted mistakes, for tests alone")]
pub mod flaw;
mod kernel;
mod memory;
mod open;
mod parameters;
mod reading;
mod recorder;
mod setup;
mod staging;
mod stream;
#[cfg(all(target_arch = "wasm32", not(pool_browser_tests)))]
mod suspend;
#[cfg(all(target_arch = "wasm32", pool_browser_tests))]
#[doc(hidden)]
pub mod suspend;
mod thread;
mod view;

pub use binding::{Access, Binding};
pub use config::StreamConfig;
pub use counts::Counts;
pub use error::WgpuError;
pub use kernel::{Kernel, PARAMETER_BYTES};
pub use memory::{Wgpu, WgpuBlock};
pub use pool_core::BlockWatch;
pub use reading::Reading;
pub use stream::Stream;
pub use view::{BufferView, BufferViewMut};
pub use wgpu;
