//! Control flow, memory, and the cooperation of warps and blocks.

use super::{SEEDS, kernel, launch, on_zeros, programs, sized, words};

/// Returns a one-thread kernel from the text of a module.
fn module(text: &str) -> super::Launch {
    let program = programs(text).unwrap_or_else(|error| panic!("{}", error.with_text(text)));
    launch(program.into_iter().next().unwrap(), 1, 1)
}

#[test]
fn threads_part_and_meet_again() {
    // The number of Collatz steps for the thread's number plus one, so each thread loops a
    // different number of times.
    let body = "
        add.u32 %r1, %t, 1; mov.u32 %r2, 0;
        LOOP: setp.eq.u32 %p1, %r1, 1; @%p1 bra END;
        and.b32 %r3, %r1, 1; setp.eq.u32 %p2, %r3, 0; @%p2 bra EVEN;
        mad.lo.u32 %r1, %r1, 3, 1; bra NEXT;
        EVEN: shr.u32 %r1, %r1, 1;
        NEXT: add.u32 %r2, %r2, 1; bra LOOP;
        END: mul.wide.u32 %l1, %t, 4; add.u64 %l2, %l0, %l1; st.global.u32 [%l2], %r2;";
    let steps = |mut value: u32| {
        let mut count = 0;
        while value != 1 {
            value = if value % 2 == 0 { value / 2 } else { value * 3 + 1 };
            count += 1;
        }
        count
    };
    let expected: Vec<u32> = (1..=70).map(steps).collect();
    assert_eq!(words(&sized(kernel(body), 1, 70), 70), expected);
}

#[test]
fn every_block_and_thread_knows_its_place() {
    let body = "
        mov.u32 %r1, %ntid.x; mad.lo.u32 %r2, %b, %r1, %t; mov.u32 %r3, %nctaid.x;
        mad.lo.u32 %r4, %r3, 1000, %r2; mov.u32 %r5, %laneid; mov.u32 %r6, %lanemask_lt;
        add.u32 %r4, %r4, %r5; popc.b32 %r6, %r6; sub.u32 %r4, %r4, %r6;
        mul.wide.u32 %l1, %r2, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1], %r4;";
    let expected: Vec<u32> = (0..35).map(|index| 5000 + index).collect();
    assert_eq!(words(&sized(kernel(body), 5, 7), 35), expected);
}

#[test]
fn vectors_and_short_elements_are_loaded_and_stored() {
    let body = "
        mov.u32 %r1, 0x04030281; st.global.v4.b32 [%l0], {%r1, %r1, %r1, %r1};
        ld.global.v2.u64 {%l1, %l2}, [%l0]; st.global.u64 [%l0+16], %l2;
        ld.global.s8 %r2, [%l0]; st.global.s32 [%l0+24], %r2;
        ld.volatile.global.u8 %h1, [%l0+1]; st.relaxed.gpu.global.u8 [%l0+28], %h1;
        ld.global.nc.v4.u8 {%h1, _, _, %h2}, [%l0+4]; st.global.v2.u8 [%l0+30], {%h1, %h2};";
    let expected = [0x0403_0281, 0x0403_0281, 0x0403_0281, 0x0403_0281, 0x0403_0281, 0x0403_0281];
    let found = words(&kernel(body), 8);
    assert_eq!(found[..6], expected);
    assert_eq!(found[6..], [0xFFFF_FF81, 0x0481_0002]);
}

#[test]
fn a_function_is_called_by_each_thread() {
    let text = "
        .func (.param .b32 result) scaled(.param .b32 value, .param .b64 by) {
        .reg .b32 %r<4>; .reg .b64 %l<2>; .reg .pred %p;
        ld.param.u32 %r1, [value]; ld.param.u64 %l1, [by]; cvt.u32.u64 %r2, %l1;
        setp.eq.u32 %p, %r1, 3; @%p bra ODD; mul.lo.u32 %r3, %r1, %r2;
        st.param.b32 [result+0], %r3; ret;
        ODD: st.param.b32 [result], 7; ret; }
        .visible .entry k(.param .u64 out) {
        .reg .b32 %r<4>; .reg .b64 %l<4>;
        ld.param.u64 %l0, [out]; mov.u32 %r1, %tid.x; mov.u64 %l3, 10;
        { .reg .b32 temp; .param .b32 p0; st.param.b32 [p0+0], %r1; .param .b64 p1;
        st.param.b64 [p1], %l3; .param .b32 back;
        call.uni (back), scaled, (p0, p1); ld.param.b32 %r2, [back+0]; }
        mul.wide.u32 %l1, %r1, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1], %r2; ret; }";
    assert_eq!(words(&sized(module(text), 1, 5), 5), [0, 10, 20, 7, 40]);
}

