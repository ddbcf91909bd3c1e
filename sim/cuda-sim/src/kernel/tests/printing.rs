//! `vprintf`: the output of threads, the order of the output, and the return values.

use super::super::printed::{Buffer, Printed};
use super::{Flat, INSTRUCTIONS, Launch, Mistake, Random, launch, programs, run, sized};
use crate::code::Code;
use crate::printf::BUFFER;

/// Builds a kernel that prints the format at the start of global memory. The arguments are the
/// thread number, 1.5 and the text at byte 32. The return value is stored in the local variable
/// `answer`.
fn printing(format_at: i64) -> Launch {
    let text = format!(
        ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
        .visible .entry k(.param .u64 out) {{
        .local .align 8 .b8 stack[24]; .reg .b32 %r<4>; .reg .b64 %l<8>;
        mov.u32 %r1, %tid.x; st.local.u32 [stack], %r1;
        mov.b64 %l1, 0d3FF8000000000000; st.local.b64 [stack+8], %l1;
        ld.param.u64 %l2, [out]; add.u64 %l3, %l2, 32; st.local.b64 [stack+16], %l3;
        add.s64 %l2, %l2, {format_at}; mov.u64 %l4, stack; cvta.local.u64 %l4, %l4;
        {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %l2; st.param.b64 [a], %l4;
          call.uni (r), vprintf, (f, a); ld.param.b32 %r2, [r]; }}
        ld.param.u64 %l5, [out]; mov.u32 %r3, %ctaid.x; setp.ne.u32 %p1, %r1, 0; @%p1 bra END;
        setp.ne.u32 %p1, %r3, 0; @%p1 bra END; st.global.u32 [%l5+60], %r2;
        END: ret; }}"
    );
    let text = text.replace(".reg .b32 %r<4>", ".reg .pred %p<2>; .reg .b32 %r<4>");
    launch(programs(&text).unwrap().into_iter().next().unwrap(), 1, 1)
}

/// Builds a kernel that prints the format at the start of global memory, with arguments that begin
/// `arguments_at` bytes later. The return value is stored in the first four bytes.
fn printing_of(arguments_at: i64) -> Launch {
    let text = format!(
        ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
        .visible .entry k(.param .u64 out) {{
        .reg .b32 %r<2>; .reg .b64 %l<3>;
        ld.param.u64 %l1, [out]; add.s64 %l2, %l1, {arguments_at};
        {{ .param .b64 f; .param .b64 a; .param .b32 r; st.param.b64 [f], %l1; st.param.b64 [a], %l2;
          call.uni (r), vprintf, (f, a); ld.param.b32 %r1, [r]; }}
        st.global.u32 [%l1], %r1; ret; }}"
    );
    launch(programs(&text).unwrap().into_iter().next().unwrap(), 1, 1)
}

/// Returns the printed texts, the return value of thread 0, the reports, and the fault.
fn printed(
    launch: &Launch,
    format: &[u8],
    seed: u64,
) -> (Vec<String>, i32, Vec<String>, Option<Code>) {
    let mut memory = Flat { bytes: vec![0; 64] };
    memory.bytes[..format.len()].copy_from_slice(format);
    memory.bytes[32..36].copy_from_slice(b"abc\0");
    let ending = run(launch, &mut memory, Random::new(seed), INSTRUCTIONS);
    let texts = ending.printed.into_iter().map(|one| String::from_utf8(one.text).unwrap());
    let answer = i32::from_le_bytes(memory.bytes[60..].try_into().unwrap());
    let wrong = ending.reports.into_iter().map(|(mistake, text)| {
        assert!(matches!(mistake, Mistake::KernelFault | Mistake::OutOfBounds), "{text}");
        text
    });
    (texts.collect(), answer, wrong.collect(), ending.fault)
}

