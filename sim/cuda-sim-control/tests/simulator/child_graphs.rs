//! Child graphs: nested graphs run in the order of their nodes, races in them are reported, and
//! updates compare them.

use cuda_sim_control::{Mistake, Settings, Simulator};
use driver_conformance::codes;
use driver_conformance::driver::{
    self, Device, Exec, Graph, Kind, Mode, Node, Refusal, Span, Status, Stream,
};

use crate::support::{filled, join, seeds_with, settings, start};

const BYTES: usize = 64;

fn copy(stream: &Stream, to: Span, from: Span) -> Graph {
    stream.begin_capture(Mode::ThreadLocal).unwrap();
    driver::copy_behind(stream, to, from).unwrap();
    stream.end_capture().unwrap()
}

fn fill(stream: &Stream, span: Span, value: u8) -> Graph {
    stream.begin_capture(Mode::ThreadLocal).unwrap();
    driver::fill_behind(stream, span, value).unwrap();
    stream.end_capture().unwrap()
}

/// Restarts the simulator so that a launch in a capture becomes a child graph.
fn capturing_launches(simulator: Simulator, seed: u64) -> Device {
    assert!(simulator.reset(Settings { other_answers: true, ..settings(seed) }));
    Device::open_hardware_or_simulator().unwrap()
}

/// Captures a launch of a graph.
fn launched(stream: &Stream, exec: &Exec) -> Graph {
    stream.begin_capture(Mode::ThreadLocal).unwrap();
    exec.launch(stream).unwrap();
    stream.end_capture().unwrap()
}

fn kinds(graph: &Graph) -> Vec<Kind> {
    graph.nodes().unwrap().iter().map(|node| node.kind().unwrap()).collect()
}

/// Nested graphs copy parts of a span in order, so each part receives the bytes of the previous
/// part.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn graphs_in_graphs_run_in_order() {
    let simulator = start();
    for seed in 0..20 {
        let device = capturing_launches(simulator, seed);
        let (stream, span) = (Stream::non_blocking().unwrap(), filled(4 * BYTES, 0).unwrap());
        let part = |number: usize| span.part(number * BYTES, BYTES);
        // Copies parts 1 to 2 in a nested graph. There are nodes before and after each nested
        // graph, and an empty graph in between.
        let inner = copy(&stream, part(2), part(1));
        let middle = Graph::new().unwrap();
        let first = middle.add_empty(&[]).unwrap();
        let node = middle.add_child(&inner, &[first]).unwrap();
        let nothing = middle.add_child(&Graph::new().unwrap(), &[node]).unwrap();
        middle.add_empty(&[nothing]).unwrap();
        let graph = Graph::new().unwrap();
        let first = graph.add_fill(&device, part(0), 7, &[]).unwrap();
        let second = graph.add_child(&copy(&stream, part(1), part(0)), &[first]).unwrap();
        let third = graph.add_child(&middle, &[second]).unwrap();
        graph.add_child(&copy(&stream, part(3), part(2)), &[third]).unwrap();
        let nested = third.child_graph().unwrap();
        assert_eq!(kinds(&nested), [Kind::Empty, Kind::Child, Kind::Child, Kind::Empty]);
        assert_eq!(nested.edges().unwrap().len(), 3);
        // The graph first runs by itself. It then runs as a node of a capture, after all other
        // graphs have been destroyed.
        let exec = graph.instantiate().unwrap();
        let again = launched(&stream, &exec);
        for graph in [inner, middle, graph] {
            graph.destroy().unwrap();
        }
        for exec in [exec, again.instantiate().unwrap()] {
            driver::fill(span, 0).unwrap();
            Stream::legacy().synchronize().unwrap();
            exec.launch(&stream).unwrap();
            stream.synchronize().unwrap();
            assert_eq!(driver::download(span).unwrap(), [7; 4 * BYTES], "seed {seed}");
        }
        let inner = again.nodes().unwrap()[0].child_graph().unwrap();
        assert_eq!(kinds(&inner), [Kind::Fill, Kind::Child, Kind::Child, Kind::Child]);
        let nested = inner.nodes().unwrap()[2].child_graph().unwrap();
        assert_eq!(kinds(&nested), [Kind::Empty, Kind::Child, Kind::Child, Kind::Empty]);
        assert_eq!(nested.edges().unwrap().len(), 3);
        simulator.assert_clean();
    }
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn branches_of_child_graphs_race() {
    let simulator = start();
    let seen = seeds_with(simulator, 20, Mistake::Race, |device| {
        let (stream, span) = (Stream::non_blocking()?, filled(BYTES, 0)?);
        let graph = Graph::new()?;
        graph.add_child(&fill(&stream, span, 1), &[])?;
        graph.add_fill(device, span, 2, &[])?;
        graph.instantiate()?.launch(&stream)?;
        stream.synchronize()
    });
    assert_eq!(seen, 20);
    let ordered = seeds_with(simulator, 20, Mistake::Race, |device| {
        let (stream, span) = (Stream::non_blocking()?, filled(BYTES, 0)?);
        let graph = Graph::new()?;
        let node = graph.add_child(&fill(&stream, span, 1), &[])?;
        graph.add_fill(device, span, 2, &[node])?;
        graph.instantiate()?.launch(&stream)?;
        stream.synchronize()
    });
    assert_eq!(ordered, 0);
}

