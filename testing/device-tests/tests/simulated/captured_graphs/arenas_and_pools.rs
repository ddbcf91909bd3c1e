//! Handles of a session's arena, exhausted arenas, and names of other pools' blocks: `arenas` and
//! `pools` of `attacks/device3/cases.rs`.

use pool_cuda::Cuda;
use pool_graph::{
    ArenaPolicy, Capture, CaptureError, CaptureSession, CudaArena, GraphMemoryBlock,
    GraphMemoryError, Lease,
};

use crate::common::{BYTES, Made, arena, memory, pool, stream, without_a_report};

const N: usize = 1024;

fn small(bytes: u64) -> CudaArena {
    CudaArena::new(memory(), bytes, ArenaPolicy::Monotone).unwrap()
}

/// A second handle of an arena is used while a session holds the arena, while a graph holds it, and
/// afterwards.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn a_second_handle_of_an_arena_takes_nothing_of_a_session() {
    without_a_report(|| {
        let (main, pool) = (stream(), pool());
        let block = pool.allocate(BYTES).unwrap();
        let own = arena();
        own.install(&main).unwrap();
        assert!(own.install(&main).is_err(), "twice");
        let second = CudaArena::on(&main).unwrap();
        let region = second.allocate(512).unwrap();
        let lease = pool.lease(&[block.id()]).unwrap();
        let prepared = CaptureSession::new(&main).unwrap().lease(lease).prepare(own).unwrap();
        assert!(second.allocate(256).is_err());
        let _freed = second.deallocate(region.address());
        let body = |capture: &Capture<'_>, (): &mut ()| {
            assert!(second.allocate(256).is_err());
            let mut view = capture.acquire::<u32>(N)?;
            capture.fill_bytes(capture.main(), &mut view, 1)?;
            capture.copy(capture.main(), &mut capture.block(&block)?, &view)
        };
        let mut graph = prepared.capture((), body).unwrap();
        graph.replay().unwrap();
        let beside = CaptureSession::new(&stream()).unwrap();
        let beside = beside.prepare(CudaArena::on(&main).unwrap()).map(drop);
        assert!(matches!(beside, Err(CaptureError::ArenaInUse { .. })), "{beside:?}");
        second.reset();
        let stale = CaptureError::Memory(GraphMemoryError::StaleLease { leased: 0, current: 1 });
        assert_eq!(graph.replay(), Err(stale));
        assert!(graph.update(|_, ()| Ok::<(), CaptureError>(())).is_err());
        graph.write(&block, &[1_u32; N]).unwrap();
        drop((graph, prepared));
        second.allocate(256).unwrap();
        second.clear(&main).unwrap();
        assert!(second.clear(&main).is_err() && CudaArena::on(&main).is_none());
        drop((second, main, pool));
        assert_eq!(Cuda::retry_deferred_frees(), 0);
    });
}

/// One body exhausts an arena, both outside scopes and in a scope. The next body fits.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn an_exhausted_arena_serves_the_next_body() {
    without_a_report(|| {
        let main = stream();
        let prepared = CaptureSession::new(&main).unwrap().prepare(small(1024)).unwrap();
        let views: Made = prepared.capture((), |capture, ()| {
            let mut views = Vec::new();
            (0..9).try_for_each(|_| {
                views.push(capture.acquire::<u32>(64)?);
                Ok(())
            })
        });
        let exhausted = |made: Made| {
            let Err(error) = made else { panic!("9 times 256 bytes of 1024") };
            let text = format!("{error:?}: {error}");
            assert!(text.contains("1024") || text.contains("NoBlock"), "{text}");
        };
        exhausted(views);
        exhausted(prepared.capture((), |capture, ()| {
            capture.scope(capture.main(), |scope| {
                let mut views = Vec::new();
                (0..9).try_for_each(|_| {
                    views.push(scope.try_acquire::<u32, _>(64)?);
                    Ok(())
                })
            })
        }));
        let fits: Made = prepared.capture((), |capture, ()| {
            capture.fill_bytes(capture.main(), &mut capture.acquire::<u32>(256)?, 1)
        });
        fits.unwrap().replay().unwrap();
        main.synchronize().unwrap();
    });
}

/// Uses names of another pool's blocks, of leased blocks, and of blocks that a reset has freed.
#[test]
#[ignore = "needs a process of its own: cargo xtask sim-test"]
fn names_of_blocks_are_of_their_pool_and_of_their_time() {
    without_a_report(|| {
        let (main, own, other) = (stream(), pool(), pool());
        let blocks = [(); 2].map(|()| own.allocate(BYTES).unwrap());
        let foreign = other.allocate(BYTES).unwrap();
        assert!(own.deallocate(foreign.id()).is_err() && own.block(foreign.id()).is_none());
        assert!(own.lease(&[blocks[0].id(), foreign.id()]).map(drop).is_err());
        let lease: Lease = own.lease(&blocks.map(|block| block.id())).unwrap();
        let prepared = CaptureSession::new(&main).unwrap().lease(lease).prepare(arena()).unwrap();
        let body = |capture: &Capture<'_>, (): &mut ()| {
            let from = capture.block::<u32>(&blocks[1])?;
            capture.copy(capture.main(), &mut capture.block(&blocks[0])?, &from)
        };
        let mut graph = prepared.capture((), body).unwrap();
        graph.write(&blocks[1], &[4_u32; N]).unwrap();
        graph.replay().unwrap();
        assert!(own.deallocate(blocks[0].id()).is_err(), "leased");
        assert_eq!(own.reset().unwrap().leased, 2);
        assert!(own.deallocate(blocks[0].id()).is_err(), "stale");
        let fresh: Vec<_> = (0..64).map(|_| own.allocate(BYTES).unwrap()).collect();
        let is_apart = |one: &u64| blocks.iter().all(|block| block.address() != *one);
        assert!(fresh.iter().map(GraphMemoryBlock::address).all(|one| is_apart(&one)));
        let mut found = [0_u32; N];
        assert!(graph.read(&fresh[0], &mut found).is_err(), "not the graph's");
        let disposal = own.dispose();
        assert!(disposal.kept_bytes > 0, "{disposal:?}");
        assert!(own.allocate(256).is_err() && own.lease(&[fresh[0].id()]).map(drop).is_err());
        graph.replay().unwrap();
        graph.read(&blocks[0], &mut found).unwrap();
        assert_eq!(found, [4; N]);
        drop((graph, prepared));
        assert_eq!(own.allocated_bytes(), 0);
    });
}
