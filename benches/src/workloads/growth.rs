//! Growth: allocating a fresh block of 8 MiB, writing to it for the first time, and freeing it. The
//! lower bound is the kernel's time for the page faults of the same number of huge pages.

use pool_facade::prelude::*;

use super::on_columns::on_columns;
use crate::case::{Case, Work};
use crate::column::{Address, Column, write_all};
use crate::columns::heap::{WithCapacity, Zeroed};

/// One number less than 8 MiB, because the pool's blocks have room for one more word than
/// requested.
const LENGTH: usize = (8 << 20) / 8 - 1;

pub(super) fn cases() -> Vec<Case> {
    on_columns!("growth", "a fresh 8 MiB, first write":
        "kernel, huge pages" => Mapped<true>,
        "kernel, ordinary pages" => Mapped<false>,
        "pool, explicit" => Grown,
        "with_capacity" => OnHeap<WithCapacity>,
        "vec![0; n]" => OnHeap<Zeroed>,
    )
    .to_vec()
}

/// A pool that is cleared after each pass.
#[derive(Debug)]
pub struct Grown(Pool<Cpu>);

impl Work for Grown {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(Pool::new(()))
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        write_all(&mut self.0.scope().acquire::<f64, _>(LENGTH), LENGTH, 1.0);
        self.0.trim();
    }
}

/// A vector from the global allocator.
#[derive(Debug)]
pub struct OnHeap<C>(C);

impl<C: Column> Work for OnHeap<C> {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        Self(C::new())
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        self.0.scoped(|scope| write_all(&mut C::acquire::<f64>(scope, 0, LENGTH), LENGTH, 1.0));
    }
}

/// A mapping at an address that was reserved in advance. It is only written and unmapped, so it
/// measures page faults.
#[derive(Debug)]
pub struct Mapped<const HUGE: bool> {
    /// An address that is a multiple of 2 MiB, followed by 8 MiB of reserved address space.
    place: *mut libc::c_void,
}

const BYTES: usize = 8 << 20;
const HUGE_PAGE: usize = 2 << 20;

impl<const HUGE: bool> Work for Mapped<HUGE> {
    const WARM_UP: u64 = 3;

    fn new() -> Self {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: this creates a new mapping at an address that the system chooses, and nothing may
        // access it.
        let start = unsafe {
            libc::mmap(std::ptr::null_mut(), BYTES + HUGE_PAGE, libc::PROT_NONE, flags, -1, 0)
        };
        assert_ne!(start, libc::MAP_FAILED, "{BYTES} bytes of address space cannot be reserved");
        Self { place: start.wrapping_byte_add(start.align_offset(HUGE_PAGE)) }
    }

    #[inline(never)]
    fn run(&mut self, _: usize, _: usize, _: usize) {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: this replaces part of the reservation, which nothing else uses.
        let start = unsafe { libc::mmap(self.place, BYTES, protection, flags, -1, 0) };
        assert_eq!(start, self.place, "the reservation cannot be mapped");
        let advice = if HUGE { libc::MADV_HUGEPAGE } else { libc::MADV_NOHUGEPAGE };
        // SAFETY: the range was just mapped.
        unsafe { libc::madvise(start, BYTES, advice) };
        write_all(&mut Address(start.cast()), LENGTH, 1.0);
    }
}
