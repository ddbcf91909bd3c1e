//! Graphs that are nodes of other graphs: the copy in a node, refusals, and launches during a
//! capture. The graph verifier reads child graphs like all other graphs, and relies on this being
//! possible.

use driver_conformance::driver::{self, Graph, Kind, Mode, Outcome, Span, Status, Stream};
use driver_conformance::{ask, codes};

const BYTES: usize = 64;

fn fill(stream: &Stream, span: Span, value: u8) -> Outcome<Graph> {
    stream.begin_capture(Mode::ThreadLocal)?;
    driver::fill_behind(stream, span, value)?;
    stream.end_capture()
}

fn kinds(graph: &Graph) -> Outcome<Vec<Kind>> {
    graph.nodes()?.iter().map(driver::Node::kind).collect()
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_node_has_a_copy_of_its_graph() {
    ask("a child graph", |device, answers| {
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(2 * BYTES)?);
        driver::fill(span, 0)?;
        Stream::legacy().synchronize()?;
        let (low, high) = (span.part(0, BYTES), span.part(BYTES, BYTES));
        let child = fill(&stream, low, 1)?;
        let graph = Graph::new()?;
        let before = graph.add_fill(device, low, 9, &[])?;
        let node = graph.add_child(&child, &[before])?;
        graph.add_fill(device, high, 2, &[node])?;
        child.destroy()?;
        answers.documented("kind of the node", node.kind()? == Kind::Child, true);
        let inner = node.child_graph()?;
        answers.documented("what is in it", kinds(&inner)?, vec![Kind::Fill]);
        let (address, bytes) = inner.nodes()?[0].filled_span()?;
        let reads = (address, bytes) == (low.address(), BYTES);
        answers.documented("its nodes say what they do", reads, true);
        let allocates = inner.add_allocation(device, BYTES, &[]);
        answers.documented("memory may be added to it", allocates.is_ok(), false);
        let exec = graph.instantiate()?;
        exec.launch(&stream)?;
        stream.synchronize()?;
        let ran = driver::download(span)? == [[1; BYTES], [2; BYTES]].concat();
        answers.documented("it runs between the nodes around it", ran, true);
        Ok(())
    });
}

/// A capture refuses a launch of a graph, which the documentation does not describe.
/// `cuGraphAddChildGraphNode` adds a child graph to a capture. It was seen with a thread-local
/// capture, and a graph that had not been launched before.
#[test]
#[ignore = "needs a CUDA device"]
fn a_launch_in_a_capture() {
    ask("a graph launched in a capture", |_, answers| {
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(BYTES)?);
        let exec = fill(&stream, span, 1)?.instantiate()?;
        for when in ["the first launch", "a later launch"] {
            for mode in [Mode::ThreadLocal, Mode::Global, Mode::Relaxed] {
                let question = format!("{when}, {mode:?}");
                stream.begin_capture(mode)?;
                let launched = exec.launch(&stream);
                if mode == Mode::ThreadLocal && when == "the first launch" {
                    answers.seen(&question, launched, codes::CAPTURE_UNSUPPORTED);
                } else {
                    answers.assumed(&question, launched, codes::CAPTURE_UNSUPPORTED);
                }
                let status = stream.status()?;
                answers.assumed(&format!("{question}, status"), status, Status::Invalidated);
                if let Ok(graph) = stream.end_capture() {
                    answers.noted(&format!("{question}, nodes"), kinds(&graph)?);
                }
            }
            exec.launch(&stream)?;
            stream.synchronize()?;
        }
        Ok(())
    });
}

/// "If childGraph contains allocation nodes, free nodes, or conditional nodes, this call will return an error."
#[test]
#[ignore = "needs a CUDA device"]
fn memory_nodes_are_not_copied() {
    ask("a child graph with memory nodes", |device, answers| {
        let (graph, child) = (Graph::new()?, Graph::new()?);
        let (node, span) = child.add_allocation(device, BYTES, &[])?;
        child.add_free(span, &[node])?;
        let added = graph.add_child(&child, &[]);
        answers.documented("it may be added", added.is_ok(), false);
        answers.seen("the answer", added, codes::NOT_SUPPORTED);
        answers.documented("nodes then", graph.nodes()?.len(), 0_usize);
        Ok(())
    });
}

/// A graph with memory nodes can not be launched during a capture either, not even with
/// `AUTO_FREE_ON_LAUNCH`.
#[test]
#[ignore = "needs a CUDA device"]
fn memory_nodes_are_not_launched_in_a_capture() {
    ask("a launch of memory nodes in a capture", |device, answers| {
        let stream = Stream::non_blocking()?;
        let graph = Graph::new()?;
        graph.add_allocation(device, BYTES, &[])?;
        let exec = graph.instantiate_auto_free()?;
        stream.begin_capture(Mode::ThreadLocal)?;
        let launched = exec.launch(&stream);
        answers.seen("the answer", launched, codes::CAPTURE_UNSUPPORTED);
        answers.seen("the capture goes on", stream.status()?, Status::Invalidated);
        answers.seen("its end", stream.end_capture(), codes::CAPTURE_INVALIDATED);
        Ok(())
    });
}
