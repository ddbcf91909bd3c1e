//! Probes and captures under both behaviours for the cases that NVIDIA's documentation leaves open
//! to a driver.

use std::sync::Arc;

use cuda_sim_control::Settings;
use pool_core::PoolViewMut;
use pool_cuda::DriverCode;
use pool_graph::{CaptureError, CaptureSession, Probe};

use crate::common::{Made, arena, stream};
use crate::support::{start, start_anew};

/// A probe contains cudarc's own fill of a view, whose address refers to no memory. If the driver
/// checks such addresses, the probe fails and the session continues. The view's own fill is correct
/// under both behaviours.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_fill_of_cudarcs_in_a_probe() {
    let simulator = start();
    for other_answers in [false, true] {
        start_anew(simulator, Settings { other_answers, ..Settings::default() }, 0);
        let session = CaptureSession::new(&stream()).unwrap();
        let probe = |by_cudarc: bool| -> Result<Probe, CaptureError> {
            session.probe(&mut (), |capture, ()| {
                capture.scope(capture.main(), |scope| {
                    let mut view = scope.try_acquire::<u8, _>(1000)?;
                    let dry = Arc::clone(scope.context().stream());
                    if by_cudarc {
                        Ok(dry.memset_zeros(&mut view)?)
                    } else {
                        Ok(view.fill_with_value(0)?)
                    }
                })
            })
        };
        match probe(true) {
            Ok(_) => assert!(!other_answers),
            Err(CaptureError::Driver(error)) => {
                assert!(other_answers);
                assert_eq!(error.code().map(DriverCode::number), Some(1));
            }
            Err(other) => panic!("{other:?}"),
        }
        assert_eq!(probe(false).unwrap().temporaries(), 1);
        // This covers an empty copy from the host without page-locked memory, and consecutive
        // captures whose events were recorded in the previous capture.
        let prepared = session.prepare(arena()).unwrap();
        for _ in 0..2 {
            let made: Made = prepared.capture((), |capture, ()| {
                let mut none = capture.acquire::<u8>(0)?;
                capture.copy_from_host(capture.main(), &mut none, &[])?;
                capture.fill_bytes(capture.main(), &mut capture.acquire::<u8>(100)?, 1)
            });
            made.unwrap().replay().unwrap();
        }
        drop(prepared);
        simulator.assert_clean();
        simulator.assert_no_leaks();
    }
}
