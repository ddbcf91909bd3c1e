//! Attacks on the feeding of graphs that use only safe functions. Each ends with a typed error or
//! with the right result, and the checkers of the simulated driver report nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use cuda_sim_control::Settings;
use pool_cuda::Cuda;
use pool_graph::{
    Capture, CaptureError, CaptureMode, CaptureSession, CapturedGraph, StagingConfig, StagingPool,
};

use super::{Fed, OUT, bits, output_of};
use crate::common::{BYTES, Made, NO_FLAGS, RELAXED, arena, pool, stream, without_a_report};
use crate::support::{start, start_anew};

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn what_is_asked_wrongly_is_refused_with_its_numbers() {
    without_a_report(|| {
        let mut fed = Fed::on(&stream());
        let mut staging = fed.staging(1).unwrap();
        let (input, foreign) = (fed.input, pool().allocate(BYTES).unwrap());
        let capacity = staging.config().bytes;
        let too_long = vec![0_u8; capacity + 1];
        let graph = &mut fed.graph;
        for refused in [
            graph.enqueue_write(&mut staging, &foreign, &[1_u8]),
            graph.enqueue_read::<u8>(&mut staging, &foreign, 1).map(drop),
        ] {
            assert!(
                matches!(refused, Err(CaptureError::NotLeased { bytes: 1, .. })),
                "{refused:?}"
            );
        }
        for refused in [
            graph.enqueue_write(&mut staging, &input, &too_long),
            graph.enqueue_read::<u8>(&mut staging, &input, too_long.len()).map(drop),
        ] {
            assert!(matches!(refused, Err(CaptureError::NotLeased { .. })), "{refused:?}");
        }
        let refused = graph.enqueue_read::<[u8; 16]>(&mut staging, &input, usize::MAX / 8);
        let overflow = CaptureError::SizeOverflow { elements: usize::MAX / 8, size: 16 };
        assert_eq!(refused.map(drop), Err(overflow));
        let context = Arc::clone(graph.stream().context());
        let mut small =
            StagingPool::with_config(&context, StagingConfig { buffers: 1, bytes: 8 }).unwrap();
        let too_small = CaptureError::StagingTooSmall { requested: 9, capacity: 8 };
        let text = too_small.to_string();
        assert!(text.contains("9 bytes") && text.contains("buffer of 8 bytes"), "{text}");
        let too_small = Err(too_small);
        assert_eq!(graph.enqueue_write(&mut small, &input, &[0_u8; 9]), too_small);
        assert_eq!(graph.enqueue_read::<u8>(&mut small, &input, 9).map(drop), too_small);
        let mut none =
            StagingPool::with_config(&context, StagingConfig { buffers: 0, bytes: 0 }).unwrap();
        let refused = graph.enqueue_write(&mut none, &input, &[0_u8; 0]);
        assert_eq!(refused, Ok(()), "no bytes need no buffer");
        assert!(
            graph.enqueue_read::<f32>(&mut none, &input, 0).unwrap().wait().unwrap().is_empty()
        );
        let one = StagingConfig { buffers: 1, bytes: 0 };
        drop(StagingPool::with_config(&context, one).unwrap());
        // After all of these attempts, the buffers are available.
        graph.enqueue_write(&mut staging, &input, &[1_u8]).unwrap();
        drop(graph.enqueue_read::<u8>(&mut staging, &input, 1).unwrap());
    });
}

/// The error contains the number of buffers, the number that is held, and the number with pending
/// copies. The buffer of a dropped ticket becomes available once its copy is done.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn when_all_buffers_are_out() {
    without_a_report(|| {
        let mut fed = Fed::on(&stream());
        let mut staging = fed.staging(2).unwrap();
        fed.begin(&mut staging).unwrap();
        let mut first = fed.enqueue(&mut staging, 0).unwrap();
        let second = fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT).unwrap();
        let out =
            |held| Err(CaptureError::StagingExhausted { buffers: 4, held, pending: 4 - held });
        // The writes may already be done, because each query lets the device make progress.
        let mut more = Vec::new();
        let refused = loop {
            match fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT) {
                Ok(ticket) => more.push(ticket),
                Err(error) => break Err(error),
            }
        };
        assert_eq!(refused, out(2 + more.len()));
        let text = refused.unwrap_err().to_string();
        let words = ["all 4 buffers", &format!("hold {}", 2 + more.len())];
        assert!(words.iter().all(|word| text.contains(word)), "{text}");
        drop(second);
        let expected = bits(first.wait().unwrap());
        drop((first, more));
        fed.graph.synchronize().unwrap();
        let mut tickets: Vec<_> = (0..4)
            .map(|_| fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT).unwrap())
            .collect();
        assert_eq!(fed.begin(&mut staging), out(4));
        for ticket in &mut tickets {
            assert_eq!(bits(ticket.wait().unwrap()), expected);
        }
        // A ticket that was waited for has not yet returned its buffer.
        assert_eq!(fed.begin(&mut staging), out(4));
    });
}

