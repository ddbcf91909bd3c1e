//! Updates of executable graphs: which launches they affect, which changes are forbidden, and the
//! state after a refusal.

use driver_conformance::driver::{
    self, Device, Graph, HostBuffer, Memset, Mode, Outcome, Span, Stream,
};
use driver_conformance::{Gate, Kernels, ask, codes};

use crate::support::{numbers, read_numbers, write_numbers};

const ELEMENTS: usize = 64;
/// `CUgraphExecUpdateResult`.
const UPDATED: u32 = 0;
const TOPOLOGY_CHANGED: u32 = 2;
const NODE_TYPE_CHANGED: u32 = 3;

/// Captures `times * x + plus` on a buffer, repeated `count` times.
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
        // The next graph is captured while the launch is still waiting.
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

/// Returns a graph with a single memset.
fn one_memset(device: &Device, span: Span, set: Memset) -> Outcome<Graph> {
    let graph = Graph::new()?;
    graph.add_memset(device, span, set, &[])?;
    Ok(graph)
}

/// "Both the value and pointer address may be updated. Changing other aspects of the memset (width,
/// height, element size or pitch) may cause the update to be rejected"
/// (`cuGraphExecMemsetNodeSetParams`). The shape of a pool's fill nodes only depends on the element
/// type and the length, which is correct in both cases. The observations show which changes a
/// driver refuses.
#[test]
#[ignore = "needs a CUDA device"]
fn what_a_memset_may_be_changed_to() {
    ask("an update of a memset", |device, answers| {
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(2 * ELEMENTS)?);
        let old = Memset { value: 1, ..Memset::row(1, ELEMENTS) };
        let new = Memset { value: 2, ..old };
        let exec = one_memset(device, span, old)?.instantiate()?;
        let elsewhere = span.part(ELEMENTS, ELEMENTS);
        let (answer, _) = exec.update(&one_memset(device, elsewhere, new)?);
        answers.documented("another value and another address", answer, codes::SUCCESS);
        driver::fill(span, 0)?;
        Stream::legacy().synchronize()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        let set = driver::download(elsewhere)? == [2; ELEMENTS];
        answers.documented("a launch sets the new value at the new address", set, true);
        for (question, set) in [
            ("half the width", Memset::row(1, ELEMENTS / 2)),
            ("twice the width", Memset::row(1, 2 * ELEMENTS)),
            ("elements of 4 bytes, the same number of bytes", Memset::row(4, ELEMENTS / 4)),
            ("elements of 2 bytes, the same number of elements", Memset::row(2, ELEMENTS)),
        ] {
            let (answer, _) = exec.update(&one_memset(device, span, set)?);
            answers.noted(question, answer);
        }
        let rows = Memset { height: 2, pitch: ELEMENTS, ..Memset::row(1, ELEMENTS) };
        let (answer, _) = exec.update(&one_memset(device, span, rows)?);
        answers.documented("two rows", answer, codes::UPDATE_FAILURE);
        Ok(())
    });
}
