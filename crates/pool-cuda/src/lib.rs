//! The CUDA backend of `pool`, which provides pools and scopes for device memory.
//!
//! Each pool belongs to one device and one stream, represented by a [`DeviceStream`]. Acquiring an
//! array returns a [`DeviceViewMut`], which cudarc accepts in place of its own slices. The pool
//! enqueues all of its own work on its stream. A pool's stream orders every reuse of memory, so a
//! loop in a steady state needs no events, waits, or driver calls to manage memory. If work on
//! another stream uses the pool's memory, the pool orders the work on the two streams (see
//! [`record_use`]).
//!
//! ```no_run
//! use pool_core::{Pool, PoolError, PoolView, PoolViewMut, Scope};
//! use pool_cuda::{Cuda, CudaError};
//!
//! /// The same function for every backend: `Scope<'_, B>`. This one is for the device.
//! fn smooth(scope: &Scope<'_, Cuda>, samples: &[f32]) -> Result<Vec<f32>, PoolError<CudaError>> {
//!     let input = scope.try_acquire_from(samples)?;
//!     let mut output = scope.try_acquire::<f32, _>(input.len())?;
//!     // … `scope.launch(&kernel).arg(&mut output).arg(&input)` …
//!     # output.copy_from(input.as_view()).unwrap();
//!     Ok(output.copy_to_vec().unwrap())
//! }
//!
//! let mut pool = Pool::<Cuda>::new(Cuda::device(0)?.new_stream()?);
//! for _ in 0..1000 {
//!     smooth(&pool.scope(), &[1.0, 2.0, 3.0]).unwrap(); // allocates in the first pass alone
//! }
//! # Ok::<(), CudaError>(())
//! ```
//!
//! [`Stacked<Cuda>`](pool_core::Stacked) places all of a pass's arrays in one block. A stacked pool
//! therefore needs less device memory than a pool with slots. Stacked pools return the same view
//! types as pools with slots.
//!
//! The crate builds on machines without CUDA. If the driver is missing, every function returns a
//! typed error instead of panicking. [`Cuda::is_available`] checks for the driver.
//!
//! `trim`, `compact`, and `clear` block until the pool's stream has completed its work and the
//! freed memory has been returned to the device. A pool's other operations block the host in only
//! three cases:
//!
//! - The host reads a view.
//! - The pool cannot determine when another stream has finished using the pool's memory (see
//!   [`register_stream`]).
//! - An allocation would otherwise fail. Before the pool reports a failed allocation, it waits for
//!   the device's other streams and trims the thread's idle pools (see [`Reclaim`]).
//!
//! One build of this crate works with every driver that supports CUDA 12.0 or newer.
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `fallback-dynamic-loading` (default) | loads the driver at its first use, unless another crate in the build links it | nothing |
//! | `dynamic-loading` | loads the driver at its first use, in the whole build | cannot be combined with `dynamic-linking` |
//! | `dynamic-linking` | links programs with the driver | programs start only on machines with the driver |
//! | `any-cuda-version` | cudarc chooses the version of its bindings: the version of the toolkit on the build machine, or the newest. Without this feature, another crate must choose a version from 12.0 on, for example with `cudarc/cuda-12080` | the build fails if cudarc does not know the toolkit |

#![cfg_attr(docsrs, feature(doc_cfg))]

// Layering: a module may import only the modules that its row lists after the colon. The
// `cargo xtask imports` command checks this list, and `cargo xtask imports --list` prints it.
//
// stream: nothing
// cuda: stream
// view: cuda, stream
// backend: cuda, stream, view
// shared: cuda, stream

mod backend;
mod cuda;
mod shared;
mod stream;
mod view;

pub use cuda::Cuda;
pub use cudarc;
pub use pool_core::BlockWatch;
pub use pool_driver::code::DriverCode;
pub use pool_driver::deferred_frees::{DeferredFreeCounts, DeferredFreeKind};
pub use pool_driver::error::{CudaError, MemoryInfo};
pub use pool_driver::reclaim::Reclaim;
pub use shared::SharedStream;
pub use stream::block_source::BlockSource;
pub use stream::device::CudaDevice;
pub use stream::device_stream::DeviceStream;
#[doc(hidden)]
pub use stream::holders::set_idle_pools_trim;
pub use stream::registered_streams::register_stream;
pub use view::block::DeviceBlock;
pub use view::device_pool::DevicePool;
pub use view::device_view::{DeviceView, DeviceViewMut, OnDevice, record_use};
pub use view::kernel_arguments::OnStream;
pub use view::launch::Launch;
pub use view::shape::{AcquireShaped, DeviceShape, ShapedArray};
pub use view::shape_descriptor::ShapeDescriptor;