#[test]
fn a_thread_has_its_own_memory_and_generic_addresses_find_it() {
    let text = "
        .visible .entry k(.param .u64 out) {
        .local .align 4 .b8 depot[16]; .shared .align 4 .b8 own[128];
        .reg .b32 %r<4>; .reg .b64 %l<8>; .reg .pred %p<4>;
        ld.param.u64 %l0, [out]; mov.u32 %r1, %tid.x;
        mov.u64 %l1, depot; cvta.local.u64 %l2, %l1; st.u32 [%l2+8], %r1;
        ld.local.u32 %r2, [depot+8]; add.u32 %r2, %r2, 100;
        mov.u64 %l3, own; mul.wide.u32 %l4, %r1, 4; add.u64 %l3, %l3, %l4;
        st.shared.u32 [%l3], %r2; cvta.shared.u64 %l5, %l3; ld.u32 %r3, [%l5];
        isspacep.shared %p1, %l5; isspacep.global %p2, %l5; isspacep.local %p3, %l2;
        @!%p1 bra BAD; @%p2 bra BAD; @!%p3 bra BAD;
        add.u64 %l6, %l0, %l4; st.global.u32 [%l6], %r3; ret; BAD: trap; }";
    assert_eq!(words(&sized(module(text), 1, 4), 4), [100, 101, 102, 103]);
}

#[test]
fn a_branch_is_chosen_by_an_index() {
    let body = "
        mov.u32 %r2, 0; min.u32 %r1, %t, 2; brx.idx %r1, LIST;
        LIST: .branchtargets ONE, TWO, THREE;
        ONE: add.u32 %r2, %r2, 1; TWO: add.u32 %r2, %r2, 10; THREE: add.u32 %r2, %r2, 100;
        mul.wide.u32 %l1, %t, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1], %r2;";
    assert_eq!(words(&sized(kernel(body), 1, 4), 4), [111, 110, 100, 100]);
}

/// Sums the numbers 0, 1, 2 and so on over a block, using shared memory.
const BLOCK_SUM: &str = "
    mul.lo.u32 %r1, %t, 4; mov.u32 %r9, open; add.u32 %r1, %r1, %r9; st.shared.u32 [%r1], %t;
    mov.u32 %r2, 64;
    LOOP: bar.sync 0; setp.ge.u32 %p1, %t, %r2; @%p1 bra SKIP;
    shl.b32 %r3, %r2, 2; add.u32 %r3, %r1, %r3; ld.shared.u32 %r4, [%r3];
    ld.shared.u32 %r5, [%r1]; add.u32 %r4, %r4, %r5; st.shared.u32 [%r1], %r4;
    SKIP: shr.u32 %r2, %r2, 1; setp.ne.u32 %p2, %r2, 0; @%p2 bra LOOP;
    setp.ne.u32 %p3, %t, 0; @%p3 bra DONE;
    ld.shared.u32 %r6, [open]; red.global.add.u32 [%l0], %r6; DONE:";

#[test]
fn a_block_adds_up_in_shared_memory() {
    let launch = super::Launch { dynamic_shared: 512, ..sized(kernel(BLOCK_SUM), 3, 128) };
    for seed in 0..SEEDS {
        let (bytes, ending) = on_zeros(&launch, 4, seed);
        assert_eq!((ending.reports, ending.fault), (vec![], None));
        assert_eq!(bytes, (3 * 127 * 64_u32).to_le_bytes());
    }
}

