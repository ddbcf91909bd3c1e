//! DLPack: owned arrays as tensors of other frameworks, and their tensors as slices, without a copy.
//!
//! [`export()`] makes a managed tensor of an [`Owned`](pool_core::Owned) array. The consumer drops it on any thread.
//! Then the memory returns to its pool, even if the pool's last handle is gone. [`export_shared`] lends an array that
//! Rust continues to read; its tensors are read-only.
//!
//! [`HostTensor`] is a foreign tensor: it checks elements, device, strides, alignment and flags, and derefs to a slice.
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
//! // A consumer in Rust:
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
//! | `cuda` | `Owned<Cuda, T>` as a tensor, and tensors of a CUDA device | pool-cuda, cudarc |
//! | `any-cuda-version` | cudarc finds the version of its bindings, as with the feature of that name of `pool-cuda` | a toolkit that cudarc does not know is an error of the build |
//! | `half` | `half::f16` and `half::bf16` are elements of tensors | half |
//! | `complex` | `num_complex::Complex` is an element of tensors | num-complex |

#![cfg_attr(docsrs, feature(doc_cfg))]

// Layering: a module may import what follows its colon. `cargo xtask imports` checks it, `--list` prints it anew.
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

/// Compiles the code of the crate's README.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct CrateReadme;
