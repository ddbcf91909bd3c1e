//! Defines the trait implemented by the host memory backends with `ndarray` views: [`Cpu`] and
//! `Stacked<Cpu>`.

use core::ptr::NonNull;

use pool_core::{Element, HostBackend, Stacked};

use crate::backend::Cpu;
use crate::error::CpuError;
use crate::header::Header;

/// A host memory backend whose views are slices: either `Cpu` or `Stacked<Cpu>`.
#[diagnostic::on_unimplemented(
    message = "`ndarray`'s arrays are views of host memory, but `{Self}` has no host memory",
    label = "not `Cpu` or `Stacked<Cpu>`"
)]
pub trait CpuMemory:
    HostBackend<Block = NonNull<u8>, Descriptor = Header, Error = CpuError>
{
    /// Returns a view's elements as a slice.
    #[doc(hidden)]
    fn elements<'s, T: Element>(view: Self::View<'s, T>) -> &'s mut [T];
}

impl CpuMemory for Cpu {
    #[inline(always)]
    fn elements<'s, T: Element>(view: Self::View<'s, T>) -> &'s mut [T] {
        view
    }
}

impl CpuMemory for Stacked<Cpu> {
    #[inline(always)]
    fn elements<'s, T: Element>(view: Self::View<'s, T>) -> &'s mut [T] {
        view
    }
}
