//! Faults that end a launch, and modules that are refused.

use super::{ALL, Launch, kernel, on_zeros, programs, reported, sized};
use crate::code::Code;
use crate::report::Mistake;

fn outcome(launch: &Launch) -> (Option<Code>, String) {
    let (_, ending) = on_zeros(launch, 64, 1);
    let texts: Vec<String> =
        ending.reports.iter().map(|(mistake, text)| format!("{mistake}: {text}")).collect();
    (ending.fault, texts.join("\n"))
}

#[test]
fn accesses_beyond_the_end_are_faults_with_their_place() {
    let body = |what: &str| {
        sized(kernel(&format!("mul.wide.u32 %l1, %t, 4; add.u64 %l1, %l0, %l1; {what}")), 1, 17)
    };
    for what in
        ["st.global.u32 [%l1], %t;", "ld.global.u32 %r1, [%l1];", "red.global.add.u32 [%l1], 1;"]
    {
        let (fault, text) = outcome(&body(what));
        assert_eq!(fault, Some(Code::ILLEGAL_ADDRESS));
        assert!(
            text.starts_with("out of bounds: kernel k, block (0, 0, 0), thread (16, 0, 0), line"),
            "{text}"
        );
        assert!(text.contains(what.trim_end_matches(';')), "{text}");
        assert_eq!(outcome(&sized(body(what), 1, 16)), (None, String::new()));
    }
}

#[test]
fn shared_and_parameter_memory_have_ends() {
    let launch = kernel("mov.u32 %r1, open; st.shared.u32 [%r1+12], 1;");
    assert_eq!(outcome(&launch).0, Some(Code::ILLEGAL_ADDRESS));
    assert_eq!(outcome(&Launch { dynamic_shared: 16, ..launch }), (None, String::new()));
    let (fault, text) = outcome(&kernel("ld.param.u64 %l1, [out+8];"));
    assert_eq!(fault, Some(Code::ILLEGAL_ADDRESS), "{text}");
}

#[test]
fn an_address_must_be_aligned() {
    let (fault, text) = outcome(&kernel("ld.global.u32 %r1, [%l0+2];"));
    assert_eq!(fault, Some(Code::MISALIGNED_ADDRESS));
    assert!(text.contains("not aligned"), "{text}");
    assert_eq!(
        outcome(&kernel("ld.global.v2.u32 {%r1, %r2}, [%l0+4];")).0,
        Some(Code::MISALIGNED_ADDRESS)
    );
    assert_eq!(outcome(&kernel("ld.global.u16 %h1, [%l0+2];")).0, None);
}

#[test]
fn a_kernel_without_an_end_times_out() {
    let (fault, text) = outcome(&kernel("AGAIN: bra AGAIN;"));
    assert_eq!(fault, Some(Code::LAUNCH_TIMEOUT));
    assert!(text.contains("no end"), "{text}");
    assert_eq!(outcome(&kernel("trap;")).0, Some(Code::LAUNCH_FAILED));
}

#[test]
fn a_lock_between_threads_of_a_warp_is_got_in_the_end() {
    let body = "
        LOCK: atom.global.cas.b32 %r1, [%l0], 0, 1; setp.ne.u32 %p1, %r1, 0; @%p1 bra LOCK;
        atom.global.add.u32 %r2, [%l0+4], 1; atom.global.exch.b32 %r3, [%l0], 0;";
    assert_eq!(super::words(&sized(kernel(body), 2, 32), 2), [0, 64]);
}

#[test]
fn a_barrier_in_one_branch_is_divergent() {
    let one = "setp.lt.u32 %p1, %t, 16; @%p1 bar.sync 0;";
    assert_eq!(reported(&sized(kernel(one), 1, 64), Mistake::DivergentBarrier, 4), ALL);
    let two = "setp.lt.u32 %p1, %t, 32; @%p1 bra A; bar.sync 0; bra B; A: bar.sync 0; B:";
    let launch = sized(kernel(two), 1, 64);
    assert_eq!(reported(&launch, Mistake::DivergentBarrier, 4), ALL);
    assert_eq!(outcome(&launch).0, Some(Code::LAUNCH_FAILED));
    let whole = "setp.lt.u32 %p1, %t, 64; @%p1 bar.sync 0;";
    assert_eq!(reported(&sized(kernel(whole), 1, 64), Mistake::DivergentBarrier, 4), 0);
}

#[test]
fn threads_that_wait_for_one_that_never_comes_are_told() {
    let body = "setp.lt.u32 %p1, %t, 16; @%p1 bra A; bar.sync 0; bra B;
        A: shfl.sync.idx.b32 %r1, %t, 0, 31, -1; bar.sync 0; B:";
    let launch = sized(kernel(body), 1, 32);
    assert_eq!(reported(&launch, Mistake::DivergentBarrier, 4), ALL);
    assert!(outcome(&launch).1.contains("never come"));
}

