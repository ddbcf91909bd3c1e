//! Memory that graphs share with other code: owned slices, scopes between replays, and a ladder.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaStream};
use pool_core::{PoolView, PoolViewMut};
use pool_cuda::Cuda;
use pool_graph::{Capture, CaptureError, CaptureSession, CapturedGraph, OwnedSlice, OwnedSliceMut};

use crate::require_device;

const N: usize = 4096;

type Result<T = ()> = std::result::Result<T, CaptureError>;

fn stream() -> Arc<CudaStream> {
    Cuda::device(0).unwrap().context().new_stream().unwrap()
}

/// `state = weights`, by way of a temporary, on two streams.
fn body(capture: &Capture<'_>, weights: &OwnedSlice<f32>, state: &OwnedSliceMut<f32>) -> Result {
    let (main, side) = (capture.main(), capture.branch(0)?);
    let mut temporary = capture.acquire::<f32>((side, N))?;
    capture.copy(side, &mut temporary, &capture.owned(weights)?)?;
    capture.copy(main, &mut capture.owned_mut(state)?, &temporary)
}

/// A slice is written on a stream that nothing orders with the graph's; a session owns it at once. Others read it while
/// the graph replays.
#[test]
#[ignore = "needs a CUDA device"]
fn a_graph_uses_slices_of_others() {
    let _present = require_device();
    for tracked in [true, false] {
        let [one, two, writer] = [(); 3].map(|()| stream());
        if !tracked {
            // SAFETY: the session orders all work with the slices here.
            unsafe { one.context().disable_event_tracking() };
        }
        let weights: Arc<CudaSlice<f32>> = Arc::new(writer.clone_htod(&[3.0_f32; N]).unwrap());
        let mut session = CaptureSession::new(&one).unwrap().branch(&two).unwrap();
        let name = session.own(Arc::clone(&weights)).unwrap();
        let state = session.own_mut(writer.alloc_zeros::<f32>(N).unwrap()).unwrap();
        let run = |capture: &Capture<'_>, (): &mut ()| body(capture, &name, &state);
        let probe = session.probe::<_, CaptureError>(&mut (), run).unwrap();
        let mut graph: CapturedGraph = session.planned(&probe).unwrap().capture((), run).unwrap();
        for _ in 0..3 {
            graph.replay().unwrap();
            assert_eq!(writer.clone_dtoh(&*weights).unwrap(), [3.0; N]);
            let mut found = [0.0_f32; N];
            graph.read(&state, &mut found).unwrap();
            assert_eq!(found, [3.0; N]);
            graph.write(&state, &[0.0_f32; N]).unwrap();
        }
        drop(graph);
        assert_eq!(Arc::strong_count(&weights), 1);
        // SAFETY: the slices from before are gone at the end of this block, with all work on them.
        unsafe { one.context().enable_event_tracking() };
    }
}

/// Four graphs of a ladder, captured with the smallest first, and eager work in their memory.
#[test]
#[ignore = "needs a CUDA device"]
fn a_ladder_shares_its_memory_with_eager_work() {
    let _present = require_device();
    let (one, two) = (stream(), stream());
    let session = || CaptureSession::new(&one).unwrap().branch(&two).unwrap();
    let run = |capture: &Capture<'_>, length: &mut usize| -> Result {
        let (main, side) = (capture.main(), capture.branch(0)?);
        let mut first = capture.acquire::<f32>(*length)?;
        capture.fill_bytes(main, &mut first, 1)?;
        let mut second = capture.acquire::<f32>((side, *length))?;
        capture.copy(side, &mut second, &first)
    };
    let mut lengths = [100, 1000, 10_000, 100_000];
    let probes = session().probe_ladder(&Default::default(), &mut lengths, run).unwrap();
    let mut graphs: Vec<CapturedGraph<usize>> = Vec::new();
    for (probe, length) in probes.iter().zip(lengths) {
        let prepared = match graphs.first() {
            None => session().planned(probe).unwrap(),
            Some(first) => session().beside(first, probe).unwrap(),
        };
        graphs.push(prepared.capture(length, run).unwrap());
    }
    for graph in &mut graphs {
        graph.replay().unwrap();
        let sums = graph.scope(|scope| {
            let mut view = scope.try_acquire_from(&[2.0_f32; N])?;
            let mut other = scope.try_acquire_zeroed::<f32, _>(N)?;
            other.copy_from(view.as_view())?;
            view.fill_with_value(1.0)?;
            Ok::<_, CaptureError>((view.copy_to_vec()?, other.copy_to_vec()?))
        });
        assert_eq!(sums.unwrap(), (vec![1.0; N], vec![2.0; N]));
        graph.replay().unwrap();
        graph.synchronize().unwrap();
    }
}
