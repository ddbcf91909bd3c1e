//! Races inside a launch. Each racing kernel has a counterpart that differs only in its
//! synchronisation.

use super::{ALL, kernel, reported, sized};
use crate::report::Mistake;

/// Each thread writes its own element of shared memory and reads its neighbour's element.
fn neighbours(between: &str) -> String {
    format!(
        "mul.lo.u32 %r1, %t, 4; mov.u32 %r2, open; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %t;
        {between}
        xor.b32 %r4, %r1, 4; add.u32 %r4, %r4, %r2; ld.shared.u32 %r5, [%r4];
        mul.wide.u32 %l1, %t, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1], %r5;"
    )
}

fn shared(body: &str, threads: u32) -> super::Launch {
    super::Launch { dynamic_shared: 1024, ..sized(kernel(body), 1, threads) }
}

#[test]
fn a_missing_barrier_is_found_in_every_order() {
    let launch = |between| shared(&neighbours(between), 128);
    assert_eq!(reported(&launch(""), Mistake::Race, 512), ALL);
    assert_eq!(reported(&launch("bar.sync 0;"), Mistake::Race, 512), 0);
    // A fence by itself does not order accesses.
    assert_eq!(reported(&launch("membar.cta;"), Mistake::Race, 512), ALL);
}

#[test]
fn threads_of_a_warp_are_ordered_by_what_synchronises_them() {
    let launch = |between| shared(&neighbours(between), 32);
    assert_eq!(reported(&launch(""), Mistake::Race, 512), ALL);
    for between in [
        "bar.warp.sync -1;",
        "shfl.sync.idx.b32 %r9, %t, 0, 31, -1;",
        "setp.eq.u32 %p1, 0, 0; vote.sync.all.pred %p2, %p1, -1;",
    ] {
        assert_eq!(reported(&launch(between), Mistake::Race, 512), 0, "{between}");
    }
    // Neighbours in different masks do not wait for each other.
    let apart = "and.b32 %r6, %t, 1; setp.eq.u32 %p1, %r6, 0;
        @%p1 bar.warp.sync 0x55555555; @!%p1 bar.warp.sync 0xAAAAAAAA;";
    assert_eq!(reported(&launch(apart), Mistake::Race, 512), ALL);
    let pairs = "shr.u32 %r6, %t, 1; shl.b32 %r6, %r6, 1; mov.u32 %r7, 3; shl.b32 %r7, %r7, %r6;
        bar.warp.sync %r7;";
    assert_eq!(reported(&launch(pairs), Mistake::Race, 512), 0);
}

#[test]
fn a_second_barrier_is_needed_before_memory_is_used_again() {
    let again = |between: &str| {
        let first = neighbours("bar.sync 0;");
        shared(&format!("{first} {between} st.shared.u32 [%r3], 7;"), 64)
    };
    assert_eq!(reported(&again(""), Mistake::Race, 256), ALL);
    assert_eq!(reported(&again("bar.sync 0;"), Mistake::Race, 256), 0);
}

#[test]
fn blocks_that_add_without_atomics_race() {
    let plain = "ld.global.u32 %r1, [%l0]; add.u32 %r1, %r1, 1; st.global.u32 [%l0], %r1;";
    assert_eq!(reported(&sized(kernel(plain), 4, 1), Mistake::Race, 4), ALL);
    assert_eq!(reported(&sized(kernel(plain), 1, 1), Mistake::Race, 4), 0);
    let atomic = "red.global.add.u32 [%l0], 1;";
    assert_eq!(reported(&sized(kernel(atomic), 4, 32), Mistake::Race, 4), 0);
    // An atomic operation and a plain load do not synchronise.
    let mixed = "red.global.add.u32 [%l0], 1; ld.global.u32 %r1, [%l0];";
    assert_eq!(reported(&sized(kernel(mixed), 4, 1), Mistake::Race, 4), ALL);
}

#[test]
fn blocks_that_read_what_one_writes_race() {
    let body = "setp.ne.u32 %p1, %b, 2; @%p1 ld.global.u32 %r1, [%l0];
        @!%p1 st.global.u32 [%l0], 1;";
    assert_eq!(reported(&sized(kernel(body), 4, 1), Mistake::Race, 4), ALL);
    let apart = "mul.wide.u32 %l1, %b, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1], 1;";
    assert_eq!(reported(&sized(kernel(apart), 4, 1), Mistake::Race, 16), 0);
}

