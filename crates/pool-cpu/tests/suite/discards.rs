//! A trim of a stack returns the pages above its live arrays to the system, and keeps their addresses. This applies
//! only to the pool's own mappings.

use pool_core::{Pool, PoolConfig, Scope, Stacked};
use pool_cpu::Cpu;

const MIB: usize = 1 << 20;

/// Pages in memory among those of a slice, as the system counts them.
fn resident_pages(bytes: &[u8]) -> usize {
    let page = page();
    let start = bytes.as_ptr().addr().next_multiple_of(page);
    let end = (bytes.as_ptr().addr() + bytes.len()) / page * page;
    let mut states = vec![0_u8; (end - start) / page];
    let first = bytes.as_ptr().wrapping_add(start - bytes.as_ptr().addr());
    // SAFETY: whole pages of a mapping, and a byte for each of them.
    let failed =
        unsafe { libc::mincore(first.cast_mut().cast(), end - start, states.as_mut_ptr()) };
    assert_eq!(failed, 0, "{}", std::io::Error::last_os_error());
    states.iter().filter(|state| **state & 1 == 1).count()
}

fn page() -> usize {
    // SAFETY: no memory is passed.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).expect("a page has a size")
}

fn stack() -> Pool<Stacked<Cpu>> {
    // Ordinary pages, so that the system's count does not depend on huge ones.
    Pool::with_config((), PoolConfig::new().huge_pages(false))
        .expect("the configuration is in range")
}

/// Acquires `bytes` bytes in an inner scope, and writes them; returns their address.
fn write_above(scope: &mut Scope<'_, Stacked<Cpu>>, bytes: usize) -> usize {
    let inner = scope.scope();
    let above = inner.acquire::<u8, _>(bytes);
    above.fill(0xAB);
    above.as_ptr().addr()
}

#[test]
fn trim_returns_the_pages_above_the_cursor_and_keeps_addresses() {
    let (below, above) = (MIB + 4097, 30 * MIB);
    let mut pool = stack();
    for _ in 0..2 {
        // Afterwards the pool has one chunk, of the peak.
        let mut scope = pool.scope();
        scope.acquire::<u8, _>(below);
        write_above(&mut scope, above);
    }
    let before = pool.stats();
    let mut scope = pool.scope();
    let live = scope.acquire_filled(below, 0xCD_u8);
    let address = write_above(&mut scope, above);

    let report = scope.trim();
    assert_eq!((report.slots, report.bytes), (0, 0), "nothing is freed");
    assert!(report.discarded_bytes >= above - page(), "{report:?}");
    assert!(report.discarded_bytes <= before.reserved_bytes - below, "{report:?}");
    assert!(live.iter().all(|&byte| byte == 0xCD), "what is handed out stays");
    let held = (scope.stats().reserved_bytes, scope.stats().growths);
    assert_eq!(held, (before.reserved_bytes, before.growths), "the pool holds the chunk");

    let inner = scope.scope();
    let again = inner.acquire::<u8, _>(above);
    assert_eq!(again.as_ptr().addr(), address, "addresses stay");
    let resident = resident_pages(again);
    assert!(resident <= 1, "{resident} pages of {} are in memory", above / page());
    // The first page may also hold live arrays.
    assert!(again[page()..].iter().all(|&byte| byte == 0), "pages read as zeros");
    again.fill(0xEF);
    assert_eq!(resident_pages(again), resident_pages(&again[..]));
    assert!(resident_pages(again) >= above / page() - 1);
    assert!(live.iter().all(|&byte| byte == 0xCD));
}

#[test]
fn equal_passes_with_a_trim_inside_allocate_nothing() {
    let mut pool = stack();
    let mut growths = 0;
    for pass in 0..5 {
        let mut scope = pool.scope();
        let live = scope.acquire_filled(3 * MIB, 1_u8);
        write_above(&mut scope, 9 * MIB);
        scope.trim();
        write_above(&mut scope, 9 * MIB);
        assert!(live.iter().all(|&byte| byte == 1));
        drop(scope);
        if pass < 3 {
            growths = pool.stats().growths;
        }
    }
    assert_eq!(pool.stats().growths, growths);
}

#[test]
fn chunks_of_the_global_allocator_keep_their_memory() {
    let mut pool = stack();
    for pass in 0..4 {
        let mut scope = pool.scope();
        let live = scope.acquire_filled(1_000, 0xCD_u8);
        let address = write_above(&mut scope, 200_000);
        let report = scope.trim();
        let inner = scope.scope();
        let again = inner.acquire::<u8, _>(200_000);
        if pass > 1 {
            assert_eq!((report.bytes, report.discarded_bytes), (0, 0));
            assert_eq!(again.as_ptr().addr(), address);
            assert!(again.iter().all(|&byte| byte == 0xAB), "the last use's contents");
        }
        assert!(live.iter().all(|&byte| byte == 0xCD));
    }
}

#[test]
fn a_trim_at_the_end_of_a_chunk_discards_nothing_that_is_live() {
    let mut pool = stack();
    for extra in [0, 1, 63, 64, 65, 4_000, 4_095, 4_096, 4_097, 8_192] {
        for _ in 0..3 {
            let scope = pool.scope();
            let live = scope.acquire_filled(4 * MIB + extra, 0xCD_u8);
            let report = scope.trim();
            // At most the slack that a chunk has.
            assert!(report.discarded_bytes <= scope.stats().reserved_bytes - live.len());
            assert!(live.iter().all(|&byte| byte == 0xCD), "{extra}");
        }
    }
}

#[test]
fn uninitialised_memory_may_be_discarded() {
    let mut pool = stack();
    for _ in 0..3 {
        let mut scope = pool.scope();
        let live = scope.acquire_filled(100, 0xCD_u8);
        {
            let inner = scope.scope();
            inner.acquire_with(MIB, |index| (index.to_le_bytes()[0], 7_u64));
        }
        scope.trim();
        let inner = scope.scope();
        assert!(inner.acquire::<u8, _>(16 * MIB).iter().all(|&byte| byte == 0));
        assert_eq!(live, [0xCD; 100]);
    }
}
