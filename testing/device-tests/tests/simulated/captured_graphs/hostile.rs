//! Safe cudarc calls in a body, one kind at a time. Foreign work in the graph is refused with a
//! typed error, and every accepted graph runs without reports. Afterwards the same session captures
//! a correct body.

use std::cell::RefCell;
use std::sync::Arc;

use cudarc::driver::sys::CUevent_flags;
use cudarc::driver::{CudaSlice, CudaStream, DriverError};
use pool_core::Pool;
use pool_cuda::{Cuda, DeviceStream};
use pool_graph::{Capture, CaptureError, CaptureSession, GraphMemoryBlock};

use crate::common::{BYTES, NO_FLAGS, RELAXED, arena, pool, stream};
use crate::support::{start, start_anew};
use cuda_sim_control::Settings;

const N: usize = 1024;

/// The result of a cudarc call.
type Done = std::result::Result<(), DriverError>;
type Result<T = ()> = std::result::Result<T, CaptureError>;

struct World {
    streams: [Arc<CudaStream>; 2],
    blocks: [GraphMemoryBlock; 2],
    /// A cudarc slice and host memory. Neither belongs to a graph.
    foreign: RefCell<CudaSlice<u32>>,
    host: RefCell<Vec<u32>>,
}

/// The required outcome of the capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Refused,
    /// No foreign work became part of the graph.
    Accepted,
    /// The outcome depends on cudarc and the driver.
    Either,
}

type Attack = (&'static str, Verdict, fn(&Capture<'_>, &World) -> Result);

impl World {
    fn new() -> (Self, CaptureSession) {
        let (streams, pool) = ([stream(), stream()], pool());
        let blocks = [(); 2].map(|()| pool.allocate(BYTES).unwrap());
        let session = CaptureSession::new(&streams[0]).unwrap().branch(&streams[1]).unwrap();
        let session = session.lease(pool.lease(&blocks.map(|block| block.id())).unwrap());
        let outside = stream();
        let foreign = RefCell::new(outside.alloc_zeros::<u32>(N).unwrap());
        outside.synchronize().unwrap();
        (Self { streams, blocks, foreign, host: RefCell::new(vec![7; N]) }, session)
    }

    /// A stream outside the session waits for the capture, does the work, and is joined.
    fn fork(&self, joins: bool, work: impl FnOnce(&Arc<CudaStream>) -> Done) {
        let outside = stream();
        let _ = outside.join(&self.streams[0]);
        let _ = work(&outside);
        if joins {
            let _ = self.streams[0].join(&outside);
        }
    }

    fn right(&self, capture: &Capture<'_>) -> Result {
        capture.fill_bytes(capture.main(), &mut capture.block::<u32>(&self.blocks[0])?, 1)
    }
}

