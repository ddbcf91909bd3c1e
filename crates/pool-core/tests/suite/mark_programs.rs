//! Random mixes of recycled uses, uses that write first and uses that mark, of the same two slots,
//! against a naive model of each slot's mark. Recycled bytes must be zero within the mark. Under
//! Miri, reading an uninitialised byte would be undefined behaviour.

use std::mem::MaybeUninit;

use pool_conformance::panics::{catch_quietly, text};
use pool_conformance::{HeapBackend, Ledger, Refusal};
use pool_core::{Compaction, Pool, PoolConfig, Scope};

use crate::support::{address, assert_initialised, heap_pool, rounds};

/// Sixteen bytes: a byte, seven bytes of padding, and an address.
type Marking = (u8, &'static u8);

static REFERENT: u8 = 0xEE;

/// A slot as the model sees it.
#[derive(Clone, Copy, Default)]
struct Model {
    /// Up to which byte it was marked.
    marked: usize,
    /// The address of its block, if there is one, as in the ledger.
    block: Option<(usize, usize)>,
}

impl Model {
    /// The slot's block, as seen from an acquire: another one has no mark.
    fn seen(&mut self, ledger: &Ledger, address: usize, allocations_before: usize) {
        let block = ledger.block_of(address);
        if self.block != block || ledger.allocations() > allocations_before {
            self.marked = 0;
        }
        self.block = block;
    }
}

/// One use of the scope's next slot.
fn use_slot(
    scope: &Scope<'_, HeapBackend>,
    ledger: &Ledger,
    model: &mut Model,
    poison: bool,
    below: &mut impl FnMut(usize) -> usize,
) {
    let most = if below(8) == 0 { rounds(3_000, 600) } else { 200 };
    let bytes = 1 + below(most);
    let elements = bytes.div_ceil(size_of::<Marking>());
    let before = ledger.allocations();
    match below(10) {
        0..=2 => {
            let Ok(view) = scope.try_acquire::<u8, _>(bytes) else { return };
            model.seen(ledger, address(view), before);
            let zeroed = model.marked.min(bytes);
            let expected = if poison { 0xFF } else { 0 };
            assert!(view[..zeroed] == vec![expected; zeroed], "{zeroed} of {bytes}");
            assert_initialised(view);
            view.fill(0x11);
            model.marked = 0;
        }
        3 => {
            let Ok(view) = scope.try_acquire_zeroed::<u8, _>(bytes) else { return };
            model.seen(ledger, address(view), before);
            assert!(view == vec![0; bytes]);
        }
        4 => {
            let Ok(view) = scope.try_acquire_filled(bytes, 0x22_u8) else { return };
            model.seen(ledger, address(view), before);
            assert!(view == vec![0x22; bytes]);
        }
        5 => {
            let Ok(view) = scope.try_acquire::<u8, _>(&[1, bytes, 1][..]) else { return };
            model.seen(ledger, address(view.as_slice()), before);
            let zeroed = model.marked.min(bytes);
            assert!(poison || view.as_slice()[..zeroed] == vec![0; zeroed]);
            model.marked = 0;
        }
        6 => {
            let value: Marking = (0x33, &REFERENT);
            let Ok(view) = scope.try_acquire_with(elements, |_| value) else { return };
            model.seen(ledger, address(view), before);
            assert!(view.iter().all(|&(byte, reference)| (byte, *reference) == (0x33, 0xEE)));
            model.marked = model.marked.max(size_of_val(view));
        }
        7 => {
            let source = vec![Some(0x4444_u16); bytes.div_ceil(4)];
            let Ok(view) = scope.try_acquire_with(source.len(), |i| source[i]) else { return };
            model.seen(ledger, address(view), before);
            assert_eq!(view, source);
            model.marked = model.marked.max(size_of_val(view));
        }
        8 => {
            let Ok(view) = scope.try_acquire_uninit::<u16, _>(bytes.div_ceil(2)) else { return };
            model.seen(ledger, address(view), before);
            view.fill(if below(2) == 0 { MaybeUninit::uninit() } else { MaybeUninit::new(0x6666) });
            model.marked = model.marked.max(size_of_val(view));
        }
        _ => {
            // The closure panics: the slot's position, and whether it had to grow, show at its next
            // use.
            let until = below(elements);
            let mut reached = false;
            let ended = catch_quietly(|| {
                let element = |index| {
                    reached = true;
                    if index == until { panic!("planned") } else { (0x55_u8, &REFERENT) }
                };
                scope.try_acquire_with(elements, element).map(|view| view.len())
            });
            assert!(ended.is_err() || !reached, "every closure panics");
            if ledger.allocations() > before {
                *model = Model::default();
            } else if reached {
                model.marked = model.marked.max(elements * size_of::<Marking>());
            }
        }
    }
}

fn between(
    pool: &mut Pool<HeapBackend>,
    ledger: &Ledger,
    poison: &mut bool,
    below: &mut impl FnMut(usize) -> usize,
) {
    match below(12) {
        0 => drop(pool.trim()),
        1 => drop(pool.compact(&Compaction { minimum_bytes: 1, ..Compaction::default() })),
        2 | 3 => pool.sample_lengths(),
        4 => drop(pool.clear()),
        5 => ledger.refuse(Refusal::Once(below(2))),
        6 => ledger.refuse(Refusal::PanicOnce(below(2))),
        7 => ledger.refuse(Refusal::Never),
        8 | 9 => {
            *poison = below(3) == 0;
            let config = PoolConfig::new().poison(*poison).fresh(below(6) == 0);
            let config = config.byte_limit(2_048 << below(4));
            pool.configure(config).expect("all is in range");
        }
        _ => {}
    }
}

#[test]
fn what_is_read_recycled_was_initialised_whatever_came_before() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut below = |end: usize| random.usize(..end);
    for _ in 0..rounds(400, 1) {
        let (mut pool, ledger) = heap_pool();
        let mut models = [Model::default(); 2];
        let mut poison = false;
        for _ in 0..rounds(300, 30) {
            let ended = catch_quietly(|| {
                between(&mut pool, &ledger, &mut poison, &mut below);
                let scope = pool.scope();
                for (number, model) in models.iter_mut().enumerate() {
                    // A use that was refused took no slot: the next one would be of the same.
                    if scope.active_slots() == number {
                        use_slot(&scope, &ledger, model, poison, &mut below);
                    }
                }
            });
            if let Err(panic) = ended {
                let text = text(panic.as_ref());
                assert!(text.starts_with("the test panics instead"), "{text}");
            }
        }
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
    }
}