/// Each block writes one part. An atomic counter determines the last block, which reads all parts.
fn last_block(fence: &str) -> super::Launch {
    let body = format!(
        "mul.wide.u32 %l1, %b, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1+8], %b; {fence}
        atom.global.inc.u32 %r1, [%l0], 3; setp.ne.u32 %p1, %r1, 3; @%p1 bra DONE;
        ld.global.u32 %r2, [%l0+8]; ld.global.u32 %r3, [%l0+20]; add.u32 %r2, %r2, %r3;
        st.global.u32 [%l0+4], %r2; DONE:"
    );
    sized(kernel(&body), 4, 1)
}

#[test]
fn a_fence_and_an_atomic_order_blocks() {
    assert_eq!(reported(&last_block("membar.gl;"), Mistake::Race, 24), 0);
    assert_eq!(reported(&last_block("fence.acq_rel.gpu;"), Mistake::Race, 24), 0);
    assert_eq!(reported(&last_block(""), Mistake::Race, 24), ALL);
}

#[test]
fn bytes_side_by_side_do_not_race() {
    let body = "cvt.u64.u32 %l1, %t; add.u64 %l1, %l0, %l1; mov.u16 %h1, 1;
        st.global.u8 [%l1], %h1;";
    assert_eq!(reported(&sized(kernel(body), 1, 64), Mistake::Race, 64), 0);
    let wider = "cvt.u64.u32 %l1, %t; shr.u64 %l1, %l1, 1; shl.b64 %l1, %l1, 1;
        add.u64 %l1, %l0, %l1; mov.u16 %h1, 1; st.global.u16 [%l1], %h1;";
    assert_eq!(reported(&sized(kernel(wider), 1, 64), Mistake::Race, 64), ALL);
}

/// Each thread adds one to a number while it holds a lock. The arguments are the addresses of the
/// lock and the number.
fn locked(lock: &str, number: &str, fence: &str) -> String {
    format!(
        "LOCK: atom{lock}.cas.b32 %r1, [{number}], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOCK;
        {fence} ld{lock}.u32 %r2, [{number}+4]; add.u32 %r2, %r2, 1; st{lock}.u32 [{number}+4], %r2;
        {fence} atom{lock}.exch.b32 %r3, [{number}], 0;"
    )
}

#[test]
fn a_lock_orders_threads_and_blocks_by_its_fences() {
    for blocks in [1, 2] {
        let launch = |fence| sized(kernel(&locked(".global", "%l0", fence)), blocks, 34);
        assert_eq!(reported(&launch("membar.gl;"), Mistake::Race, 8), 0);
        assert_eq!(reported(&launch(""), Mistake::Race, 8), ALL);
        assert_eq!(super::words(&launch("membar.gl;"), 2), [0, blocks * 34]);
    }
    let in_shared = |fence: &str| {
        let start = "setp.eq.u32 %p2, %t, 0; @%p2 st.shared.u64 [open], 0; bar.sync 0;";
        shared(&format!("{start} {}", locked(".shared", "open", fence)), 34)
    };
    assert_eq!(reported(&in_shared("membar.cta;"), Mistake::Race, 8), 0);
    assert_eq!(reported(&in_shared(""), Mistake::Race, 8), ALL);
}

#[test]
fn what_comes_after_a_release_is_not_released() {
    // Thread 0 sets a flag too early and then writes; thread 32 waits for the flag and reads.
    let body = |before: &str, after: &str| {
        format!(
            "setp.ne.u32 %p1, %t, 0; @%p1 bra OTHER;
            {before} membar.gl; st.volatile.global.u32 [%l0], 1; {after} bra DONE;
            OTHER: setp.ne.u32 %p2, %t, 32; @%p2 bra DONE;
            WAIT: ld.volatile.global.u32 %r1, [%l0]; setp.eq.u32 %p3, %r1, 0; @%p3 bra WAIT;
            membar.gl; ld.global.u32 %r2, [%l0+4]; DONE:"
        )
    };
    let write = "st.global.u32 [%l0+4], 7;";
    assert_eq!(reported(&sized(kernel(&body(write, "")), 1, 64), Mistake::Race, 8), 0);
    assert_eq!(reported(&sized(kernel(&body("", write)), 1, 64), Mistake::Race, 8), ALL);
}