#[test]
fn a_warp_adds_up_by_shuffles_and_votes() {
    let body = "
        mov.u32 %r1, %t;
        shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1; add.u32 %r1, %r1, %r2;
        shfl.sync.bfly.b32 %r2, %r1, 8, 31, -1; add.u32 %r1, %r1, %r2;
        shfl.sync.bfly.b32 %r2, %r1, 4, 31, -1; add.u32 %r1, %r1, %r2;
        shfl.sync.down.b32 %r2|%p1, %r1, 2, 31, -1; add.u32 %r1, %r1, %r2;
        shfl.sync.idx.b32 %r3, %r1, 0, 31, -1; setp.lt.u32 %p2, %t, 5;
        vote.sync.ballot.b32 %r4, %p2, -1; vote.sync.any.pred %p3, %p2, -1;
        redux.sync.max.u32 %r5, %t, -1; activemask.b32 %r6; and.b32 %r7, %t, 1;
        match.any.sync.b32 %r8, %r7, -1;
        setp.ne.u32 %p4, %t, 1; @%p4 bra DONE;
        st.global.v4.u32 [%l0], {%r3, %r4, %r5, %r6}; st.global.u32 [%l0+16], %r8; DONE:";
    // Lane 0 holds the sums of 8 lanes and of every fourth lane, and the sum that lane 2 holds.
    let expected = [2 * (4 + 8 + 12 + 16 + 20 + 24 + 28) + 16, 31, 31, u32::MAX, 0xAAAA_AAAA];
    assert_eq!(words(&sized(kernel(body), 1, 32), 5), expected);
}

#[test]
fn atomics_return_what_was_there() {
    let body = "
        atom.global.add.u32 %r1, [%l0], 3; atom.global.inc.u32 %r2, [%l0+4], 4;
        atom.global.cas.b32 %r3, [%l0+8], 0, 9; atom.global.exch.b32 %r4, [%l0+12], %r3;
        atom.global.max.s32 %r5, [%l0+16], -1; atom.global.add.f32 %f1, [%l0+20], 0f3F800000;
        red.global.dec.u32 [%l0+24], 6; atom.global.add.noftz.f16x2 %r6, [%l0+28], 0x3C003C00;
        setp.ne.u32 %p1, %r1, 0; @%p1 bra DONE; st.global.u32 [%l0+32], %r3; DONE:";
    let found = words(&sized(kernel(body), 1, 8), 9);
    let eight = u32::from(half::f16::from_f32(8.0).to_bits());
    let expected = [24, 3, 9, 9, 0, 8.0_f32.to_bits(), 6, eight << 16 | eight, 0];
    assert_eq!(found, expected);
}

#[test]
fn a_barrier_counts_its_threads() {
    let body = "
        setp.lt.u32 %p1, %t, 50; bar.red.popc.u32 %r1, 0, %p1; barrier.red.and.pred %p2, 0, %p1;
        barrier.red.or.pred %p3, 0, !%p1; selp.u32 %r2, 1, 0, %p2; selp.u32 %r3, 1, 0, %p3;
        setp.ne.u32 %p4, %t, 64; @%p4 bra DONE;
        st.global.u32 [%l0], %r1; st.global.v2.u32 [%l0+8], {%r2, %r3}; DONE:";
    assert_eq!(words(&sized(kernel(body), 1, 70), 4), [50, 0, 0, 1]);
}

#[test]
fn parts_of_a_warp_wait_for_each_other() {
    // Odd and even lanes shuffle as separate groups, in different branches.
    let body = "
        and.b32 %r1, %t, 1; setp.eq.u32 %p1, %r1, 0; mov.u32 %r4, 0; @%p1 bra EVEN;
        shfl.sync.bfly.b32 %r2, %t, 2, 31, 0xAAAAAAAA; bra DONE;
        EVEN: shfl.sync.bfly.b32 %r2, %t, 4, 31, 0x55555555;
        DONE: bar.warp.sync -1;
        mul.wide.u32 %l1, %t, 4; add.u64 %l1, %l0, %l1; st.global.u32 [%l1], %r2;";
    let expected: Vec<u32> = (0..32).map(|lane| lane ^ if lane % 2 == 0 { 4 } else { 2 }).collect();
    assert_eq!(words(&sized(kernel(body), 1, 32), 32), expected);
}