/// A graph on another stream cannot use a block that is being written, even after the call has
/// returned.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_block_that_is_fed_and_read_on_another_stream() {
    without_a_report(|| {
        let (streams, pool) = ([stream(), stream()], pool());
        let blocks = [(); 3].map(|()| pool.allocate(BYTES).unwrap());
        let captured = |stream: usize, to: usize| -> Made {
            let lease = pool.lease(&[blocks[0].id(), blocks[to].id()]).unwrap();
            let session = CaptureSession::new(&streams[stream]).unwrap().lease(lease);
            session.prepare(arena()).unwrap().capture((), |capture, ()| {
                let from = capture.block::<u8>(&blocks[0])?;
                capture.copy(capture.main(), &mut capture.block(&blocks[to])?, &from)
            })
        };
        let mut first = captured(0, 1).unwrap();
        let config = StagingConfig { buffers: 4, bytes: 4096 };
        let mut staging = StagingPool::with_config(streams[0].context(), config).unwrap();
        first.enqueue_write(&mut staging, &blocks[0], &[5_u8; 4096]).unwrap();
        let mut second = captured(1, 2);
        if let Ok(second) = &mut second {
            second.replay().unwrap();
        }
        assert!(matches!(second, Err(CaptureError::SharedBlock { .. })), "{second:?}");
        drop(first);
        let mut second = captured(1, 2).unwrap();
        let mut first = captured(0, 1).unwrap();
        let refused = first.enqueue_write(&mut staging, &blocks[0], &[6_u8; 4096]);
        assert!(matches!(refused, Err(CaptureError::SharedBlock { .. })), "{refused:?}");
        second.replay().unwrap();
        let mut ticket = second.enqueue_read::<u8>(&mut staging, &blocks[2], 4096).unwrap();
        assert_eq!(ticket.wait().unwrap(), [5; 4096]);
    });
}

/// An update waits for the writes and resets the record of them. Another stream can then use the
/// block until it is fed again.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_block_that_was_fed_before_an_update() {
    without_a_report(|| {
        let (streams, pool) = ([stream(), stream()], pool());
        let blocks = [(); 3].map(|()| pool.allocate(BYTES).unwrap());
        let body = |capture: &Capture<'_>, to: usize| -> Result<(), CaptureError> {
            let from = capture.block::<u8>(&blocks[0])?;
            capture.copy(capture.main(), &mut capture.block(&blocks[to])?, &from)
        };
        let captured = |stream: usize, to: usize| -> Made {
            let lease = pool.lease(&[blocks[0].id(), blocks[to].id()]).unwrap();
            let session = CaptureSession::new(&streams[stream]).unwrap().lease(lease);
            session.prepare(arena()).unwrap().capture((), |capture, ()| body(capture, to))
        };
        let mut first = captured(0, 1).unwrap();
        let config = StagingConfig { buffers: 4, bytes: 4096 };
        let mut staging = StagingPool::with_config(streams[0].context(), config).unwrap();
        first.enqueue_write(&mut staging, &blocks[0], &[5_u8; 4096]).unwrap();
        first.update(|capture, ()| body(capture, 1)).unwrap();
        let mut second = captured(1, 2).unwrap();
        let refused = first.enqueue_write(&mut staging, &blocks[0], &[6_u8; 4096]);
        assert!(matches!(refused, Err(CaptureError::SharedBlock { .. })), "{refused:?}");
        second.replay().unwrap();
        first.replay().unwrap();
        let mut ticket = second.enqueue_read::<u8>(&mut staging, &blocks[2], 4096).unwrap();
        assert_eq!(ticket.wait().unwrap(), [5; 4096]);
        drop(second);
        first.enqueue_write(&mut staging, &blocks[0], &[6_u8; 4096]).unwrap();
    });
}

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_staging_pool_of_another_device() {
    let simulator = start();
    start_anew(simulator, Settings { devices: 2, ..Settings::default() }, 0);
    let mut fed = Fed::on(&stream());
    let elsewhere = Cuda::device(1).unwrap();
    let config = StagingConfig { buffers: 2, bytes: 4096 };
    let mut staging = StagingPool::with_config(elsewhere.context(), config).unwrap();
    let refused = CaptureError::WrongContext { session: 0, other: 1 };
    assert_eq!(fed.begin(&mut staging), Err(refused.clone()));
    let read = fed.graph.enqueue_read::<f64>(&mut staging, &fed.output, OUT);
    assert_eq!(read.map(drop), Err(refused));
    drop((fed, staging, elsewhere));
    simulator.assert_clean();
    simulator.assert_no_leaks();
}