/// Returns the error for a kernel with this body.
fn refused(body: &str) -> String {
    let text = format!(
        ".visible .entry k(.param .u64 out) {{
        .reg .pred %p<4>; .reg .b32 %r<8>; .reg .f32 %f<8>; .reg .b64 %l<8>;
        {body}
        ret; }}"
    );
    programs(&text).unwrap_err().to_string()
}

#[test]
fn what_is_not_known_is_refused_when_it_is_read() {
    for (body, part) in [
        ("wgmma.fence.sync.aligned;", "`wgmma.fence.sync.aligned`: not modelled"),
        ("add.warp.u32 %r1, %r2, %r3;", "`.warp`"),
        ("add.u32 %r1, %r2, %r9;", "`%r9`"),
        ("add.u32 %r1, %r2;", "2 operands where 3 belong"),
        ("add.u64 %l1, %l2, %r3;", "`%r3` is a B32, read as U64"),
        ("mul.rz.f64 %l1, %l2, %l3;", "not modelled"),
        ("add.rm.f64 %l1, %l2, %l3;", "not modelled"),
        ("mad.wide.cc.u32 %l1, %r2, %r3, %l4;", "not modelled"),
        ("add.cc.f32 %f1, %f2, %f3;", "not modelled"),
        ("addc.sat.s32 %r1, %r2, %r3;", "`.sat`"),
        ("dp2a.u32.u32 %r1, %r2, %r3, %r4;", "not modelled"),
        ("dp4a.lo.u32.u32 %r1, %r2, %r3, %r4;", "not modelled"),
        ("set.eq.u16.f32 %r1, %f2, %f3;", "not modelled"),
        ("popc.shiftamt.b32 %r1, %r2;", "`.shiftamt`"),
        ("sqrt.rn.f16 %f1, %f2;", "not modelled"),
        ("fma.f32 %f1, %f2, %f3, %f4;", "not modelled"),
        ("bra NOWHERE;", "`NOWHERE`"),
        ("bar.sync 0, 64;", "2 operands where 1 belong"),
        ("ld.global.b128 %l1, [%l2];", "not modelled"),
        ("call vprintf;", "`vprintf` has two parameters and a result"),
        ("call malloc;", "`malloc` has no body to call"),
        ("mov.u32 %r1, %clusterid.x;", "`%clusterid.x`"),
        ("cvt.rn.u32.f32 %r1, %f1;", "not modelled"),
        ("st.const.u32 [%l1], %r1;", "nothing can be stored there"),
        ("mul.u32 %r1, %r2, %r3;", "not modelled"),
    ] {
        let error = refused(body);
        assert!(error.starts_with("line 6: ") && error.contains(part), "{body}: {error}");
    }
}

#[test]
fn modules_that_say_something_else_are_refused() {
    for text in [
        ".visible .entry k() { .reg .b128 %x; ret; }",
        ".visible .entry k(.reg .u32 %a) { ret; }",
        ".texref image;",
        ".visible .entry k() { ret;",
        ".func f() { call f; ret; } .visible .entry k() { call f; ret; }",
        ".visible .entry k() { A: A: ret; }",
        ".visible .entry k() { .local .b8 large[600000]; ret; }",
        ".visible .entry k() { .shared .b8 large[50000]; ret; }",
        ".visible .entry k() { .reg .b32 %r<100000>; ret; }",
    ] {
        assert!(programs(text).is_err(), "{text}");
    }
}

/// A module with an example of each construct.
const MODULE: &str = "
.global .align 4 .b32 numbers[4] = {1, 0f3F800000, -3}; .const .u64 place = generic(numbers)+4;
.func (.param .b32 result) twice(.param .b32 value) { .reg .b32 %r<3>;
ld.param.u32 %r1, [value]; add.s32 %r2, %r1, %r1; st.param.b32 [result+0], %r2; ret; }
.visible .entry k(.param .u64 .ptr .global .align 4 out, .param .f32 x) .maxntid 64, 1, 1 {
.reg .pred %p<3>; .reg .b32 %r<8>; .reg .f32 %f<4>; .reg .b64 %l<4>; .local .b8 depot[8];
.shared .align 8 .b8 own[64]; ld.param.u64 %l1, [out]; ld.param.f32 %f1, [x];
{ .param .b32 p; st.param.b32 [p], 7; .param .b32 q; call.uni (q), twice, (p);
ld.param.b32 %r1, [q+0]; } setp.lt.and.s32 %p1|%p2, %r1, 3, !%p0; @!%p1 bra $L_2;
fma.rn.f32 %f2, %f1, 0f40000000, %f1; brx.idx %r1, LIST; LIST: .branchtargets $L_1, $L_2;
$L_1: mov.b64 {%r2, %r3}, %l1; bar.sync 0; shfl.sync.up.b32 %r4|%p1, %r1, 1, 0, -1;
$L_2: atom.global.add.u32 %r5, [%l1], 1; ld.global.v2.f32 {%f1, _}, [numbers]; ret; }";

