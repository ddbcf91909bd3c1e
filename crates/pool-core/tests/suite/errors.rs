//! The texts of the errors: each has its numbers and its advice, and names its source.

use std::error::Error;

use pool_conformance::{HeapBackend, RefusalError};
use pool_core::{ConfigError, Pool, PoolError, PoolView, ShapeError, ViewError, error_chain};

use crate::support::{dynamic_heap_pool, heap_pool, panic_text};

type HeapError = PoolError<RefusalError>;

/// Checks the whole text, that the error has a source with the given text, and that the chain is both.
#[track_caller]
fn assert_text(error: &HeapError, text: &str, source: Option<&str>) {
    assert_eq!(error.to_string(), text);
    assert_eq!(error.source().map(ToString::to_string).as_deref(), source);
    let sources = source.map_or_else(String::new, |source| format!(": {source}"));
    assert_eq!(error_chain(error).to_string(), format!("{text}{sources}"));
}

#[test]
fn every_error_says_its_numbers_and_what_to_do() {
    assert_text(
        &HeapError::SizeOverflow { elements: 123, element_size: 45 },
        "123 elements of 45 bytes exceed the address space: check how the length was computed",
        None,
    );
    assert_text(
        &HeapError::Alignment { asked: 24 },
        "the alignment 24 is not a power of two: check how the alignment was computed",
        None,
    );
    assert_text(
        &HeapError::from(ViewError::from(ShapeError::CopyMismatch { from: 3, to: 4 })),
        "cannot copy 3 elements to a destination of 4 elements: the lengths must be equal",
        None,
    );
    assert_text(
        &HeapError::Shape(ShapeError::PartOutOfRange { start: 1, end: 5, extent: 4 }),
        "the range 1..5 is out of bounds: the view has 4 elements",
        None,
    );
    let no_memory = ViewError::Bookkeeping { requested: 77 };
    assert_eq!(
        no_memory.to_string(),
        "cannot allocate 77 bytes of host memory for the elements: free host memory"
    );
    assert_eq!(HeapError::from(no_memory), HeapError::Bookkeeping { requested: 77 });
    assert_text(
        &HeapError::LimitExceeded { requested: 4096, reserved: 100, limit: 2000 },
        "a block of 4096 bytes would exceed the pool's limit of 2000 bytes, 100 of which are in \
         use: raise the limit, or end scopes earlier",
        None,
    );
    assert_text(
        &HeapError::OutOfMemory {
            requested: 64,
            reserved: 32,
            largest: [24, 8, 0],
            source: RefusalError { bytes: 63 },
        },
        "cannot allocate a block of 64 bytes: 32 bytes of this pool are in use (the largest \
         blocks: 24, 8), and all idle blocks of the pool were already freed; request fewer bytes, \
         end scopes earlier, or trim other pools",
        Some("the test refused to allocate 63 bytes"),
    );
    assert_text(
        &HeapError::Bookkeeping { requested: 77 },
        "cannot allocate 77 bytes of host memory for the pool's bookkeeping: free host memory",
        None,
    );
    assert_text(
        &HeapError::Backend { operation: "zero a block", source: RefusalError { bytes: 9 } },
        "the backend failed to zero a block",
        Some("the test refused to allocate 9 bytes"),
    );
    assert_text(
        &HeapError::IdentitiesExhausted { most: 7 },
        "the process has already created 7 pools, which is the maximum: keep pools and reuse them",
        None,
    );
    assert_text(
        &HeapError::ForeignHandle { pool: 8, made_by: 5 },
        "the handle was created by pool 5, not by this pool (8): use the handle with its own pool",
        None,
    );
    assert_text(
        &HeapError::StaleHandle { slot: 12, active: 7 },
        "the handle of slot 12 is stale (7 slots are in use), because its array was rewound or \
         replaced: acquire another array",
        None,
    );
    assert_text(
        &HeapError::RepeatedHandle { slot: 6 },
        "two of the handles name slot 6: pass each handle only once",
        None,
    );
    assert_text(
        &HeapError::NoSuchCheckpoint { asked: 9, top: 2 },
        "there is no checkpoint at depth 9: the newest checkpoint has depth 2 (0 is the root)",
        None,
    );
    assert_text(
        &HeapError::Reentered,
        "the pool was called by code that runs inside an acquire or a trim of the same pool: an \
         allocator's hook, a tracing subscriber or a backend must use another pool",
        None,
    );
}

#[test]
fn shape_and_configuration_errors_are_the_whole_text() {
    let shapes = [
        (
            ShapeError::Overflow { rank: 3, element_size: 8 },
            "the shape with 3 axes is too large: the product of the nonzero axis lengths, times 8 \
             bytes per element, exceeds isize::MAX",
        ),
        (
            ShapeError::LengthMismatch { asked: 12, length: 10 },
            "a shape of 12 elements does not match a view of 10 elements: the product of the axis \
             lengths must be 10",
        ),
        (
            ShapeError::SplitOutOfRange { asked: 5, extent: 4 },
            "cannot split at index 5: the length is only 4",
        ),
    ];
    for (error, text) in shapes {
        assert_text(&error.into(), text, None);
    }
    let error = ConfigError::Ways { asked: 17 };
    let text = "the shape cache cannot have 17 ways: choose 1 to 16";
    assert_text(&error.into(), text, None);
}

#[test]
fn errors_of_real_operations_have_the_real_numbers() {
    let (mut pool, _) = dynamic_heap_pool();
    let error = pool.rewind_to(4).unwrap_err();
    assert!(error.to_string().contains("depth 4: the newest checkpoint has depth 0"));
    let stale = pool.acquire::<u64>(1);
    pool.reset();
    let text = pool.get(stale).unwrap_err().to_string();
    assert!(text.contains("slot 0 is stale (0 slots"), "{text}");

    let (mut pool, _) = heap_pool();
    let view = pool.scope().acquire_zeroed::<u64, _>(10);
    let text = panic_text(|| view.reshape([3, 4]));
    assert_eq!(text, ShapeError::LengthMismatch { asked: 12, length: 10 }.to_string());
    let view = pool.scope().acquire_zeroed::<u64, _>(10);
    let error = view.into_split_at(11).unwrap_err();
    assert_eq!(error, ShapeError::SplitOutOfRange { asked: 11, extent: 10 });
}

/// Errors can be kept, compared and sent if the backend's own can.
#[test]
fn errors_are_ordinary_values() {
    fn ordinary<E: Error + Clone + PartialEq + Send + Sync + 'static>() {}
    ordinary::<HeapError>();
    let (mut pool, _) = heap_pool();
    let run = |pool: &mut Pool<HeapBackend>| -> Result<usize, Box<dyn Error>> {
        let scope = pool.scope();
        let array = scope.try_acquire::<u64, _>([usize::MAX, 3])?;
        Ok(array.len())
    };
    let boxed = run(&mut pool).unwrap_err();
    let error = boxed.downcast_ref::<HeapError>().unwrap();
    assert_eq!(*error, HeapError::Shape(ShapeError::Overflow { rank: 2, element_size: 8 }));
}
