//! Support for DLPack, a format for exchanging arrays between libraries. This crate exports owned
//! arrays as tensors for other libraries, and imports their tensors as slices. Neither exports nor
//! imports copy the elements.
//!
//! [`export()`] converts an [`Owned`](pool_core::Owned) array into a managed DLPack tensor. The
//! consumer may drop the tensor on any thread, and the tensor's memory then returns to the pool.
//! The memory stays valid even after the pool's last handle has been dropped. [`export_shared`]
//! creates read-only tensors from an array that Rust code can read at the same time.
//!
//! [`HostTensor`] imports a tensor from another library and dereferences to a slice of its
//! elements. The import checks the tensor's element type, device, strides, alignment, and flags.
//!
//! ```
//! use pool_core::SharedPool;
//! use pool_cpu::Cpu;
//! use pool_dlpack::dlpark::versioned::Dlpack;
//! use pool_dlpack::{HostTensor, export};
//!
//! let pool = SharedPool::<Cpu>::default();
//! let array = pool.take_with(6, |i| i as f32);
//! let address = array.as_ptr();
//! let tensor: Dlpack = export(array, &[2, 3])?; // to numpy, by dlpark's feature `pyo3`
//!
//! // What a consumer in Rust does.
//! // SAFETY: the tensor is valid, and nothing writes to it.
//! let foreign = unsafe { HostTensor::<f32>::import(tensor) }?;
//! assert_eq!((foreign.shape(), foreign.as_ptr()), ([2, 3].as_slice(), address));
//! assert_eq!(foreign.iter().sum::<f32>(), 15.0);
//! drop(foreign);
//! assert_eq!(pool.stats().active_slots, 0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Features
//!
//! | feature | gives | costs |
//! |---|---|---|
//! | `cuda` | exports `Owned<Cuda, T>`, and imports tensors of a CUDA device | pool-cuda, cudarc |
//! | `any-cuda-version` | cudarc chooses the version of its bindings, as with the same feature of `pool-cuda` | the build fails if cudarc does not know the toolkit |
//! | `half` | `half::f16` and `half::bf16` can be elements of tensors | half |
//! | `complex` | `num_complex::Complex` can be an element of tensors | num-complex |

#![cfg_attr(docsrs, feature(doc_cfg))]

// Layering: each module may import only the modules listed to the right of its name. The
// `cargo xtask imports` command checks this list, and `cargo xtask imports --list` prints it.
//
// element: nothing
// error: element
// layout: element, error
// export: element, error
// host_tensor: element, error, layout
// device: element, error, export, layout

#[cfg(feature = "cuda")]
mod device;
mod element;
mod error;
mod export;
mod host_tensor;
mod layout;

#[cfg(feature = "cuda")]
pub use device::{DeviceTensor, DeviceTensorMut, export_device};
pub use dlpark;
pub use element::TensorElement;
pub use error::{Refused, TensorError};
pub use export::{export, export_shared};
pub use host_tensor::HostTensor;

/// Compiles the code blocks in the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
