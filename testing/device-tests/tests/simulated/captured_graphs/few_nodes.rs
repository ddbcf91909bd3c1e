//! Graphs without nodes, and with one or two nodes. The driver refuses to read nodes or edges into
//! arrays without entries, as an H200 has shown, so a session must not ask for them.

use cuda_sim_control::Settings;
use pool_graph::CaptureSession;

use crate::common::{Made, arena, stream};
use crate::support::{start, start_anew};

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn graphs_of_no_node_and_of_one_are_read() {
    let simulator = start();
    for nodes in 0..=2_u8 {
        start_anew(simulator, Settings::default(), nodes.into());
        simulator.forget_calls();
        let prepared = CaptureSession::new(&stream()).unwrap().prepare(arena()).unwrap();
        let made: Made = prepared.capture((), |capture, ()| {
            let mut view = capture.acquire::<u8>(100)?;
            for value in 0..nodes {
                capture.fill_bytes(capture.main(), &mut view, value)?;
            }
            Ok(())
        });
        let mut graph = made.unwrap();
        graph.replay().unwrap();
        assert_eq!(graph.verified().accesses, usize::from(nodes));
        let log = simulator.log();
        let reads = log.iter().filter(|call| call.name.starts_with("cuGraphGet"));
        let codes: Vec<u32> = reads.map(|call| call.code).collect();
        assert!(!codes.is_empty() && codes.iter().all(|code| *code == 0), "{nodes}: {codes:?}");
        drop((graph, prepared));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}
