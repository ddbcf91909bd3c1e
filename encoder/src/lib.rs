//! A sentence encoder of the kind of all-MiniLM-L6-v2, written once for every backend: its temporaries are those of
//! scopes, its weights constants beside them.
//!
//! [`encode()`] is generic over the backend `B`, and computes with an [`Algebra<B>`](Algebra), which each backend
//! implements in a file of its own. [`Model`] lists the tensors, and [`Sentences`] has the input.

mod algebra;
#[cfg(feature = "cuda")]
mod cuda;
pub mod dry;
mod encode;
mod host;
#[cfg(feature = "cuda")]
mod ladder;
mod model;
mod sentences;
pub mod tiny;
#[cfg(feature = "text")]
mod weights;
#[cfg(feature = "wgpu")]
mod wgpu;

pub use algebra::{Algebra, Failure, Layout, NormOf, Product};
#[cfg(feature = "cuda")]
pub use cuda::OnCuda;
pub use encode::{HeadsAtOnce, encode};
pub use host::Host;
#[cfg(feature = "cuda")]
pub use ladder::Ladder;
pub use model::{Configuration, Dense, Layer, Model, ModelOf, Norm, Tensor, Tensors};
pub use sentences::{Batch, BatchOf, Sentences};
#[cfg(feature = "text")]
pub use weights::Directory;
#[cfg(feature = "wgpu")]
pub use wgpu::OnWgpu;