const ATTACKS: [Attack; 16] = [
    (
        "a stream outside fills a slice in a scope, and is joined",
        Verdict::Refused,
        |capture, world| {
            capture.scope(capture.main(), |_| {
                world.fork(true, |outside| outside.memset_zeros(&mut *world.foreign.borrow_mut()));
                Result::Ok(())
            })
        },
    ),
    ("the same outside of a scope", Verdict::Refused, |capture, world| {
        world.fork(true, |outside| outside.memset_zeros(&mut *world.foreign.borrow_mut()));
        world.right(capture)
    }),
    ("a stream outside uses a view of a scope", Verdict::Refused, |capture, world| {
        capture.scope(capture.main(), |scope| {
            let mut view = scope.try_acquire_zeroed::<u32, _>(N)?;
            world.fork(true, |outside| outside.memset_zeros(&mut view));
            Result::Ok(())
        })
    }),
    ("a copy to the host in a scope", Verdict::Refused, |capture, world| {
        capture.scope(capture.main(), |scope| {
            let view = scope.try_acquire_zeroed::<u32, _>(N)?;
            let _ = world.streams[0].memcpy_dtoh(&view, &mut *world.host.borrow_mut());
            Result::Ok(())
        })
    }),
    ("a copy from the host in a scope", Verdict::Refused, |capture, world| {
        capture.scope(capture.main(), |scope| {
            let mut view = scope.try_acquire_zeroed::<u32, _>(N)?;
            let _ = world.streams[0].memcpy_htod(&*world.host.borrow(), &mut view);
            Result::Ok(())
        })
    }),
    ("a copy from a slice in a scope", Verdict::Refused, |capture, world| {
        capture.scope(capture.main(), |scope| {
            let mut view = scope.try_acquire_zeroed::<u32, _>(N)?;
            let _ = world.streams[0].memcpy_dtod(&*world.foreign.borrow(), &mut view);
            Result::Ok(())
        })
    }),
    ("an allocation of cudarc in a scope", Verdict::Either, |capture, world| {
        capture.scope(capture.main(), |_| {
            drop(world.streams[0].alloc_zeros::<u32>(N));
            Result::Ok(())
        })
    }),
    ("an event of before is waited for", Verdict::Refused, |capture, world| {
        let outside = stream();
        let event = outside.record_event(Some(CUevent_flags::CU_EVENT_DISABLE_TIMING))?;
        let _ = world.streams[0].wait(&event);
        world.right(capture)
    }),
    ("an eager pool on the session's stream", Verdict::Accepted, |capture, world| {
        let stream = DeviceStream::from_stream(Arc::clone(&world.streams[0]))?;
        let mut eager = Pool::<Cuda>::new(stream);
        assert!(eager.scope().try_acquire_zeroed::<u32, _>(N).is_err());
        world.right(capture)
    }),
    ("a branch is used by cudarc before it begins", Verdict::Accepted, |capture, world| {
        world.streams[1].memset_zeros(&mut *world.foreign.borrow_mut())?;
        let mut block = capture.block::<u32>(&world.blocks[0])?;
        capture.fill_bytes(capture.branch(0)?, &mut block, 1)
    }),
    (
        "a branch is joined by cudarc, and used by the capture",
        Verdict::Refused,
        |capture, world| {
            world.streams[1].join(&world.streams[0])?;
            let mut block = capture.block::<u32>(&world.blocks[0])?;
            capture.fill_bytes(capture.branch(0)?, &mut block, 1)
        },
    ),
    ("a graph is captured and launched in a scope", Verdict::Either, |capture, world| {
        capture.scope(capture.main(), |_| {
            let other = stream();
            other.begin_capture(RELAXED)?;
            let _ = other.memset_zeros(&mut *world.foreign.borrow_mut());
            if let Ok(Some(graph)) = other.end_capture(NO_FLAGS) {
                let _ = graph.launch();
            }
            Result::Ok(())
        })
    }),
    ("a block of another pool", Verdict::Refused, |capture, _| {
        let block = pool().allocate(BYTES)?;
        capture.fill_bytes(capture.main(), &mut capture.block::<u32>(&block)?, 1)
    }),
    ("a view of the capture around this one", Verdict::Accepted, |capture, world| {
        let view = capture.acquire::<u32>(N)?;
        let inner = CaptureSession::new(&stream())?.prepare(arena())?;
        let made = inner.capture((), |inner, (): &mut ()| {
            inner.copy(inner.main(), &mut inner.acquire::<u32>(N)?, &view)
        });
        assert_eq!(made.map(drop), Err(CaptureError::ForeignView));
        drop(view);
        world.right(capture)
    }),
    ("a stream outside comes after the capture, and stays", Verdict::Refused, |capture, world| {
        world.fork(false, |outside| outside.memset_zeros(&mut *world.foreign.borrow_mut()));
        world.right(capture)
    }),
    ("nothing of that", Verdict::Accepted, |capture, world| world.right(capture)),
];

#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn safe_calls_of_cudarc_in_a_body_are_refused_or_do_no_harm() {
    let simulator = start();
    for (seed, (name, verdict, attack)) in (0..).zip(ATTACKS) {
        start_anew(simulator, Settings::default(), seed);
        let (world, session) = World::new();
        let prepared = session.prepare(arena()).unwrap();
        let made =
            prepared.capture((), |capture: &Capture<'_>, (): &mut ()| attack(capture, &world));
        let found = if made.is_ok() { Verdict::Accepted } else { Verdict::Refused };
        assert!(verdict == found || verdict == Verdict::Either, "{name}: {made:?}");
        if let Ok(mut graph) = made {
            graph.replay().unwrap();
            graph.synchronize().unwrap();
        }
        // An error that cudarc stores for its next call must not affect the next body.
        let _ = world.streams[0].context().check_err();
        let again = prepared.capture((), |capture, (): &mut ()| world.right(capture));
        let mut again = again.unwrap_or_else(|error| panic!("behind {name}: {error:?}"));
        again.replay().unwrap();
        again.synchronize().unwrap();
        simulator.assert_clean();
    }
}
