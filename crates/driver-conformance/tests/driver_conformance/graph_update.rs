//! Updates of executable graphs: which launches they concern, what they may not change, and what is left
//! where they are refused.

use driver_conformance::driver::{self, Graph, HostBuffer, Mode, Outcome, Span, Stream};
use driver_conformance::{Gate, Kernels, ask, codes};

use crate::support::{numbers, read_numbers, write_numbers};

const ELEMENTS: usize = 64;
/// `CUgraphExecUpdateResult`.
const UPDATED: u32 = 0;
const TOPOLOGY_CHANGED: u32 = 2;
const NODE_TYPE_CHANGED: u32 = 3;

/// `times * x + plus` on a buffer, so many times.
fn affine(
    stream: &Stream,
    kernels: &Kernels,
    span: Span,
    (times, plus): (u64, u32),
    kernel_nodes: usize,
) -> Outcome<Graph> {
    stream.begin_capture(Mode::ThreadLocal)?;
    for _ in 0..kernel_nodes {
        kernels.multiply_add.launch(stream, span, times, plus)?;
    }
    stream.end_capture()
}

#[test]
#[ignore = "needs a CUDA device"]
fn parameters_of_a_kernel() {
    ask("an update of an executable graph", |_, answers| {
        let (stream, other, kernels) =
            (Stream::non_blocking()?, Stream::non_blocking()?, Kernels::load()?);
        let span = numbers(&[1; ELEMENTS])?;
        let exec = affine(&stream, &kernels, span, (3, 1), 1)?.instantiate()?;
        let gate = Gate::closed();
        stream.hold(gate)?;
        exec.launch(&stream)?;
        // Captured beside the launch that waits.
        let next = affine(&other, &kernels, span, (5, 2), 1)?;
        let (answer, told) = exec.update(&next);
        answers.documented("while a launch waits", answer, codes::SUCCESS);
        answers.documented("its result", told.result, UPDATED);
        next.destroy()?;
        exec.launch(&stream)?;
        gate.open();
        stream.synchronize()?;
        let whole = read_numbers(span)? == [(3 + 1) * 5 + 2; ELEMENTS];
        answers.documented(
            "the launch before is the old one, that after it the new one",
            whole,
            true,
        );

        let longer = affine(&other, &kernels, span, (7, 3), 2)?;
        let (answer, told) = exec.update(&longer);
        answers.documented("with one node more", answer, codes::UPDATE_FAILURE);
        answers.documented("its result", told.result, TOPOLOGY_CHANGED);
        answers.documented("it names no node", told.node.is_none(), true);

        other.begin_capture(Mode::ThreadLocal)?;
        driver::fill_behind(&other, span, 0)?;
        let filling = other.end_capture()?;
        let (answer, told) = exec.update(&filling);
        answers.documented("with a node of another kind", answer, codes::UPDATE_FAILURE);
        answers.documented("its result", told.result, NODE_TYPE_CHANGED);
        let named = told.node == filling.nodes()?.first().copied();
        answers.documented("it names the node of the new graph", named, true);

        write_numbers(span, &[1; ELEMENTS])?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        let as_before = read_numbers(span)? == [5 + 2; ELEMENTS];
        answers.documented("refused, it changes nothing", as_before, true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn the_source_of_a_copy_from_the_host() {
    ask("an update to another buffer of the host", |_, answers| {
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(ELEMENTS)?);
        let capture = |value: u8| {
            let host = HostBuffer::pinned(ELEMENTS)?;
            host.fill(value);
            stream.begin_capture(Mode::ThreadLocal)?;
            host.upload_behind(&stream, span)?;
            stream.end_capture()
        };
        let exec = capture(1)?.instantiate()?;
        let (answer, _) = exec.update(&capture(2)?);
        answers.documented("its answer", answer, codes::SUCCESS);
        exec.launch(&stream)?;
        stream.synchronize()?;
        let copied = driver::download(span)? == [2; ELEMENTS];
        answers.documented("a launch copies from the new one", copied, true);
        Ok(())
    });
}
