//! Allocates and frees blocks of host memory. A block's size determines whether the block is mapped
//! or allocated with the global allocator. `free` therefore uses the same allocator as `allocate`,
//! even if the configuration has changed since the allocation.

use alloc::alloc::{Layout, alloc_zeroed, dealloc};
use core::ptr::NonNull;

/// Every block's alignment in bytes.
pub(crate) const ALIGN: usize = 64;

/// The size of a huge page in bytes, which is also the size of the smallest mapped block.
const HUGE_PAGE: usize = 2 << 20;

/// Returns `true` if blocks of this size are mapped rather than allocated with the global
/// allocator.
const fn is_mapped(bytes: usize) -> bool {
    cfg!(all(target_os = "linux", not(miri))) && bytes >= HUGE_PAGE
}

/// Allocates a zeroed block. Returns `None` if the system cannot provide memory for the block.
pub(crate) fn allocate(bytes: usize, huge_pages: bool) -> Option<NonNull<u8>> {
    if is_mapped(bytes) {
        return mapped::allocate(bytes, huge_pages);
    }
    let layout = Layout::from_size_align(bytes, ALIGN).ok().filter(|layout| layout.size() > 0)?;
    // SAFETY: the layout's size is not zero.
    NonNull::new(unsafe { alloc_zeroed(layout) })
}

/// Frees a block.
///
/// # Safety
///
/// `block` must have been returned by [`allocate`] for the same `bytes` and must not be used again.
pub(crate) unsafe fn free(block: NonNull<u8>, bytes: usize) {
    if is_mapped(bytes) {
        // SAFETY: the caller upholds the contract of `mapped::free`. `allocate` mapped the block,
        // because the choice between mapping and the global allocator depends only on `bytes`.
        unsafe { mapped::free(block, bytes) };
        return;
    }
    // SAFETY: `allocate` created a valid layout with the same size and alignment.
    let layout = unsafe { Layout::from_size_align_unchecked(bytes, ALIGN) };
    // SAFETY: the caller guarantees that `allocate` returned the block, so the global allocator
    // allocated it with this layout.
    unsafe { dealloc(block.as_ptr(), layout) };
}

/// Discards a block's whole pages that begin at or after the byte offset `from`. These pages'
/// addresses stay valid. Returns the number of discarded bytes. After the call, all bytes of the
/// discarded pages are zero. This function does nothing for a block allocated by the global
/// allocator.
///
/// # Safety
///
/// `block` must have been returned by [`allocate`] for the same `bytes`. The block's bytes at or
/// after `from` must not be in use.
pub(crate) unsafe fn discard(block: NonNull<u8>, bytes: usize, from: usize) -> usize {
    if !is_mapped(bytes) {
        return 0;
    }
    // SAFETY: the caller upholds the contract of `mapped::discard_from`. The block is mapped.
    unsafe { mapped::discard_from(block, bytes, from) }
}

#[cfg(all(target_os = "linux", not(miri)))]
mod mapped {
    //! Allocates blocks as anonymous mappings that start at huge-page boundaries.

    use super::HUGE_PAGE;
    use core::ptr::{NonNull, null_mut};

    /// Returns the ordinary page size in bytes. Mappings can be split only at multiples of the page
    /// size.
    fn page() -> usize {
        // SAFETY: the call takes no pointers.
        let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        usize::try_from(page).unwrap_or(4096)
    }

    /// Rounds `bytes` up to a multiple of the page size. Returns `None` if the result exceeds
    /// `isize::MAX`.
    fn covered(bytes: usize) -> Option<usize> {
        bytes.checked_next_multiple_of(page()).filter(|&covered| isize::try_from(covered).is_ok())
    }

    /// Maps zeroed memory at an address that is a multiple of [`HUGE_PAGE`].
    pub(super) fn allocate(bytes: usize, huge_pages: bool) -> Option<NonNull<u8>> {
        let covered = covered(bytes)?;
        // The mapping is large enough to contain `covered` bytes that start at a huge-page
        // boundary. The pages before and after the block are unmapped before the function returns.
        let mapped = covered.checked_add(HUGE_PAGE - page())?;
        let start = map(mapped)?;
        let before = start.as_ptr().align_offset(HUGE_PAGE);
        let after = mapped - covered - before;
        // SAFETY: the mapping is `HUGE_PAGE - page()` bytes larger than `covered`, and `before` is
        // at most this difference.
        let block = unsafe { start.add(before) };
        // SAFETY: the mapping contains the `covered` bytes of the block and `after` more bytes.
        let end = unsafe { block.add(covered) };
        // SAFETY: the range consists of whole pages at the start of the new mapping, and no code
        // uses these pages.
        unsafe { unmap(start, before) };
        // SAFETY: the range consists of whole pages at the end of the new mapping, and no code uses
        // these pages.
        unsafe { unmap(end, after) };
        if huge_pages {
            // If the system does not support or allow huge pages, it ignores `madvise` and uses
            // ordinary pages. SAFETY: the range is mapped and belongs only to this block.
            unsafe { libc::madvise(block.as_ptr().cast(), covered, libc::MADV_HUGEPAGE) };
        }
        Some(block)
    }

