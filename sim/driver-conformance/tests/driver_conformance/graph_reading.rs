//! Reads a captured graph back: nodes, edges, and the data of edges.

use driver_conformance::driver::{
    self, Attribute, Device, Edge, Event, Graph, HostBuffer, Kind, Mode, Node, Outcome, Stream,
};
use driver_conformance::{Answers, Gate, Kernels, ask, codes};

fn kinds(graph: &Graph) -> Outcome<Vec<Kind>> {
    graph.nodes()?.iter().map(Node::kind).collect()
}

/// Returns the edges as pairs of node kinds, `from-to`, so the driver's order of nodes does not
/// matter.
fn shape(graph: &Graph) -> Outcome<String> {
    let kinds = kinds(graph)?;
    let name = |index: usize| kinds.get(index).map_or("?".to_owned(), |kind| format!("{kind:?}"));
    let edge = |edge: &Edge| format!("{}-{}", name(edge.from), name(edge.to));
    let mut edges: Vec<String> = graph.edges()?.iter().map(edge).collect();
    edges.sort();
    Ok(edges.join(" "))
}

/// Returns `true` if the device supports programmatic dependencies. Otherwise, the observations are
/// skipped.
fn has_programmatic_edges(device: &Device, answers: &mut Answers) -> Outcome<bool> {
    let major = device.attribute(Attribute::CapabilityMajor)?;
    if major < 9 {
        answers.skip(&format!("needs compute capability 9.0, this device has {major}.x"));
    }
    Ok(major >= 9)
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_linear_capture() {
    ask("reading a linear capture back", |_, answers| {
        let kernels = Kernels::load()?;
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(4096)?);
        let host = HostBuffer::pinned(4096)?;
        stream.begin_capture(Mode::ThreadLocal)?;
        driver::fill_behind(&stream, span, 3)?;
        kernels.multiply_add.launch(&stream, span, 1, 1)?;
        host.download_behind(&stream, span)?;
        stream.hold(Gate::closed())?;
        let graph = stream.end_capture()?;
        answers.documented("edges", shape(&graph)?, "Copy-Host Fill-Kernel Kernel-Copy");
        let plain = graph
            .edges()?
            .iter()
            .all(|edge| (edge.from_port, edge.to_port, edge.kind) == (0, 0, 0));
        answers.documented("every edge is a plain one", plain, true);
        let nodes = graph.nodes()?;
        let fills = |node: &&Node<'_>| matches!(node.kind(), Ok(Kind::Fill));
        let filled = nodes.iter().find(fills).map(Node::filled_span).transpose()?;
        answers.documented("the fill tells its span", filled == Some((span.address(), 4096)), true);
        answers.seen(
            "nodes, in order",
            kinds(&graph)?,
            vec![Kind::Fill, Kind::Kernel, Kind::Copy, Kind::Host],
        );
        Ok(())
    });
}

