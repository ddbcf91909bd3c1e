//! Makes every driver call fail once while a graph is fed. The result is a typed error and no leak,
//! and the same graph and buffers work afterwards.

use cuda_sim_control::Settings;
use pool_core::error_chain;
use pool_cuda::Cuda;
use pool_graph::{CaptureError, StagingPool};

use super::{Fed, bits};
use crate::common::stream;
use crate::support::{start, start_anew};

const STEPS: usize = 3;

/// Runs three steps in flight, polling the first one. Creates the pool if it does not exist.
fn script(fed: &mut Fed, staging: &mut Option<StagingPool>) -> Result<Vec<Vec<u64>>, CaptureError> {
    if staging.is_none() {
        *staging = Some(fed.staging(2 * (STEPS + 1))?);
    }
    let staging = staging.as_mut().ok_or(CaptureError::ForeignView)?;
    fed.begin(staging)?;
    let enqueued: Result<Vec<_>, _> = (0..STEPS).map(|step| fed.enqueue(staging, step)).collect();
    let mut tickets = enqueued?;
    while !tickets[0].is_done()? {}
    let mut results = Vec::new();
    for ticket in &mut tickets {
        results.push(bits(ticket.wait()?));
    }
    Ok(results)
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn every_call_of_feeding_may_fail() {
    let simulator = start();
    let expected = Fed::on(&stream()).one_by_one(STEPS);
    let (mut answered, mut absorbed) = (0, 0);
    // Dropping a pool may also fail.
    for drops_pool in [false, true] {
        for nth in 1.. {
            start_anew(simulator, Settings::default(), nth);
            let (mut fed, mut staging) = (Fed::on(&stream()), None);
            simulator.forget_calls();
            simulator.fail_any_call(nth, 999);
            let ended = script(&mut fed, &mut staging);
            if drops_pool {
                staging = None;
            }
            let failed = simulator.log().iter().find(|call| call.code == 999).cloned();
            simulator.forget_failures();
            match &ended {
                Err(error) => {
                    let text = error_chain(error).to_string();
                    let named = text.contains("999 UNKNOWN");
                    // If a thread's capture mode cannot be exchanged, no other call is refused
                    // here.
                    assert!(named, "{failed:?}: {text}");
                    answered += 1;
                }
                Ok(results) => {
                    assert!(*results == expected, "{failed:?}");
                    absorbed += usize::from(failed.is_some());
                }
            }
            for _ in 0..2 {
                let again = script(&mut fed, &mut staging);
                assert_eq!(again.as_ref(), Ok(&expected), "after call {nth}, {failed:?}");
            }
            drop((fed, staging));
            assert_eq!(Cuda::retry_deferred_frees(), 0, "{failed:?}");
            simulator.assert_clean();
            let leaks = simulator.leaks();
            assert!(leaks.is_empty(), "{failed:?} as call {nth}: {leaks:?}");
            if failed.is_none() {
                break;
            }
        }
    }
    println!("FIGURE: {answered} failures returned, {absorbed} absorbed");
    assert!(answered > 100 && absorbed > 10);
}

/// The copy is enqueued, but no event can be recorded after it. The buffer is not reused until an
/// event has been recorded.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_copy_that_cannot_be_marked_keeps_its_buffer() {
    let simulator = start();
    let expected = Fed::on(&stream()).one_by_one(1);
    for reads in [false, true] {
        // Without background work, no work runs before a call requests it.
        start_anew(simulator, Settings { background: false, ..Settings::default() }, 0);
        let mut fed = Fed::on(&stream());
        let mut staging = fed.staging(1).unwrap();
        fed.begin(&mut staging).unwrap();
        simulator.fail_call("cuEventRecord", 1, 999);
        if reads {
            assert!(fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, 1).is_err());
        } else {
            assert!(fed.graph.enqueue_write(&mut staging, &fed.previous, &[0.0; 2]).is_err());
        }
        // No work has run, so neither of the two buffers is free.
        simulator.fail_call("cuEventRecord", 1, 999);
        let refused = fed.begin(&mut staging);
        assert!(
            refused.as_ref().is_err_and(|error| error_chain(error).to_string().contains("999")),
            "{refused:?}"
        );
        let refused = fed.begin(&mut staging);
        let all = CaptureError::StagingExhausted { buffers: 2, held: 0, pending: 2 };
        assert_eq!(refused, Err(all));
        // The next attempt to take a buffer records an event, and the event completes.
        for _ in 0..2 {
            fed.graph.synchronize().unwrap();
            fed.begin(&mut staging).unwrap();
        }
        fed.graph.synchronize().unwrap();
        let mut ticket = fed.enqueue(&mut staging, 0).unwrap();
        assert_eq!(bits(ticket.wait().unwrap()), expected[0]);
        drop((ticket, staging, fed));
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}
