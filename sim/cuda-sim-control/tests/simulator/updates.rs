//! Updates of executable graphs that CUDA allows a driver to refuse. The simulator refuses all of
//! them.

use driver_conformance::codes;
use driver_conformance::driver::{
    self, Device, Exec, Graph, HostBuffer, Memset, Mode, Refusal, Span, Stream,
};

use crate::support::{filled, start};

/// `CUgraphExecUpdateResult`.
const UPDATED: u32 = 0;
const PARAMETERS_CHANGED: u32 = 5;

const BYTES: usize = 64;

/// Returns a graph with a single node.
fn memset(device: &Device, span: Span, set: Memset) -> Graph {
    let graph = Graph::new().unwrap();
    graph.add_memset(device, span, set, &[]).unwrap();
    graph
}

fn copy(stream: &Stream, to: Span, from: Span) -> Graph {
    stream.begin_capture(Mode::ThreadLocal).unwrap();
    driver::copy_behind(stream, to, from).unwrap();
    stream.end_capture().unwrap()
}

fn download(stream: &Stream, to: &HostBuffer, from: Span) -> Graph {
    stream.begin_capture(Mode::ThreadLocal).unwrap();
    to.download_behind(stream, from).unwrap();
    stream.end_capture().unwrap()
}

/// Checks that the update is refused, and that the refusal contains the only node of the other
/// graph.
fn assert_refused(exec: &Exec, graph: &Graph, what: &str) {
    let (answer, told) = exec.update(graph);
    assert_eq!(answer, Err(Refusal::Code(codes::UPDATE_FAILURE)), "{what}");
    assert_eq!(told.result, PARAMETERS_CHANGED, "{what}");
    assert_eq!(told.node, graph.nodes().unwrap().first().copied(), "{what}");
}

fn assert_updated(exec: &Exec, graph: &Graph) {
    let (answer, told) = exec.update(graph);
    answer.unwrap();
    assert_eq!((told.result, told.node), (UPDATED, None));
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn the_shape_of_a_memset_stays() {
    let simulator = start();
    let device = Device::open_hardware_or_simulator().unwrap();
    let (stream, span) = (Stream::non_blocking().unwrap(), filled(2 * BYTES, 0).unwrap());
    let old = Memset { value: 0x0101_0101, ..Memset::row(4, BYTES / 4) };
    let exec = memset(&device, span, old).instantiate().unwrap();
    let rows = Memset { height: 2, pitch: BYTES, ..old };
    for (what, set) in [
        ("a shorter row", Memset { width: BYTES / 8, ..old }),
        ("a longer row", Memset { width: BYTES / 2, ..old }),
        ("the same length in bytes", Memset::row(1, BYTES)),
        ("the same count of elements of half the size", Memset::row(2, BYTES / 4)),
        ("two rows", rows),
        ("another pitch", Memset { pitch: BYTES, ..old }),
        ("nothing", Memset { width: 0, ..old }),
    ] {
        assert_refused(&exec, &memset(&device, span, set), what);
    }
    let elsewhere = span.part(BYTES, BYTES);
    assert_updated(&exec, &memset(&device, elsewhere, Memset { value: 0x0202_0202, ..old }));
    exec.launch(&stream).unwrap();
    stream.synchronize().unwrap();
    let expected = [[0; BYTES], [2; BYTES]].concat();
    assert_eq!(driver::download(span).unwrap(), expected, "only the last update was made");
    let of_rows = memset(&device, span, rows).instantiate().unwrap();
    assert_refused(&of_rows, &memset(&device, span, old), "one row of two");
    assert_updated(&of_rows, &memset(&device, span, Memset { value: 3, ..rows }));
    simulator.assert_clean();
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_stays_on_the_device_or_with_the_host() {
    let simulator = start();
    let _device = Device::open_hardware_or_simulator().unwrap();
    let (stream, span) = (Stream::non_blocking().unwrap(), filled(2 * BYTES, 7).unwrap());
    let (low, high) = (span.part(0, BYTES), span.part(BYTES, BYTES));
    let host = HostBuffer::pinned(BYTES).unwrap();
    let exec = copy(&stream, low, high).instantiate().unwrap();
    assert_refused(&exec, &download(&stream, &host, high), "to the host");
    assert_updated(&exec, &copy(&stream, span.part(0, 8), span.part(8, 8)));
    let exec = download(&stream, &host, low).instantiate().unwrap();
    assert_refused(&exec, &copy(&stream, low, high), "to the device");
    assert_updated(&exec, &download(&stream, &host, high));
    simulator.assert_clean();
}