/// The alternative is that the wait replaces the dependencies that it implies. Captures read a
/// stream's dependencies after each wait. As long as the stream's own nodes are listed, captures
/// treat them as the stream's last nodes. They are correct in both cases.
#[test]
#[ignore = "needs a CUDA device"]
fn a_wait_for_what_comes_behind() {
    ask("a stream that waits for work behind its own", |_, answers| {
        let (stream, branch) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let (first, second) = (driver::allocate(64)?, driver::allocate(64)?);
        stream.begin_capture(Mode::ThreadLocal)?;
        driver::fill_behind(&stream, first, 1)?;
        branch.wait(&Event::recorded(&stream)?)?;
        driver::copy_behind(&branch, second, first)?;
        stream.wait(&Event::recorded(&branch)?)?;
        stream.hold(Gate::closed())?;
        let graph = stream.end_capture()?;
        answers.seen("edges", shape(&graph)?, "Copy-Host Fill-Copy Fill-Host");
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_forked_capture() {
    ask("reading a forked capture back", |_, answers| {
        let (stream, branch) = (Stream::non_blocking()?, Stream::non_blocking()?);
        let (first, second) = (driver::allocate(64)?, driver::allocate(64)?);
        let kernels = Kernels::load()?;
        stream.begin_capture(Mode::ThreadLocal)?;
        driver::fill_behind(&stream, first, 1)?;
        branch.wait(&Event::recorded(&stream)?)?;
        kernels.multiply_add.launch(&stream, first, 1, 1)?;
        driver::copy_behind(&branch, second, first)?;
        stream.wait(&Event::recorded(&branch)?)?;
        stream.hold(Gate::closed())?;
        let graph = stream.end_capture()?;
        let expected = "Copy-Host Fill-Copy Fill-Kernel Kernel-Host";
        answers.documented("edges", shape(&graph)?, expected);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn nodes_added_by_hand() {
    ask("reading nodes added by hand back", |_, answers| {
        let graph = Graph::new()?;
        let [nodes, edges] = graph.read_no_entries();
        answers.seen("nodes of an empty graph, into no entries", nodes, codes::INVALID_VALUE);
        answers.assumed("edges of an empty graph, into no entries", edges, codes::INVALID_VALUE);
        let first = graph.add_empty(&[])?;
        let [nodes, edges] = graph.read_no_entries();
        answers.assumed("nodes, into no entries", nodes, codes::INVALID_VALUE);
        answers.seen("edges, into no entries", edges, codes::INVALID_VALUE);
        let second = graph.add_empty(&[first])?;
        graph.add_empty(&[first, second])?;
        answers.documented("nodes", kinds(&graph)?, vec![Kind::Empty; 3]);
        answers.documented("edges", graph.edges()?.len(), 3_usize);
        answers.documented("edges without data", graph.edges_without_data()?, 3_usize);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn a_programmatic_edge() {
    ask("a programmatic dependency in a capture", |device, answers| {
        if !has_programmatic_edges(device, answers)? {
            return Ok(());
        }
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(64)?);
        let kernels = Kernels::load()?;
        stream.begin_capture(Mode::ThreadLocal)?;
        kernels.multiply_add.launch(&stream, span, 1, 1)?;
        let dependent = kernels.multiply_add.launch_dependent(&stream, span, 1, 1);
        answers.documented("cuLaunchKernelEx", dependent, codes::SUCCESS);
        let graph = stream.end_capture()?;
        let edges = graph.edges()?;
        answers.documented("edges", edges.len(), 1_usize);
        let [edge] = edges[..] else { return Ok(()) };
        answers.documented("its kind is programmatic", u32::from(edge.kind), 1_u32);
        answers.seen("its source port is the trigger", u32::from(edge.from_port), 1_u32);
        answers.documented("its target port is all of the kernel", u32::from(edge.to_port), 0_u32);
        answers.documented("edges without data", graph.edges_without_data(), codes::LOSSY_QUERY);
        let exec = graph.instantiate()?;
        answers.documented("launch", exec.launch(&stream), codes::SUCCESS);
        answers.documented("and wait", stream.synchronize(), codes::SUCCESS);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn edges_change() {
    ask("edges of a graph, taken out and put in", |_, answers| {
        let graph = Graph::new()?;
        let first = graph.add_empty(&[])?;
        let second = graph.add_empty(&[first])?;
        answers.documented("removed", graph.remove_edge(first, second, false), codes::SUCCESS);
        answers.documented("edges then", graph.edges()?.len(), 0_usize);
        let again = graph.remove_edge(first, second, false);
        answers.assumed("removed twice", again, codes::INVALID_VALUE);
        answers.documented("put back", graph.add_edge(first, second, false), codes::SUCCESS);
        answers.documented("edges then", graph.edges()?.len(), 1_usize);
        let again = graph.add_edge(first, second, false);
        answers.assumed("put in twice", again, codes::INVALID_VALUE);
        let third = graph.add_empty(&[])?;
        let between_others = graph.add_edge(first, third, true);
        answers.assumed("programmatic, but of no kernel", between_others, codes::INVALID_VALUE);
        Ok(())
    });
}

#[test]
#[ignore = "needs a CUDA device"]
fn an_edge_becomes_programmatic() {
    ask("a programmatic edge put into a captured graph", |device, answers| {
        if !has_programmatic_edges(device, answers)? {
            return Ok(());
        }
        let (stream, span) = (Stream::non_blocking()?, driver::allocate(64)?);
        let kernels = Kernels::load()?;
        stream.begin_capture(Mode::ThreadLocal)?;
        kernels.multiply_add.launch(&stream, span, 1, 1)?;
        kernels.multiply_add.launch(&stream, span, 1, 1)?;
        let graph = stream.end_capture()?;
        let (edges, nodes) = (graph.edges()?, graph.nodes()?);
        let [edge] = edges[..] else { return Ok(()) };
        let (from, to) = (nodes[edge.from], nodes[edge.to]);
        answers.documented("removed", graph.remove_edge(from, to, false), codes::SUCCESS);
        answers.seen("put in again", graph.add_edge(from, to, true), codes::SUCCESS);
        let edges = graph.edges()?;
        let [edge] = edges[..] else { return Ok(()) };
        answers.seen("its kind", u32::from(edge.kind), 1_u32);
        answers.seen("its source port", u32::from(edge.from_port), 1_u32);
        answers.seen("removed as what it is", graph.remove_edge(from, to, true), codes::SUCCESS);
        answers.assumed("edges then", graph.edges()?.len(), 0_usize);
        Ok(())
    });
}