#[test]
fn threads_print_their_arguments_in_order_under_every_seed() {
    let launch = sized(printing(0), 3, 40);
    for seed in 0..10 {
        let (texts, answer, reports, fault) = printed(&launch, b"%d %.2f %s\n", seed);
        let expected = (0..120).map(|thread| format!("{} 1.50 abc\n", thread % 40));
        assert_eq!(texts, expected.collect::<Vec<_>>());
        assert_eq!((answer, reports, fault), (3, vec![], None));
    }
}

#[test]
fn the_answer_is_the_number_of_arguments() {
    let launch = printing(0);
    assert_eq!(printed(&launch, b"none", 0).1, 0);
    assert_eq!(printed(&launch, b"%%", 0), (vec!["%".to_owned()], 0, vec![], None));
    assert_eq!(printed(&launch, b"%*f|", 0), (vec!["1.500000|".to_owned()], 2, vec![], None));
}

#[test]
fn without_a_format_nothing_is_printed() {
    let start = i64::try_from(super::START).unwrap();
    assert_eq!(printed(&printing(-start), b"", 0), (vec![], -1, vec![], None));
}

#[test]
fn a_conversion_that_is_none_is_told_and_printed_as_it_is_written() {
    let (texts, answer, reports, fault) = printed(&printing(0), b"%y%d", 0);
    assert_eq!((texts, answer, fault), (vec!["%y0".to_owned()], 1, None));
    let [report] = &reports[..] else { panic!("{reports:?}") };
    assert!(report.contains("`%y` is no conversion of printf"), "{report}");
}

#[test]
fn each_conversion_that_is_none_is_told_once() {
    let launch = sized(printing(0), 2, 40);
    let (texts, _, reports, _) = printed(&launch, b"%y%k%y%d\n", 0);
    assert_eq!(texts.len(), 80);
    let named = |name: &str| reports.iter().filter(|report| report.contains(name)).count();
    assert_eq!((named("`%y`"), named("`%k`"), reports.len()), (1, 1, 2), "{reports:?}");
}