    /// Unmaps a block.
    ///
    /// # Safety
    ///
    /// `block` must have been returned by [`allocate`] for the same `bytes` and must not be used
    /// again.
    pub(super) unsafe fn free(block: NonNull<u8>, bytes: usize) {
        let covered = bytes.next_multiple_of(page());
        // SAFETY: `allocate` left exactly these pages mapped, and the caller no longer uses them.
        unsafe { unmap(block, covered) };
    }

    fn map(bytes: usize) -> Option<NonNull<u8>> {
        let protection = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the system chooses the address of the new anonymous mapping, so the mapping does
        // not replace any memory that is in use.
        let start = unsafe { libc::mmap(null_mut(), bytes, protection, flags, -1, 0) };
        if start == libc::MAP_FAILED { None } else { NonNull::new(start.cast()) }
    }

    /// # Safety
    ///
    /// The range must consist of whole pages that this module has mapped and that are no longer in
    /// use. The range may be empty.
    unsafe fn unmap(start: NonNull<u8>, bytes: usize) {
        if bytes == 0 {
            return;
        }
        // SAFETY: the caller guarantees that this module has mapped these pages and that they are
        // no longer in use.
        if unsafe { libc::munmap(start.as_ptr().cast(), bytes) } != 0 {
            // `munmap` fails for whole mapped pages only if the system cannot split their mapping.
            // If `munmap` fails, the addresses stay mapped, but `discard` still returns the memory
            // to the system. SAFETY: the caller guarantees that this module has mapped these pages
            // and that they are no longer in use.
            _ = unsafe { discard(start, bytes) };
        }
    }

    /// Returns the memory of the given pages to the system but keeps their addresses mapped.
    /// Returns `false` if the system refuses to discard the pages, for example because they are
    /// locked.
    ///
    /// # Safety
    ///
    /// The safety requirements of [`unmap`] apply.
    pub(super) unsafe fn discard(start: NonNull<u8>, bytes: usize) -> bool {
        // SAFETY: the pages are private and anonymous. The caller guarantees that the pages'
        // contents are not in use.
        unsafe { libc::madvise(start.as_ptr().cast(), bytes, libc::MADV_DONTNEED) == 0 }
    }

    /// Discards a block's pages that begin at or after the byte offset `from`. Returns the number
    /// of bytes discarded from the block.
    ///
    /// # Safety
    ///
    /// `block` must have been returned by [`allocate`] for the same `bytes`. The block's bytes at
    /// or after `from` must not be in use.
    pub(super) unsafe fn discard_from(block: NonNull<u8>, bytes: usize, from: usize) -> usize {
        // A block begins at a page boundary. The bytes of the block's last page beyond `bytes` are
        // unused.
        let (first, covered) = (from.next_multiple_of(page()), bytes.next_multiple_of(page()));
        if first >= covered {
            return 0;
        }
        // SAFETY: `first` is less than `covered`, so the address is within the mapping.
        let start = unsafe { block.add(first) };
        // SAFETY: the range consists of whole pages of the mapping at or after `from`. The caller
        // guarantees that the pages' contents are not in use.
        if unsafe { discard(start, covered - first) } { bytes.saturating_sub(first) } else { 0 }
    }
}

#[cfg(not(all(target_os = "linux", not(miri))))]
mod mapped {
    //! A replacement for the mapping functions on systems where blocks are never mapped. On systems
    //! other than Linux, `is_mapped` returns `false` for every size, so no other function of this
    //! module is ever called.

    use core::ptr::NonNull;

    pub(super) fn allocate(_: usize, _: bool) -> Option<NonNull<u8>> {
        None
    }

    /// # Safety
    ///
    /// This function is never called.
    pub(super) unsafe fn free(_: NonNull<u8>, _: usize) {}

    /// # Safety
    ///
    /// This function is never called.
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
                // SAFETY: `block` is a new, initialized block of `bytes` bytes that nothing else
                // uses.
                let content = unsafe { core::slice::from_raw_parts_mut(block.as_ptr(), bytes) };
                assert!(content.iter().all(|&byte| byte == 0), "{bytes}");
                content.fill(0xAB);
                // SAFETY: the block was allocated above with the same size. `content` is no longer
                // used.
                unsafe { free(block, bytes) };
            }
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", not(miri)))]
    fn discarded_pages_are_back_with_the_system() {
        let bytes = 2 * HUGE_PAGE;
        let block = allocate(bytes, false).unwrap();
        // SAFETY: `block` is a block of `bytes` bytes that nothing else uses.
        unsafe { block.write_bytes(7, bytes) };
        // SAFETY: the block consists of whole mapped pages that nothing else uses.
        assert!(unsafe { mapped::discard(block, bytes) });
        // SAFETY: the block is still mapped. Pages returned to the system contain zeros when they
        // are accessed again.
        let content = unsafe { core::slice::from_raw_parts(block.as_ptr(), bytes) };
        assert!(content.iter().all(|&byte| byte == 0));
        // SAFETY: the block was allocated above with the same size. `content` is no longer used.
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