/// While the stream is captured, by a session or explicitly, no work is enqueued on it, and the
/// buffers stay where they are.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_stream_that_is_captured() {
    without_a_report(|| {
        let stream = stream();
        let mut fed = Fed::on(&stream);
        let mut staging = fed.staging(1).unwrap();
        fed.begin(&mut staging).unwrap();
        let mut ticket = fed.enqueue(&mut staging, 0);
        if ticket.is_err() {
            fed.graph.synchronize().unwrap();
            ticket = fed.enqueue(&mut staging, 0);
        }
        let mut ticket = ticket.unwrap();
        fed.graph.synchronize().unwrap();
        let refusals = |fed: &mut Fed, staging: &mut StagingPool| {
            let operation = "be written to";
            assert_eq!(fed.begin(staging), Err(CaptureError::Capturing { operation }));
            let operation = "be read from";
            let read = fed.graph.enqueue_read::<f64>(staging, &fed.output, OUT);
            assert_eq!(read.map(drop), Err(CaptureError::Capturing { operation }));
        };
        stream.begin_capture(RELAXED).unwrap();
        refusals(&mut fed, &mut staging);
        ticket.wait().unwrap();
        drop(stream.end_capture(NO_FLAGS).unwrap());
        let session = CaptureSession::new(&stream).unwrap().prepare(arena()).unwrap();
        let made: Made = session.capture((), |_, ()| {
            refusals(&mut fed, &mut staging);
            ticket.wait().unwrap();
            Ok(())
        });
        drop(made.unwrap());
        drop(ticket);
        let mut ticket = fed.enqueue(&mut staging, 1).unwrap();
        ticket.wait().unwrap();
    });
}

/// Other threads capture in the strictest mode while a graph is fed and its tickets are waited for.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn while_another_thread_captures() {
    without_a_report(|| {
        let mut fed = Fed::on(&stream());
        let session = CaptureSession::new(&stream()).unwrap().mode(CaptureMode::Global);
        let prepared = session.prepare(arena()).unwrap();
        let feed = |fed: &mut Fed| {
            let mut staging = fed.staging(2).unwrap();
            fed.begin(&mut staging).unwrap();
            let mut ticket = fed.enqueue(&mut staging, 0).unwrap();
            while !ticket.is_done().unwrap() {}
            bits(ticket.wait().unwrap())
        };
        let made: Made = prepared.capture((), |capture, ()| {
            let during = std::thread::scope(|scope| scope.spawn(|| feed(&mut fed)).join());
            let during = during.unwrap();
            let mut view = capture.acquire::<u8>(100)?;
            capture.fill_bytes(capture.main(), &mut view, 1)?;
            assert_eq!(during, output_of(0, 0.5));
            Ok(())
        });
        drop(made.unwrap());
    });
}

/// Work that was enqueued before an update uses the old numbers, and later work uses the new ones.
/// A ticket can be waited for across an update.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_update_between_two_steps() {
    without_a_report(|| {
        let mut fed = Fed::on(&stream());
        let mut staging = fed.staging(3).unwrap();
        fed.begin(&mut staging).unwrap();
        let mut old = fed.enqueue(&mut staging, 1).unwrap();
        fed.set_number(2.0).unwrap();
        fed.begin(&mut staging).unwrap();
        let mut new = fed.enqueue(&mut staging, 1).unwrap();
        for (ticket, number) in [(&mut new, 2.0), (&mut old, 0.5)] {
            assert_eq!(bits(ticket.wait().unwrap()), output_of(1, number));
        }
    });
}

/// A panic between two steps drops all objects, including those in flight.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_panic_between_two_steps() {
    without_a_report(|| {
        let mut fed = Fed::on(&stream());
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let mut staging = fed.staging(3).unwrap();
            fed.begin(&mut staging).unwrap();
            let _tickets = [0, 1].map(|step| fed.enqueue(&mut staging, step).unwrap());
            std::panic::resume_unwind(Box::new("between two steps"));
        }));
        assert!(unwound.is_err());
        let mut staging = fed.staging(2).unwrap();
        fed.begin(&mut staging).unwrap();
        let mut ticket = fed.enqueue(&mut staging, 0).unwrap();
        assert_eq!(bits(ticket.wait().unwrap()), output_of(0, 0.5));
    });
}

/// Two graphs on two streams use the buffers of one pool.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn one_pool_for_two_streams() {
    without_a_report(|| {
        let mut graphs = [stream(), stream()].map(|stream| Fed::on(&stream));
        let mut staging = graphs[0].staging(8).unwrap();
        let mut tickets = Vec::new();
        graphs.iter_mut().for_each(|fed| fed.begin(&mut staging).unwrap());
        for step in 0..2 {
            let enqueue = |fed: &mut Fed| fed.enqueue(&mut staging, step).unwrap();
            tickets.push(graphs.each_mut().map(enqueue));
        }
        for (step, of_step) in tickets.iter_mut().enumerate() {
            let [one, other] = of_step.each_mut().map(|ticket| bits(ticket.wait().unwrap()));
            assert!(one == other && one[1] != 0, "step {step}");
        }
    });
}

/// Buffers can be sent to other threads, and so can graphs.
#[test]
fn what_may_go_to_another_thread() {
    fn sends<T: Send>() {}
    sends::<StagingPool>();
    sends::<pool_graph::ReadTicket<f32>>();
    sends::<CapturedGraph<()>>();
}