#[test]
fn a_text_counts_towards_the_instructions_that_a_warp_may_take() {
    // The text is written, because it is exactly as long as the buffer.
    let launch = sized(printing(0), 1, 32);
    let taken = |format: &[u8], instructions| {
        let mut memory = Flat { bytes: vec![0; 64] };
        memory.bytes[..format.len()].copy_from_slice(format);
        run(&launch, &mut memory, Random::new(0), instructions)
    };
    let wide = format!("%{BUFFER}d");
    let ending = taken(wide.as_bytes(), 2 * BUFFER as u64 / 32);
    assert_eq!(ending.fault, Some(Code::LAUNCH_TIMEOUT));
    // The launch ends between two threads, and not only after the last one.
    assert_eq!(ending.printed.iter().map(|one| one.thread).collect::<Vec<_>>(), [0]);
    assert_eq!(taken(wide.as_bytes(), 33 * BUFFER as u64 / 32).fault, None);
    // 32 one-byte texts count as one instruction, and reading them counts as another.
    assert_eq!(taken(b"a", 40).fault, None);
    assert_eq!(taken(b"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 40).fault, Some(Code::LAUNCH_TIMEOUT));
}

#[test]
fn a_text_that_is_read_counts_where_little_of_it_is_written() {
    let mut memory = Flat { bytes: vec![b'a'; BUFFER] };
    memory.bytes[BUFFER - 1] = 0;
    // A format of one mebibyte that prints nothing.
    let launch = printing_of(0);
    let ending = run(&launch, &mut memory, Random::new(0), BUFFER as u64 / 32);
    assert_eq!(ending.fault, Some(Code::LAUNCH_TIMEOUT));
    assert_eq!(ending.printed, []);
}

#[test]
fn arguments_and_texts_that_are_not_there_break_the_launch() {
    // A fourth argument lies past the thread's own memory, or consists of the bytes after the third
    // argument.
    let (_, _, reports, fault) = printed(&printing(0), b"%d%f%s%s%s%s%s%s%s", 0);
    assert_eq!((fault, reports.len()), (Some(Code::ILLEGAL_ADDRESS), 1), "{reports:?}");
    // The format lies past the end of its allocation.
    let (texts, _, reports, fault) = printed(&printing(64), b"", 0);
    assert_eq!((texts.len(), fault), (0, Some(Code::ILLEGAL_ADDRESS)), "{reports:?}");
}

#[test]
fn arguments_at_the_last_addresses_break_the_launch() {
    for from_the_end in 1..=8 {
        let launch = printing_of(-from_the_end - i64::try_from(super::START).unwrap());
        let mut memory = Flat { bytes: b"%d %f %c %s\0".to_vec() };
        let ending = run(&launch, &mut memory, Random::new(0), INSTRUCTIONS);
        assert_eq!(ending.fault, Some(Code::ILLEGAL_ADDRESS), "{from_the_end}");
        assert_eq!(ending.printed, []);
    }
}

#[test]
fn what_is_behind_32_arguments_is_printed_as_it_is_written() {
    const ARGUMENTS_AT: usize = 256;
    let numbers = |count: u32| (0..count).map(|n| format!("{n} ")).collect::<String>();
    for (before, behind, printed, answer) in [
        (32, "%d %%", "%d %", 32),
        // The two arguments exceed the limit by one, and the next conversion reads the argument
        // after them.
        (31, "%*d %d", "%*d %d", 31),
    ] {
        let mut memory = Flat { bytes: vec![0; 512] };
        let format = "%d ".repeat(before) + behind;
        memory.bytes[..format.len()].copy_from_slice(format.as_bytes());
        for (number, bytes) in (0_u32..).zip(memory.bytes[ARGUMENTS_AT..].chunks_exact_mut(4)) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
        let launch = printing_of(i64::try_from(ARGUMENTS_AT).unwrap());
        let ending = run(&launch, &mut memory, Random::new(0), INSTRUCTIONS);
        assert_eq!((ending.fault, ending.reports), (None, vec![]));
        let texts = ending.printed.into_iter().map(|one| String::from_utf8(one.text).unwrap());
        let expected = numbers(u32::try_from(before).unwrap()) + printed;
        assert_eq!(texts.collect::<Vec<_>>(), [expected]);
        assert_eq!(i32::from_le_bytes(memory.bytes[..4].try_into().unwrap()), answer);
    }
}

#[test]
fn empty_texts_take_no_memory() {
    let mut buffer = Buffer::default();
    (0..100).for_each(|thread| buffer.push(Printed { block: 0, thread, text: Vec::new() }));
    assert_eq!(buffer.take(), []);
}

#[test]
fn a_full_buffer_loses_what_is_oldest() {
    let mut buffer = Buffer::default();
    let one = |thread, bytes| Printed { block: 0, thread, text: vec![b'a'; bytes] };
    [one(0, 10), one(1, BUFFER - 10), one(2, 1)].into_iter().for_each(|one| buffer.push(one));
    let threads: Vec<u32> = buffer.take().iter().map(|one| one.thread).collect();
    assert_eq!(threads, [1, 2]);
    buffer.push(one(3, BUFFER + 1));
    assert_eq!(buffer.take(), []);
    buffer.push(one(4, BUFFER));
    assert_eq!(buffer.take().len(), 1);
}

#[test]
fn parameters_that_are_too_small_are_refused() {
    for (declared, name) in [
        (".param .b32 f; .param .b64 a; .param .b32 r;", "`f` has 4 bytes"),
        (".param .b64 f; .param .b8 a; .param .b32 r;", "`a` has 1 bytes"),
        (".param .b64 f; .param .b64 a; .param .b16 r;", "`r` has 2 bytes"),
    ] {
        let text = format!(
            ".extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
            .visible .entry k() {{ {{ {declared} call.uni (r), vprintf, (f, a); }} ret; }}"
        );
        let refused = programs(&text).unwrap_err().to_string();
        assert!(refused.contains(name), "{refused}");
    }
}
