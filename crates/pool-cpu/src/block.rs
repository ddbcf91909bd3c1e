//! Blocks of host memory. The size alone decides the route of a block, so that `free` takes the
//! same route as `allocate`, even if the configuration has changed in between.

use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use core::ptr::NonNull;

/// The alignment of every block, in bytes.
pub(crate) const ALIGN: usize = 64;

/// The size of a huge page, and the smallest size of mapped blocks, in bytes.
const HUGE_PAGE: usize = 2 << 20;

/// Returns `true` if blocks of this many bytes are mapped rather than taken from the global
/// allocator.
const fn is_mapped(bytes: usize) -> bool {
    cfg!(all(target_os = "linux", not(miri))) && bytes >= HUGE_PAGE
}

/// Allocates a zeroed block; `None` if the system has no memory.
pub(crate) fn allocate(bytes: usize, huge_pages: bool) -> Option<NonNull<u8>> {
    if is_mapped(bytes) {
        return mapped::allocate(bytes, huge_pages);
    }
    let layout = Layout::from_size_align(bytes, ALIGN).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the layout has a size.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Frees a block.
///
/// # Safety
///
/// `block` came from [`allocate`] with the same `bytes` and is not used any more.
pub(crate) unsafe fn free(block: NonNull<u8>, bytes: usize) {
    if is_mapped(bytes) {
        // SAFETY: the caller upholds this contract; the route depends on `bytes` alone.
        unsafe { mapped::free(block, bytes) };
        return;
    }
    // SAFETY: `allocate` made this layout of the same size, and it was valid there.
    let layout = unsafe { Layout::from_size_align_unchecked(bytes, ALIGN) };
    // SAFETY: allocated by the global allocator with this layout (caller).
    unsafe { dealloc(block.as_ptr(), layout) };
}

/// Returns the memory of a block from the byte `from` on to the system, as whole pages, and keeps
/// its addresses; returns the bytes. The pages then read as zeros. A block of the global allocator
/// keeps its memory.
///
/// # Safety
///
/// `block` came from [`allocate`] with the same `bytes`, and nothing uses its bytes from `from` on.
pub(crate) unsafe fn discard(block: NonNull<u8>, bytes: usize, from: usize) -> usize {
    if !is_mapped(bytes) {
        return 0;
    }
    // SAFETY: the caller upholds this contract; the block is mapped.
    unsafe { mapped::discard_from(block, bytes, from) }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapped {
    //! Anonymous mappings at a huge-page boundary.

    use super::HUGE_PAGE;
    use core::ptr::{NonNull, null_mut};

    /// Returns the size of an ordinary page: mappings are cut at its multiples.
    fn page() -> usize {
        // SAFETY: no memory is passed.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(page).unwrap_or(4096)
    }

    /// Returns the bytes that a mapping for `bytes` bytes covers, as whole pages; `None` above
    /// `isize::MAX`.
    fn covered(bytes: usize) -> Option<usize> {
        bytes.checked_next_multiple_of(page()).filter(|&covered| isize::try_from(covered).is_ok())
    }

    /// Maps zeroed memory at a multiple of [`HUGE_PAGE`].
    pub(super) fn allocate(bytes: usize, huge_pages: bool) -> Option<NonNull<u8>> {
        let covered = covered(bytes)?;
        // Enough to find a boundary inside; the pages before and after are unmapped again.
        let mapped = covered.checked_add(HUGE_PAGE - page())?;
        let start = map(mapped)?;
        let before = start.as_ptr().align_offset(HUGE_PAGE);
        let after = mapped - covered - before;
        // SAFETY: `before` is less than the bytes mapped beyond `covered`.
        let block = unsafe { start.add(before) };
        // SAFETY: `covered` bytes from the block on are mapped, and so are `after` more.
        let end = unsafe { block.add(covered) };
        // SAFETY: whole pages of the new mapping, which nothing uses.
        unsafe { unmap(start, before) };
        // SAFETY: as above.
        unsafe { unmap(end, after) };
        if huge_pages {
            // Advice: if the system does not support or allow it, ordinary pages serve.
            // SAFETY: the range is mapped and belongs to this block alone.
            unsafe { libc::madvise(block.as_ptr().cast(), covered, libc::MADV_HUGEPAGE) };
        }
        Some(block)
    }

    /// Unmaps a block.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`] with the same `bytes` and is not used any more.
    pub(super) unsafe fn free(block: NonNull<u8>, bytes: usize) {
        let covered = bytes.next_multiple_of(page());
        // SAFETY: `allocate` left exactly these pages mapped, and the caller gives them up.
        unsafe { unmap(block, covered) };
    }

    fn map(bytes: usize) -> Option<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: a new anonymous mapping at an address of the system's choice touches no memory that
        // is in use.
        let start = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
    }

    /// # Safety
    ///
    /// The range consists of whole pages of a mapping of this module that are not used any more; it
    /// may be empty.
    unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // SAFETY: the same contract, which the caller upholds.
        if unsafe { libc::munmap(start.as_ptr().cast(), bytes) } != 0 {
            // For whole mapped pages it fails only if the system cannot split another mapping. The
            // addresses then stay taken.
            // SAFETY: the same contract, which the caller upholds.
            _ = unsafe { discard(start, bytes) };
        }
    }

    /// Returns the memory of pages to the system, and keeps their addresses; `false` if the system
    /// refuses, as it does for locked pages.
    ///
    /// # Safety
    ///
    /// Same as for [`unmap`].
    pub(super) unsafe fn discard(start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the pages are private and anonymous, and nothing uses their contents (caller).
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
    }

    /// Discards the pages of a block that begin at or after its byte `from`; returns their bytes.
    ///
    /// # Safety
    ///
    /// `block` came from [`allocate`] with the same `bytes`, and nothing uses its bytes from `from` on.
    pub(super) unsafe fn discard_from(block: NonNull<u8>, bytes: usize, from: usize) -> usize {
        // The block begins at a page. Bytes of its last page beyond `bytes` are unused.
        let (first, covered) = (from.next_multiple_of(page()), bytes.next_multiple_of(page()));
        if first >= covered {
            return 0;
        }
        // SAFETY: within the mapping.
        let start = unsafe { block.add(first) };
        // SAFETY: whole pages of the mapping, from `from` on, which nothing uses (caller).
        if unsafe { discard(start, covered - first) } { bytes.saturating_sub(first) } else { 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod mapped {
    //! The stand-in for systems where no block is mapped: `is_mapped` is false for every size, so
    //! no function is reached.

    use core::ptr::NonNull;

    pub(super) fn allocate(_: usize, _: bool) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    ///
    /// Never called.
    pub(super) unsafe fn free(_: NonNull<u8>, _: usize) {}

    /// # Safety
    ///
    /// Never called.
    pub(super) unsafe fn discard_from(_: NonNull<u8>, _: usize, _: usize) -> usize {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_either_route_are_aligned_zeroed_and_freed() {
        let sizes: &[usize] = if cfg!(miri) {
            &[64, 4096]
        } else {
            &[64, 4096, HUGE_PAGE - 64, HUGE_PAGE, HUGE_PAGE + 64, 5 * HUGE_PAGE + 4096]
        };
        for &bytes in sizes {
            for huge_pages in [true, false] {
                let block = allocate(bytes, huge_pages).unwrap();
                let boundary = if is_mapped(bytes) { HUGE_PAGE } else { ALIGN };
                assert_eq!(block.addr().get() % boundary, 0, "{bytes}");
                // SAFETY: a new block of `bytes` bytes, initialised, used by nothing else.
                let content = unsafe { core::slice::from_raw_parts_mut(block.as_ptr(), bytes) };
                assert!(content.iter().all(|&byte| byte == 0), "{bytes}");
                content.fill(0xAB);
                // SAFETY: allocated above with the same size; `content` is not used any more.
                unsafe { free(block, bytes) };
            }
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn discarded_pages_are_back_with_the_system() {
        let bytes = 2 * HUGE_PAGE;
        let block = allocate(bytes, false).unwrap();
        // SAFETY: a block of `bytes` bytes that nothing else uses; so below.
        unsafe { block.write_bytes(7, bytes) };
        // SAFETY: as above.
        assert!(unsafe { mapped::discard(block, bytes) });
        // SAFETY: still mapped; pages returned to the system read as zeros when they are touched
        // again.
        let content = unsafe { core::slice::from_raw_parts(block.as_ptr(), bytes) };
        assert!(content.iter().all(|&byte| byte == 0));
        // SAFETY: as above, and `content` is not used any more.
        unsafe { free(block, bytes) };
    }

    #[test]
    #[cfg_attr(miri, ignore = "SKIPPED: Miri ends the run where memory is out")]
    fn impossible_sizes_are_refused() {
        for bytes in [isize::MAX as usize & !(ALIGN - 1), usize::MAX & !(ALIGN - 1)] {
            assert_eq!(allocate(bytes, true), None);
        }
    }
}
