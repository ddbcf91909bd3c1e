//! Memory that a graph allocates: addresses, launches, instantiations and frees.

use driver_conformance::driver::{self, Device, Graph, Kind, Mode, Node, Outcome, Span, Stream};
use driver_conformance::{ask, codes};

const BYTES: usize = 1 << 20;

/// Returns a graph that allocates memory and fills it with 7. If `frees` is set, the graph also
/// frees the memory.
fn allocating(device: &Device, frees: bool) -> Outcome<(Graph, Span)> {
    let graph = Graph::new()?;
    let (allocation, span) = graph.add_allocation(device, BYTES, &[])?;
    let fill = graph.add_fill(device, span, 7, &[allocation])?;
    if frees {
        graph.add_free(span, &[fill])?;
    }
    Ok((graph, span))
}

#[test]
#[ignore = "needs a CUDA device"]
fn relaunch_with_memory_not_freed() {
    ask("relaunch of a graph that leaves memory allocated", |device, answers| {
        let stream = Stream::non_blocking()?;
        let (graph, span) = allocating(device, false)?;
        let exec = graph.instantiate()?;
        answers.documented("first launch", exec.launch(&stream), codes::SUCCESS);
        stream.synchronize()?;
        let sevens = driver::download(span)?.iter().all(|byte| *byte == 7);
        answers.documented("what it filled is there", sevens, true);
        answers.seen("second launch", exec.launch(&stream), codes::INVALID_VALUE);
        answers.documented("the stream afterwards", stream.synchronize(), codes::SUCCESS);
        answers.documented("cuMemFreeAsync of it", stream.free(span), codes::SUCCESS);
        answers.documented("launch after the free", exec.launch(&stream), codes::SUCCESS);
        stream.synchronize()?;
        answers.documented("cuMemFree of it", driver::free(span), codes::SUCCESS);
        answers.documented("launch after that", exec.launch(&stream), codes::SUCCESS);
        answers.documented("and wait", stream.synchronize(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn relaunch_with_auto_free() {
    ask("relaunch of a graph with AUTO_FREE_ON_LAUNCH", |device, answers| {
        let stream = Stream::non_blocking()?;
        let (graph, span) = allocating(device, false)?;
        let exec = graph.instantiate_auto_free()?;
        for launch in ["first launch", "second launch", "third launch"] {
            answers.documented(launch, exec.launch(&stream), codes::SUCCESS);
        }
        stream.synchronize()?;
        let sevens = driver::download(span)?.iter().all(|byte| *byte == 7);
        answers.documented("memory is there between launches", sevens, true);
        answers.documented("cuGraphExecDestroy", exec.destroy(), codes::SUCCESS);
        answers.documented("memory outlives it", driver::download(span), codes::SUCCESS);
        answers.documented("cuMemFree of it", driver::free(span), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn relaunch_with_memory_freed_inside() {
    ask("relaunch of a graph that frees what it allocates", |device, answers| {
        let stream = Stream::non_blocking()?;
        let (graph, span) = allocating(device, true)?;
        let exec = graph.instantiate()?;
        answers.documented("first launch", exec.launch(&stream), codes::SUCCESS);
        answers.documented("second launch", exec.launch(&stream), codes::SUCCESS);
        answers.documented("and wait", stream.synchronize(), codes::SUCCESS);
        answers.seen("cuMemFree of it", driver::free(span), codes::INVALID_VALUE);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn addresses_over_launches_and_instantiations() {
    ask("addresses of what a graph allocates", |device, answers| {
        let (first, second) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let (graph, span) = allocating(device, true)?;
        let reads = |graph: &Graph| -> Outcome<bool> {
            let nodes = graph.nodes()?;
            let allocates = |node: &&Node<'_>| matches!(node.kind(), Ok(Kind::Allocate));
            let Some(node) = nodes.iter().find(allocates) else { return Ok(false) };
            Ok(node.allocated_address(device)? == span.address())
        };
        answers.documented("the node tells the address", reads(&graph)?, true);
        let exec = graph.instantiate()?;
        exec.launch(&first)?;
        exec.launch(&second)?;
        device.synchronize()?;
        answers.documented("the same after two launches", reads(&graph)?, true);
        answers.seen("a second instantiation beside it", graph.instantiate(), codes::NOT_SUPPORTED);
        exec.destroy()?;
        let again = graph.instantiate()?;
        answers.documented("launch of the next one", again.launch(&first), codes::SUCCESS);
        first.synchronize()?;
        answers.documented("the same in the next instantiation", reads(&graph)?, true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn bytes_are_reused_along_an_edge() {
    ask("reuse of addresses inside a graph", |device, answers| {
        let graph = Graph::new()?;
        let (allocation, before) = graph.add_allocation(device, BYTES, &[])?;
        let free = graph.add_free(before, &[allocation])?;
        let (_, after) = graph.add_allocation(device, BYTES, &[free])?;
        answers.seen("after the free", after.address() == before.address(), true);
        let (_, beside) = graph.add_allocation(device, BYTES, &[])?;
        let apart = beside.address().abs_diff(before.address()) >= BYTES as u64;
        answers.documented("beside it, other addresses", apart, true);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn stream_ordered_calls_become_nodes() {
    ask("stream-ordered allocation in a capture", |_, answers| {
        let stream = Stream::non_blocking()?;
        let outside = stream.allocate(BYTES)?;
        stream.synchronize()?;
        stream.begin_capture(Mode::ThreadLocal)?;
        let span = stream.allocate(BYTES);
        answers.documented("cuMemAllocAsync", span, codes::SUCCESS);
        answers.documented("cuMemFreeAsync", stream.free(span?), codes::SUCCESS);
        let graph = stream.end_capture()?;
        let kinds = graph.nodes()?.iter().map(Node::kind).collect::<Outcome<Vec<_>>>()?;
        answers.documented("nodes", kinds, vec![Kind::Allocate, Kind::Free]);
        stream.begin_capture(Mode::ThreadLocal)?;
        let freed = stream.free(outside);
        answers.seen("cuMemFreeAsync of outside memory", freed, codes::INVALID_VALUE);
        answers.noted("status after it", stream.status()?);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn trimming_graph_memory() {
    ask("cuDeviceGraphMemTrim", |device, answers| {
        let stream = Stream::non_blocking()?;
        let (graph, _) = allocating(device, true)?;
        answers.noted("reserved before instantiation", device.graph_memory_reserved()?);
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        let reserved = device.graph_memory_reserved()?;
        answers.seen("memory is kept after a launch", reserved >= BYTES as u64, true);
        answers.noted("reserved after a launch", reserved);
        answers.documented("trim with the graph alive", device.trim_graph_memory(), codes::SUCCESS);
        answers.noted("reserved after it", device.graph_memory_reserved()?);
        exec.destroy()?;
        graph.destroy()?;
        device.trim_graph_memory()?;
        answers.seen("reserved with no graph left", device.graph_memory_reserved()?, 0_u64);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn destroying_a_graph_that_holds_memory() {
    ask("memory of a graph that was destroyed", |device, answers| {
        let stream = Stream::non_blocking()?;
        let (graph, span) = allocating(device, false)?;
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        exec.destroy()?;
        graph.destroy()?;
        answers.documented("it is still there", driver::download(span), codes::SUCCESS);
        answers.documented("cuMemFree of it", driver::free(span), codes::SUCCESS);
        answers.seen("and again", driver::free(span), codes::INVALID_VALUE);
        Ok(())
    });
}
