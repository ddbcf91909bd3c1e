//! Thousands of forgotten tickets: each keeps its buffer, as `ReadTicket` documents, and nothing
//! else leaks.

use cuda_sim_control::{Settings, Simulator};
use pool_graph::{CaptureError, StagingConfig, StagingPool};

use super::{Fed, N, OUT, bits, output_of};
use crate::common::stream;
use crate::support::{start, start_anew};

/// The number of forgotten tickets.
const TICKETS: usize = 10_000;

/// Checks that this many buffers leak, each with its event, and nothing else.
fn assert_kept(simulator: Simulator, tickets: usize) {
    let leaks = simulator.leaks();
    let (buffers, others): (Vec<&String>, Vec<&String>) =
        leaks.iter().partition(|leak| leak.starts_with("the host allocation"));
    assert_eq!(buffers.len(), tickets);
    let events = (tickets > 0).then(|| format!("{tickets} of kind event"));
    assert_eq!(others, events.iter().collect::<Vec<_>>());
}

/// One pool loses all of its buffers, one ticket after the other, with one left for the work
/// between them. Then it fails: all are in use, and it reports how many tickets have. A later pool
/// works, and frees all but the forgotten buffers.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn ten_thousand_forgotten_tickets() {
    let simulator = start();
    start_anew(simulator, Settings::default(), 0);
    let mut fed = Fed::on(&stream());
    let config = StagingConfig { buffers: TICKETS, bytes: OUT * size_of::<f64>() };
    let mut staging = StagingPool::with_config(fed.graph.stream().context(), config).unwrap();
    fed.begin(&mut staging).unwrap();
    fed.graph.synchronize().unwrap();
    for forgotten in 0..TICKETS {
        // The write's buffer returns, and is the last available to a read.
        if forgotten % 1000 == 0 && forgotten + 1 < TICKETS {
            fed.graph.enqueue_write(&mut staging, &fed.input, &[1.0; N]).unwrap();
            fed.graph.replay().unwrap();
            fed.graph.synchronize().unwrap();
        }
        let ticket = fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT).unwrap();
        std::mem::forget(ticket);
    }
    let exhausted = CaptureError::StagingExhausted { buffers: TICKETS, held: TICKETS, pending: 0 };
    for _ in 0..3 {
        let read = fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT);
        assert_eq!(read.map(drop), Err(exhausted.clone()));
        assert_eq!(fed.begin(&mut staging), Err(exhausted.clone()));
    }
    let mut other = fed.staging(1).unwrap();
    fed.begin(&mut other).unwrap();
    fed.graph.synchronize().unwrap();
    let mut ticket = fed.enqueue(&mut other, 0).unwrap();
    assert_eq!(bits(ticket.wait().unwrap()), output_of(0, 0.5));
    drop((ticket, other, staging, fed));
    simulator.assert_clean();
    assert_kept(simulator, TICKETS);
}

/// Some are forgotten and some dropped, before and after their copies are done. Dropped buffers are
/// reused, and the pool works until none is left.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_pool_recovers_what_is_dropped() {
    let simulator = start();
    for seed in 0..20 {
        start_anew(simulator, Settings::default(), seed);
        let mut random = fastrand::Rng::with_seed(seed);
        let mut fed = Fed::on(&stream());
        let mut staging = fed.staging(8).unwrap();
        let (mut held, mut forgotten) = (Vec::new(), 0);
        for _ in 0..400 {
            if random.u8(..6) == 0 && !held.is_empty() {
                drop(held.swap_remove(random.usize(..held.len())));
            }
            match fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT) {
                Ok(ticket) if random.u8(..40) == 0 => {
                    forgotten += 1;
                    std::mem::forget(ticket);
                }
                Ok(ticket) => held.push(ticket),
                Err(CaptureError::StagingExhausted { buffers, held: out, pending }) => {
                    assert_eq!((buffers, out, pending), (16, 16 - pending, pending));
                    assert_eq!(out, held.len() + forgotten);
                    if pending == 0 && held.is_empty() {
                        break;
                    }
                    fed.graph.synchronize().unwrap();
                    held.truncate(held.len() / 2);
                }
                Err(other) => panic!("{other:?}"),
            }
        }
        drop((staging, held, fed));
        simulator.assert_clean();
        assert_kept(simulator, forgotten);
    }
}