mod any_text {
    use proptest::prelude::*;

    use super::{MODULE, programs};

    const WORDS: &[&str] = &[
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        ",",
        ";",
        ".",
        "+",
        "-",
        "|",
        "@",
        "!",
        "<",
        ">",
        "=",
        ":",
        ".v4",
        ".f64",
        ".shared",
        ".param",
        ".reg",
        "%r1",
        "%tid.x",
        "0",
        "-1",
        "0xFFFFFFFFFFFFFFFF",
        "99999999999999999999",
        "0f3F",
        "\"",
        "/*",
        "call",
        "ret",
        "k",
        "numbers",
        "\u{e9}",
    ];

    proptest! {
        #[test]
        fn no_text_breaks_the_reader(changes in proptest::collection::vec(
            (any::<prop::sample::Index>(), 0..WORDS.len(), 0..3),
            1..6,
        )) {
            let mut parts: Vec<&str> = MODULE.split_inclusive([' ', '[', ']', '{', '.', ',', '<']).collect();
            for (place, word, how) in changes {
                let place = place.index(parts.len());
                match how {
                    0 => drop(parts.remove(place)),
                    1 => parts[place] = WORDS[word],
                    _ => parts.insert(place, WORDS[word]),
                }
            }
            // The module may be accepted or refused. A refusal has a text.
            if let Err(error) = programs(&parts.concat()) {
                prop_assert!(!error.what.is_empty());
            }
        }
    }

    #[test]
    fn the_text_is_right_before_it_is_changed() {
        assert_eq!(programs(MODULE).map(|programs| programs.len()), Ok(1));
    }
}

/// The PTX of a failing `assert` in CUDA C++. One thread of 40 fails.
const ASSERTING: &str = "
    .extern .func __assertfail (.param .b64 message, .param .b64 file, .param .b32 line,
        .param .b64 function, .param .b64 size) .noreturn;
    .global .align 1 .b8 texts[] = {97, 62, 98, 0, 102, 46, 99, 117, 0, 103, 0};
    .visible .entry k(.param .u64 out) {
    .reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %l<4>;
    mov.u32 %r1, %tid.x; setp.ne.u32 %p1, %r1, 35; @%p1 bra END;
    mov.u64 %l1, texts; cvta.global.u64 %l1, %l1;
    { .param .b64 m; .param .b64 f; .param .b32 l; .param .b64 n; .param .b64 s;
      st.param.b64 [m+0], %l1; add.u64 %l2, %l1, 4; st.param.b64 [f+0], %l2;
      st.param.b32 [l+0], 12; add.u64 %l2, %l1, 9; st.param.b64 [n+0], %l2; st.param.b64 [s+0], 1;
      call.uni __assertfail, (m, f, l, n, s); }
    END: ret; }";

#[test]
fn an_assertion_that_does_not_hold_says_so_as_cuda_does_and_breaks_the_context() {
    let program = programs(ASSERTING).unwrap().into_iter().next().unwrap();
    let launch = super::launch(program, 1, 40);
    let mut memory = super::Flat { bytes: b"a>b\0f.cu\0g\0".to_vec() };
    let ending = super::run(&launch, &mut memory, super::Random::new(0), super::INSTRUCTIONS);
    assert_eq!(ending.fault, Some(Code::ASSERT));
    let line = "f.cu:12: g: block: [0,0,0], thread: [35,0,0] Assertion `a>b` failed.";
    assert_eq!(ending.messages, [line]);
    let holds = super::run(&sized(launch, 1, 32), &mut memory, super::Random::new(0), 1000);
    assert_eq!((holds.fault, holds.messages), (None, vec![]));
}

#[test]
fn the_limit_of_instructions_is_the_callers() {
    let counts =
        "mov.u32 %r1, 0; MORE: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1000; @%p1 bra MORE;";
    let mut memory = super::Flat { bytes: vec![0; 64] };
    let mut within = |limit| super::run(&kernel(counts), &mut memory, super::Random::new(0), limit);
    assert_eq!(within(2500).fault, Some(Code::LAUNCH_TIMEOUT));
    assert_eq!(within(3500).fault, None);
}
