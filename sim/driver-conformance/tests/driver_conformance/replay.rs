//! Replays: reuse of bytes within a linear capture, and two executable graphs that use one buffer.

use driver_conformance::driver::{self, Event, Exec, Mode, Outcome, Span, Stream};
use driver_conformance::{Kernels, ask};

use crate::support::{numbers, read_numbers, write_numbers};

const ELEMENTS: usize = 1024;
const REPLAYS: u32 = 1000;

/// Captures `out = 0.5 t + 0.125 u`, where `t = 1.25 input` is finished before `u = 0.75 out`
/// begins. The caller chooses where the two temporaries are stored.
fn capture(
    stream: &Stream,
    kernels: &Kernels,
    input: Span,
    out: Span,
    [t, u]: [Span; 2],
) -> Outcome<Exec> {
    let add = |to: Span, factor: f32, from: Span| {
        kernels.axpy.launch(stream, to, from.address(), factor.to_bits())
    };
    stream.begin_capture(Mode::ThreadLocal)?;
    driver::fill_behind(stream, out, 0)?;
    driver::fill_behind(stream, t, 0)?;
    add(t, 1.25, input)?;
    add(out, 0.5, t)?;
    // An arena would rewind here, and `u` may reuse the bytes of `t`.
    driver::fill_behind(stream, u, 0)?;
    add(u, 0.75, out)?;
    add(out, 0.125, u)?;
    stream.end_capture()?.instantiate()
}

#[test]
#[ignore = "needs a CUDA device"]
fn reuse_after_a_rewind() {
    ask("reuse of bytes inside a linear capture, 1,000 replays", |_, answers| {
        let bytes = ELEMENTS * 4;
        let (stream, kernels) = (Stream::non_blocking()?, Kernels::load()?);
        let (input, arena) = (driver::allocate(bytes)?, driver::allocate(4 * bytes)?);
        let slot = |index: usize| arena.part(index * bytes, bytes);
        let (apart_out, reused_out) = (driver::allocate(bytes)?, driver::allocate(bytes)?);
        let apart = capture(&stream, &kernels, input, apart_out, [slot(0), slot(1)])?;
        let reused = capture(&stream, &kernels, input, reused_out, [slot(2), slot(2)])?;
        let mut differing = 0_usize;
        for replay in 0..REPLAYS {
            write_numbers(input, &floats(replay))?;
            apart.launch(&stream)?;
            reused.launch(&stream)?;
            stream.synchronize()?;
            differing += usize::from(driver::download(apart_out)? != driver::download(reused_out)?);
        }
        answers.documented("replays that differ from a layout without reuse", differing, 0_usize);

        // The comparison must be able to fail. In this capture, a temporary overlaps the result.
        let wrong_out = slot(3);
        let wrong = capture(&stream, &kernels, input, wrong_out, [wrong_out, slot(0)])?;
        wrong.launch(&stream)?;
        stream.synchronize()?;
        let differs = driver::download(wrong_out)? != driver::download(apart_out)?;
        answers.documented("a layout that overlaps what lives differs", differs, true);
        Ok(())
    });
}

/// Returns different floats for each replay. None of them is zero.
fn floats(replay: u32) -> Vec<u32> {
    let mut state = replay.wrapping_mul(2_654_435_761).wrapping_add(1);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        // With an exponent of 127, any mantissa gives a value between 1 and 2.
        0x3f80_0000 | (state & 0x007f_ffff)
    };
    (0..ELEMENTS).map(|_| next()).collect()
}

/// Returns an executable graph that computes `times * x + plus` on a buffer.
fn affine(stream: &Stream, kernels: &Kernels, span: Span, times: u64, plus: u32) -> Outcome<Exec> {
    stream.begin_capture(Mode::ThreadLocal)?;
    kernels.multiply_add.launch(stream, span, times, plus)?;
    stream.end_capture()?.instantiate()
}

/// Returns the result after `count` rounds of `3x + 1` followed by `5x + 2`.
fn rounds(count: u32) -> u32 {
    let round = |x: u32, _| x.wrapping_mul(3).wrapping_add(1).wrapping_mul(5).wrapping_add(2);
    (0..count).fold(1, round)
}

#[test]
#[ignore = "needs a CUDA device"]
fn two_graphs_on_one_buffer() {
    ask("two executable graphs on one buffer", |_, answers| {
        let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let kernels = Kernels::load()?;
        let span = numbers(&[1; ELEMENTS])?;
        let first = affine(&stream, &kernels, span, 3, 1)?;
        let second = affine(&stream, &kernels, span, 5, 2)?;
        let expected = vec![rounds(REPLAYS); ELEMENTS];

        for _ in 0..REPLAYS {
            first.launch(&stream)?;
            second.launch(&stream)?;
        }
        stream.synchronize()?;
        answers.documented("on one stream, in order", read_numbers(span)? == expected, true);

        write_numbers(span, &[1; ELEMENTS])?;
        for _ in 0..REPLAYS {
            first.launch(&stream)?;
            other.wait(&Event::recorded(&stream)?)?;
            second.launch(&other)?;
            stream.wait(&Event::recorded(&other)?)?;
        }
        stream.synchronize()?;
        let ordered = read_numbers(span)? == expected;
        answers.documented("on two streams with events between, in order", ordered, true);

        write_numbers(span, &[1; ELEMENTS])?;
        for _ in 0..REPLAYS {
            first.launch(&stream)?;
            second.launch(&other)?;
        }
        stream.synchronize()?;
        other.synchronize()?;
        let ordered = read_numbers(span)? == expected;
        answers.noted("on two streams without events, in order by chance", ordered);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn one_graph_on_two_streams() {
    ask("one executable graph launched on two streams in turn", |_, answers| {
        let (stream, other) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let kernels = Kernels::load()?;
        let span = numbers(&[1; ELEMENTS])?;
        let exec = affine(&stream, &kernels, span, 3, 1)?;
        for _ in 0..REPLAYS {
            exec.launch(&stream)?;
            exec.launch(&other)?;
        }
        stream.synchronize()?;
        other.synchronize()?;
        let step = |x: u32, _| x.wrapping_mul(3).wrapping_add(1);
        let expected = (0..2 * REPLAYS).fold(1, step);
        let whole = read_numbers(span)? == vec![expected; ELEMENTS];
        answers.documented("each launch waits for the one before", whole, true);
        Ok(())
    });
}