/// A captured launch contains the current contents of the executable graph, including updates.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn updates_look_into_child_graphs() {
    let simulator = start();
    let device = capturing_launches(simulator, 0);
    let (stream, span) = (Stream::non_blocking().unwrap(), filled(BYTES, 0).unwrap());
    let with_child = |child: &Graph| {
        let graph = Graph::new().unwrap();
        graph.add_child(child, &[]).unwrap();
        graph
    };
    let exec = with_child(&fill(&stream, span, 1)).instantiate().unwrap();
    let (answer, _) = exec.update(&with_child(&fill(&stream, span, 2)));
    answer.unwrap();
    let refused = Err(Refusal::Code(codes::UPDATE_FAILURE));
    let shorter = fill(&stream, span.part(0, 8), 3);
    for child in
        [&shorter, &copy(&stream, span.part(0, 8), span.part(8, 8)), &Graph::new().unwrap()]
    {
        assert_eq!(exec.update(&with_child(child)).0, refused);
    }
    let flat = Graph::new().unwrap();
    flat.add_fill(&device, span, 4, &[]).unwrap();
    assert_eq!(exec.update(&flat).0, refused, "the node is of another kind");
    let captured = launched(&stream, &exec);
    captured.instantiate().unwrap().launch(&stream).unwrap();
    stream.synchronize().unwrap();
    assert_eq!(driver::download(span).unwrap(), [2; BYTES]);
    simulator.assert_clean();
}

/// A capture refuses a launch, and is invalidated. With the other answers, a launch becomes a child
/// graph, but not if the graph has memory nodes; the capture then continues.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn launches_in_a_capture_are_refused() {
    let simulator = start();
    for other_answers in [false, true] {
        assert!(simulator.reset(Settings { other_answers, ..settings(0) }));
        let device = Device::open_hardware_or_simulator().unwrap();
        let (stream, other) = (Stream::non_blocking().unwrap(), Stream::non_blocking().unwrap());
        let graph = Graph::new().unwrap();
        let (node, span) = graph.add_allocation(&device, BYTES, &[]).unwrap();
        graph.add_free(span, &[node]).unwrap();
        let exec = graph.instantiate().unwrap();
        stream.begin_capture(Mode::Relaxed).unwrap();
        join(&other, &stream).unwrap();
        let launched = exec.launch(&other);
        if other_answers {
            assert_eq!(launched, Err(Refusal::Code(codes::NOT_SUPPORTED)));
            join(&stream, &other).unwrap();
            assert_eq!(stream.status().unwrap(), Status::Active);
            assert_eq!(stream.end_capture().unwrap().nodes().unwrap(), Vec::<Node<'_>>::new());
        } else {
            assert_eq!(launched, Err(Refusal::Code(codes::CAPTURE_UNSUPPORTED)));
            assert_eq!(stream.status().unwrap(), Status::Invalidated);
            let ended = stream.end_capture().map(drop);
            assert_eq!(ended, Err(Refusal::Code(codes::CAPTURE_INVALIDATED)));
        }
        simulator.assert_clean();
    }
}
