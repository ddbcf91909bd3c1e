//! The allocator of a scope against naive models: allocations of any layout, the collections of
//! `allocator-api2` and hashbrown, refusals, panics in collections' callbacks, and foreign code
//! that allocates in the middle of a growth. Over slots and over stacks.

use std::alloc::Layout;
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::hash::{Hash, Hasher};
use std::ptr::NonNull;
use std::rc::Rc;

use allocator_api2::alloc::Allocator;
use allocator_api2::boxed::Box as ScopeBox;
use allocator_api2::vec::Vec as ScopeVec;
use hashbrown::{DefaultHashBuilder, HashMap, HashSet};
use pool_conformance::adapted::{AdaptedError, Adaptor, Block, StackedAdaptor};
use pool_conformance::panics::{catch_planned, catch_quietly, panic_as_planned};
use pool_conformance::{AdaptedBackend, HeapBackend, Ledger, Refusal};
use pool_core::{
    Advice, HostBackend, Pool, PoolBackend, PoolConfig, PoolError, PoolString, Scope,
    ScopeAllocator,
};

use super::Heap;
use crate::support::{
    HasSlots, address, assert_initialised, assert_stamped, is_send, is_sync, pool_of, pool_with,
    rounds, stamp,
};

/// An allocation and the byte that it is filled with.
struct Piece {
    start: NonNull<u8>,
    layout: Layout,
    stamp: u8,
}

impl Piece {
    fn new(memory: NonNull<[u8]>, layout: Layout, stamp: u8) -> Self {
        assert_eq!(memory.len(), layout.size());
        let start = memory.cast::<u8>();
        assert_eq!(start.addr().get() % layout.align(), 0, "{layout:?}");
        // SAFETY: just allocated with `layout.size()` bytes.
        unsafe { start.write_bytes(stamp, layout.size()) };
        Self { start, layout, stamp }
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: allocated and written.
        unsafe { NonNull::slice_from_raw_parts(self.start, self.layout.size()).as_ref() }
    }

    #[track_caller]
    fn check(&self, length: usize) {
        assert!(self.bytes()[..length] == vec![self.stamp; length], "{:?}", self.layout);
    }
}

fn some_layout(below: &mut impl FnMut(usize) -> usize) -> Layout {
    let size = match below(8) {
        0 => below(3),
        1 => below(5000),
        _ => below(90),
    };
    let align = 1 << if below(12) == 0 { below(13) } else { below(5) };
    Layout::from_size_align(size, align).unwrap()
}

/// One step of a program over an allocator.
fn allocator_step<A: Allocator>(
    memory: A,
    pieces: &mut Vec<Piece>,
    below: &mut impl FnMut(usize) -> usize,
) {
    let layout = some_layout(below);
    let stamp = u8::try_from(1 + below(250)).unwrap();
    // The last allocation is more often the one.
    let which = if below(2) == 0 { pieces.len().checked_sub(1) } else { Some(below(pieces.len())) };
    let picked = which.filter(|&which| which < pieces.len());
    match (below(7), picked) {
        (0..=2, _) | (_, None) => {
            if let Ok(allocated) = memory.allocate(layout) {
                pieces.push(Piece::new(allocated, layout, stamp));
            }
        }
        (3, Some(which)) => {
            let Piece { start, layout, .. } = pieces.swap_remove(which);
            // SAFETY: allocated by this allocator with this layout.
            unsafe { memory.deallocate(start, layout) };
        }
        (4, Some(which)) => {
            let Piece { start, layout: old, .. } = pieces[which];
            let size = below(old.size() + 1);
            let new = Layout::from_size_align(size, layout.align()).unwrap();
            // SAFETY: as above, and the new layout is no larger.
            if let Ok(shrunk) = unsafe { memory.shrink(start, old, new) } {
                pieces[which].start = shrunk.cast();
                pieces[which].layout = new;
                pieces[which].check(size);
            }
        }
        (kind, Some(which)) => {
            let Piece { start, layout: old, stamp: before } = pieces[which];
            let size = old.size() + layout.size();
            let new = Layout::from_size_align(size, layout.align()).unwrap();
            let grown = if kind == 5 {
                // SAFETY: as above, and the new layout is no smaller.
                unsafe { memory.grow(start, old, new) }
            } else {
                // SAFETY: as above.
                unsafe { memory.grow_zeroed(start, old, new) }
            };
            if let Ok(grown) = grown {
                assert_eq!(grown.len(), size);
                let piece = Piece { start: grown.cast(), layout: new, stamp: before };
                // SAFETY: of the grown allocation, the first bytes are those of the old one.
                let kept =
                    unsafe { NonNull::slice_from_raw_parts(piece.start, old.size()).as_ref() };
                assert!(kept.iter().all(|&byte| byte == before));
                if kind == 6 {
                    assert!(piece.bytes()[old.size()..].iter().all(|&byte| byte == 0));
                }
                pieces[which] = Piece::new(grown, new, stamp);
            }
        }
    }
    pieces.iter().for_each(|piece| piece.check(piece.layout.size()));
    let mut ranges: Vec<_> = pieces.iter().filter(|piece| piece.layout.size() > 0).collect();
    ranges.sort_by_key(|piece| piece.start);
    for pair in ranges.windows(2) {
        let end = pair[0].start.addr().get() + pair[0].layout.size();
        assert!(end <= pair[1].start.addr().get(), "two allocations overlap");
    }
}

fn refuse(ledger: &Ledger, below: &mut impl FnMut(usize) -> usize) {
    ledger.refuse(match below(5) {
        0 => Refusal::Once(below(3)),
        1 => Refusal::From(below(3)),
        2 => Refusal::PanicOnce(below(3)),
        _ => Refusal::Never,
    });
}

#[test]
fn allocations_agree_with_a_model_of_live_ranges() {
    let mut random = fastrand::Rng::with_seed(11);
    let mut below = |end: usize| if end == 0 { 0 } else { random.usize(..end) };
    for round in 0..rounds(400, 3) {
        let config = PoolConfig::new().poison(round % 5 == 4).fresh(round % 7 == 6);
        let (mut pool, ledger) = pool_with::<Heap>(config.byte_limit(60_000));
        for _ in 0..rounds(4, 1) {
            refuse(&ledger, &mut below);
            {
                let scope = pool.scope();
                let (first, second) = (scope.allocator(), scope.allocator());
                let mut pieces = [Vec::new(), Vec::new()];
                let mut views = Vec::new();
                for _ in 0..rounds(80, 16) {
                    let which = below(2);
                    let memory = if which == 0 { &first } else { &second };
                    let before = pieces[which].len();
                    let step = || allocator_step(memory, &mut pieces[which], &mut below);
                    // A panic of the backend leaves every allocation as it was.
                    if catch_quietly(step).is_err() {
                        assert_eq!(pieces[which].len(), before);
                    }
                    if below(9) == 0 {
                        if let Ok(Ok(view)) =
                            catch_quietly(|| scope.try_acquire::<u64, _>(below(30)))
                        {
                            stamp(view, views.len() as u64);
                            views.push(view);
                        }
                    }
                    if below(30) == 0 {
                        scope.trim();
                    }
                    for (owner, view) in views.iter().enumerate() {
                        assert_stamped(view, owner as u64);
                    }
                }
                pieces.iter().flatten().for_each(|piece| piece.check(piece.layout.size()));
            }
            ledger.refuse(Refusal::Never);
            let scope = pool.scope();
            for _ in 0..6 {
                let length = 1 + below(900);
                assert_initialised(scope.acquire::<u8, _>(length));
            }
        }
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
    }
}

/// A value with padding that counts its drops, and hashes, clones and drops by hooks that may panic.
struct Counted<'c> {
    small: u8,
    number: u64,
    counts: &'c Counts,
}

#[derive(Default)]
struct Counts {
    live: Cell<usize>,
    /// Calls until one panics; 0 for never.
    panic_after: Cell<usize>,
}

impl Counts {
    fn value(&self, number: u64) -> Counted<'_> {
        self.live.set(self.live.get() + 1);
        Counted { small: (number % 7) as u8, number, counts: self }
    }

    fn call(&self) {
        let left = self.panic_after.get();
        self.panic_after.set(left.saturating_sub(1));
        if left == 1 {
            panic_as_planned();
        }
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.counts.live.set(self.counts.live.get() - 1);
        assert_eq!(self.small, (self.number % 7) as u8, "a value that is not what was written");
        self.counts.call();
    }
}

impl Clone for Counted<'_> {
    fn clone(&self) -> Self {
        self.counts.call();
        self.counts.value(self.number)
    }
}

impl Hash for Counted<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.counts.call();
        self.number.hash(state);
    }
}

impl PartialEq for Counted<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Counted<'_> {}

#[test]
fn collections_agree_with_those_of_the_heap() {
    let mut random = fastrand::Rng::with_seed(12);
    let mut below = |end: usize| random.usize(..end);
    for _ in 0..rounds(60, 1) {
        let (mut pool, ledger) = pool_of::<Heap>();
        for _ in 0..2 {
            let counts = Counts::default();
            let scope = pool.scope();
            let memory = scope.allocator();
            let mut vectors: Vec<ScopeVec<Counted<'_>, _>> = Vec::new();
            let mut models: Vec<Vec<u64>> = Vec::new();
            let mut map = HashMap::with_hasher_in(DefaultHashBuilder::default(), &memory);
            let mut map_model = BTreeMap::new();
            let mut text = PoolString::new_in(&memory);
            let mut text_model = String::new();
            for step in 0..rounds(200, 40) {
                let number = below(1000) as u64;
                match below(9) {
                    0 => {
                        vectors.push(ScopeVec::new_in(&memory));
                        models.push(Vec::new());
                    }
                    1 | 2 if !vectors.is_empty() => {
                        let which = below(vectors.len());
                        vectors[which].push(counts.value(number));
                        models[which].push(number);
                    }
                    3 if !vectors.is_empty() => {
                        let which = below(vectors.len());
                        let popped = vectors[which].pop().map(|value| value.number);
                        assert_eq!(popped, models[which].pop());
                        vectors[which].shrink_to_fit();
                    }
                    4 if !vectors.is_empty() => {
                        let which = below(vectors.len());
                        drop(vectors.swap_remove(which));
                        models.swap_remove(which);
                    }
                    5 => {
                        write!(text, "{step}·").unwrap();
                        write!(text_model, "{step}·").unwrap();
                        assert_eq!(text.pop(), text_model.pop());
                    }
                    6 => {
                        map.remove(&(number % 40));
                        map_model.remove(&(number % 40));
                    }
                    _ => {
                        map.insert(number % 40, ScopeBox::new_in(counts.value(number), &memory));
                        map_model.insert(number % 40, number);
                    }
                }
                for (vector, model) in vectors.iter().zip(&models) {
                    assert!(vector.iter().map(|value| &value.number).eq(model));
                }
                assert_eq!(text, *text_model);
            }
            assert_eq!(map.len(), map_model.len());
            assert!(map_model.iter().all(|(key, number)| map[key].number == *number));
            assert_eq!(counts.live.get(), map.len() + models.iter().map(Vec::len).sum::<usize>());
            drop((map, vectors));
            assert_eq!(counts.live.get(), 0);
        }
        let scope = pool.scope();
        assert_initialised(scope.acquire::<u8, _>(5000));
        drop(pool);
        assert_eq!(ledger.live_blocks(), 0);
    }
}

#[test]
fn a_panic_in_drop_clone_or_hash_leaves_no_value_twice() {
    for panic_at in (1..60).step_by(rounds(1, 13)) {
        let (mut pool, _) = pool_of::<Heap>();
        let counts = Counts::default();
        {
            let scope = pool.scope();
            let memory = scope.allocator();
            counts.panic_after.set(panic_at);
            catch_planned(|| {
                let mut values = ScopeVec::new_in(&memory);
                let mut set = HashSet::with_hasher_in(DefaultHashBuilder::default(), &memory);
                for number in 0..8 {
                    values.push(counts.value(number));
                    set.insert(ScopeBox::new_in(counts.value(number % 5), &memory));
                }
                let copies = values.clone();
                let set_copy = set.clone();
                values.retain(|value| value.number % 2 == 0);
                set.shrink_to_fit();
                drop((copies, set_copy, values));
            });
            counts.panic_after.set(0);
            // Values that a collection forgets while it unwinds are leaked, and are in no collection.
            let mut after = ScopeVec::new_in(&memory);
            after.extend((0..20).map(|number| counts.value(number)));
            assert!(after.iter().map(|value| value.number).eq(0..20));
        }
        assert_initialised(pool.scope().acquire::<u8, _>(3000));
    }
}

#[test]
fn the_second_pass_allocates_nothing() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let mut held = Vec::new();
    for _ in 0..5 {
        let scope = pool.scope();
        let memory = scope.allocator();
        let mut index: HashMap<PoolString<_>, ScopeVec<usize, _>, _, _> =
            HashMap::with_hasher_in(DefaultHashBuilder::default(), &memory);
        for number in 0..rounds(3000, 12) {
            let mut word = PoolString::new_in(&memory);
            write!(word, "word {}", number % 300).unwrap();
            let lines = index.entry(word).or_insert_with(|| ScopeVec::new_in(&memory));
            lines.push(number);
        }
        scope.acquire::<u64, _>(100);
        let mut large = ScopeVec::new_in(&memory);
        large.extend(0..rounds(100_000, 100) as u64);
        assert!(large.iter().copied().eq(0..large.len() as u64));
        held.push((ledger.allocations(), scope.stats().reserved_bytes));
    }
    assert_eq!(held[2], held[4], "{held:?}");
}

#[test]
fn small_allocations_share_slots() {
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let memory = scope.allocator();
    assert_eq!(scope.active_slots(), 0, "an allocator takes nothing by itself");
    let numbers: Vec<_> =
        (0..rounds(10_000, 300) as u64).map(|n| ScopeBox::new_in(n, &memory)).collect();
    assert!(numbers.iter().map(|number| **number).eq(0..numbers.len() as u64));
    assert!(scope.active_slots() <= 12, "{} slots", scope.active_slots());
    let apart =
        address(std::slice::from_ref(&*numbers[1])) - address(std::slice::from_ref(&*numbers[0]));
    assert_eq!(apart, 8, "without gaps");
}

#[test]
fn the_last_allocation_grows_shrinks_and_is_freed_in_place() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let mut moves = Vec::new();
    for _ in 0..3 {
        let scope = pool.scope();
        let memory = scope.allocator();
        let mut numbers = ScopeVec::with_capacity_in(1, &memory);
        let (mut at, mut moved) = (address::<u64>(&numbers), 0);
        for number in 0..rounds(20_000, 200) as u64 {
            numbers.push(number);
            moved += usize::from(at != address(&numbers));
            at = address(&numbers);
        }
        moves.push(moved);
        numbers.truncate(3);
        numbers.shrink_to_fit();
        let next = ScopeBox::new_in(7_u64, &memory);
        assert_eq!(address(std::slice::from_ref(&*next)), at + 24, "what was shrunk is used again");
        drop(next);
        drop(numbers);
        assert_eq!(address(std::slice::from_ref(&*ScopeBox::new_in(7_u64, &memory))), at);
    }
    assert_eq!((moves[1], moves[2]), (0, 0), "{moves:?}");
    if Heap::HAS_SLOTS {
        assert_eq!(ledger.live_blocks(), 2, "one slot, and the block that it exchanged");
    }
}

#[test]
fn a_refused_allocation_is_an_error_with_numbers() {
    let (mut pool, ledger) = pool_with::<Heap>(PoolConfig::new().byte_limit(20_000));
    let scope = pool.scope();
    let memory = scope.allocator();
    let mut numbers = ScopeVec::new_in(&memory);
    numbers.extend(0..100_u64);
    assert!(memory.take_refusal().is_none());
    assert!(numbers.try_reserve(5000).is_err());
    let refusal = memory.take_refusal();
    assert!(
        matches!(refusal, Some(PoolError::LimitExceeded { limit: 20_000, requested, .. }) if requested > 39_000),
        "{refusal:?}"
    );
    assert!(numbers.try_reserve(usize::MAX / 16).is_err() && numbers.iter().copied().eq(0..100));
    ledger.refuse(Refusal::From(0));
    assert!(numbers.try_reserve(1000).is_err());
    assert!(matches!(memory.take_refusal(), Some(PoolError::OutOfMemory { .. })));
    let mut text = PoolString::from_str_in("kept", &memory);
    assert!((0..4000).any(|_| write!(text, "{:>40}", "more").is_err()));
    assert!(text.starts_with("kept  ") && text.len() > 50);
    ledger.refuse(Refusal::Never);
    numbers.extend(100..200);
    assert!(numbers.iter().copied().eq(0..200));
    let layout = Layout::from_size_align(usize::MAX / 2 - 4096, 4096).unwrap();
    assert!(memory.allocate(layout).is_err());
    assert!(matches!(memory.take_refusal(), Some(PoolError::SizeOverflow { .. })));
}

#[test]
fn under_a_tight_limit_a_chunk_is_as_small_as_its_allocation() {
    let (mut pool, _) = pool_with::<Heap>(PoolConfig::new().byte_limit(512));
    let scope = pool.scope();
    let memory = scope.allocator();
    let mut bytes = ScopeVec::<u8, _>::new_in(&memory);
    assert!(bytes.try_reserve_exact(100).is_ok(), "{:?}", memory.take_refusal());
}

/// Blocks are aligned to less, so an exchange of blocks would move such an allocation to an address that is not.
#[test]
fn an_over_aligned_allocation_stays_aligned_when_it_grows() {
    let mut pools = Vec::new();
    for round in 0..rounds(40, 3) {
        // Blocks of the pools before are still held, so that the addresses differ.
        pools.push(pool_of::<Heap>().0);
        let scope = pools[round].scope();
        for size in [300, 700, 900] {
            let memory = scope.allocator();
            let layout = Layout::from_size_align(size, 128).unwrap();
            let larger = Layout::from_size_align(5000 + 64 * round, 128).unwrap();
            let piece = Piece::new(memory.allocate(layout).unwrap(), layout, 3);
            // SAFETY: allocated by this allocator.
            let grown = unsafe { memory.grow(piece.start, layout, larger) }.unwrap();
            Piece { start: grown.cast(), layout: larger, stamp: 3 }.check(size);
            Piece::new(grown, larger, 4);
        }
    }
}

#[test]
fn what_has_no_size_takes_no_memory() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let scope = pool.scope();
    let memory = scope.allocator();
    let mut units = ScopeVec::new_in(&memory);
    units.extend(std::iter::repeat_n((), rounds(1000, 10)));
    let unit = ScopeBox::new_in([0_u64; 0], &memory);
    let empty = PoolString::from_str_in("", &memory);
    assert_eq!((units.len(), unit.len(), &*empty.leak()), (rounds(1000, 10), 0, ""));
    assert_eq!(ledger.allocations(), 0);
    let layout = Layout::from_size_align(0, 4096).unwrap();
    let nothing = memory.allocate(layout).unwrap().cast::<u8>();
    assert_eq!(nothing.addr().get() % 4096, 0);
    let larger = Layout::from_size_align(8, 8).unwrap();
    // SAFETY: allocated by this allocator.
    let grown = unsafe { memory.grow(nothing, layout, larger) }.unwrap();
    // SAFETY: as above.
    let shrunk = unsafe { memory.shrink(grown.cast(), larger, layout) }.unwrap();
    // SAFETY: as above.
    unsafe { memory.deallocate(shrunk.cast(), layout) };
}

#[test]
fn a_forgotten_collection_leaks_its_elements_alone() {
    let (mut pool, ledger) = pool_of::<Heap>();
    let counts = Counts::default();
    let mut blocks = Vec::new();
    for pass in 1..4 {
        let mut outer = pool.scope();
        let kept = outer.acquire_filled(4, 3_u64);
        {
            let inner = outer.scope();
            let memory = inner.allocator();
            let mut values = ScopeVec::new_in(&memory);
            values.extend((0..50).map(|number| counts.value(number)));
            let leaked = ScopeVec::leak(values);
            assert_eq!(leaked[49].number, 49);
            std::mem::forget(ScopeBox::new_in(counts.value(50), &memory));
        }
        assert_eq!(counts.live.get(), 51 * pass);
        outer.acquire_filled(rounds(5000, 400), 1_u64);
        assert_eq!(kept, [3; 4]);
        blocks.push(ledger.allocations());
    }
    assert_eq!(blocks[1], blocks[2]);
}

/// A box that is turned into a pointer and back has a pointer to its own bytes alone. The allocator
/// does not derive pointers from it.
#[test]
fn a_pointer_that_comes_back_is_not_the_base_of_another_allocation() {
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let memory = scope.allocator();
    let value = ScopeBox::new_in(1_u32, &memory);
    let (pointer, allocator) = ScopeBox::into_raw_with_allocator(value);
    // SAFETY: as it was.
    let narrow = std::ptr::from_mut(unsafe { &mut *pointer });
    // SAFETY: made by `into_raw_with_allocator`.
    drop(unsafe { ScopeBox::from_raw_in(narrow, allocator) });
    let larger = ScopeBox::new_in([2_u64; 8], &memory);
    let behind = ScopeBox::new_in([3_u64; 8], &memory);
    assert_eq!((*larger, *behind), ([2; 8], [3; 8]));
}

#[test]
fn an_allocator_may_be_moved_and_owned_by_its_collection() {
    let last = rounds(500, 100) as u64;
    let (mut pool, _) = pool_of::<Heap>();
    let mut scope = pool.scope();
    for _ in 0..2 {
        let inner = scope.scope();
        let mut numbers = ScopeVec::new_in(inner.allocator());
        numbers.extend(0..last);
        let mut moved = Box::new(numbers);
        moved.push(last);
        assert!(moved.iter().copied().eq(0..=last));
        let leaked: &mut [u64] = moved.leak();
        assert_eq!(leaked.last(), Some(&last));
    }
}

#[test]
fn scopes_and_collections_stay_on_their_thread() {
    assert!(!is_send!(ScopeAllocator<'static, Heap>) && !is_sync!(ScopeAllocator<'static, Heap>));
    assert!(!is_send!(&'static ScopeAllocator<'static, Heap>));
    assert!(!is_send!(ScopeVec<u8, &'static ScopeAllocator<'static, Heap>>));
    assert!(!is_send!(PoolString<&'static ScopeAllocator<'static, Heap>>));
}

/// A function that is generic over the layout, and a value with a lifetime that shrinks.
#[test]
fn the_allocator_is_covariant_in_its_lifetime() {
    struct Tree<'a, B: HostBackend> {
        children: ScopeVec<Tree<'a, B>, &'a ScopeAllocator<'a, B>>,
    }
    fn tree<'a, B: HostBackend>(memory: &'a ScopeAllocator<'a, B>, depth: usize) -> Tree<'a, B> {
        let mut children = ScopeVec::new_in(memory);
        children.extend((0..depth).map(|child| tree(memory, child)));
        Tree { children }
    }
    fn count<B: HostBackend>(tree: &Tree<'_, B>) -> usize {
        1 + tree.children.iter().map(count).sum::<usize>()
    }
    fn shorter<'short, 'long: 'short>(
        memory: ScopeAllocator<'long, Heap>,
    ) -> ScopeAllocator<'short, Heap> {
        memory
    }
    let (mut pool, _) = pool_of::<Heap>();
    let scope = pool.scope();
    let memory = shorter(scope.allocator());
    assert_eq!(count(&tree(&memory, 5)), 32);
}

type Hook = Rc<dyn Fn()>;

/// A backend that runs a hook in every allocation.
struct Hooking {
    ledger: Ledger,
    hook: Rc<RefCell<Option<Hook>>>,
}

// SAFETY: it allocates as the inner backend does; views of that are slices, which ignore their slot.
unsafe impl Adaptor for Hooking {
    type Inner = HeapBackend;
    type Descriptor = <HeapBackend as PoolBackend>::Descriptor;

    fn inner(&self) -> &Ledger {
        &self.ledger
    }

    fn allocate(&self, bytes: usize, advice: Advice) -> Result<Block<Self>, AdaptedError<Self>> {
        let hook = self.hook.borrow().clone();
        if let Some(hook) = hook {
            hook();
        }
        HeapBackend::allocate(&self.ledger, bytes, advice).map_err(AdaptedError::Inner)
    }
}

// SAFETY: blocks and parts of them are the inner backend's.
unsafe impl StackedAdaptor for Hooking {}

/// Runs a program whose backend allocates from the same allocator, in the middle of each growth.
fn allocate_in_the_middle<B: HostBackend<Context = Hooking>>() {
    let hook = Rc::new(RefCell::new(None::<Hook>));
    let ledger = Ledger::new();
    let context = Hooking { ledger: ledger.clone(), hook: hook.clone() };
    // The hook is `'static`, and so are its captures: leaked until the end of the test.
    let pool = Box::into_raw(Box::new(Pool::<B>::new(context)));
    // SAFETY: just made, and used through this reference alone.
    let scope = Box::into_raw(Box::new(unsafe { &mut *pool }.scope()));
    // SAFETY: as above.
    let memory = Box::into_raw(Box::new(unsafe { &*scope }.allocator()));
    // SAFETY: it is dropped after its last use, below.
    let memory_of_test = unsafe { &*memory };
    // SAFETY: as above.
    let scope_of_test = unsafe { &*scope };
    fill_in_the_middle(memory_of_test, scope_of_test, &hook, &ledger);
    // SAFETY: the hook is removed, and nothing else refers to the allocator.
    drop(unsafe { Box::from_raw(memory) });
    // SAFETY: the allocator is dropped.
    drop(unsafe { Box::from_raw(scope) });
    // SAFETY: the scope is dropped.
    drop(unsafe { Box::from_raw(pool) });
}

fn fill_in_the_middle<B: HostBackend>(
    memory: &'static ScopeAllocator<'static, B>,
    scope: &Scope<'_, B>,
    hook: &RefCell<Option<Hook>>,
    ledger: &Ledger,
) {
    let pieces = Rc::new(RefCell::new(Vec::new()));
    let inner = pieces.clone();
    let layout = Layout::from_size_align(24, 8).unwrap();
    *hook.borrow_mut() = Some(Rc::new(move || {
        let mut pieces = inner.borrow_mut();
        let stamp = u8::try_from(pieces.len() % 250).unwrap();
        if let Ok(allocated) = memory.allocate(layout) {
            pieces.push(Piece::new(allocated, layout, stamp));
        }
        assert!(memory.allocate(Layout::from_size_align(1 << 24, 8).unwrap()).is_err());
        assert!(matches!(memory.take_refusal(), Some(PoolError::Reentered)));
    }));
    for alone in [true, false] {
        let mut numbers = ScopeVec::new_in(memory);
        let mut beside = ScopeVec::new_in(memory);
        for number in 0..rounds(5000, 150) as u64 {
            // Three words, so that a chunk is not full when it becomes too small.
            numbers.push([number; 3]);
            if !alone && number % 3 == 0 {
                beside.push(number);
            }
        }
        let long = "x".repeat(rounds(3000, 500));
        let text = PoolString::from_str_in(&long, memory);
        assert!(numbers.iter().map(|number| number[2]).eq(0..numbers.len() as u64));
        assert!(beside.iter().enumerate().all(|(index, &number)| number == 3 * index as u64));
        assert_eq!(*text, *long);
        scope.trim();
        for piece in &*pieces.borrow() {
            let block = ledger.block_of(piece.start.addr().get());
            assert!(block.is_some(), "an allocation is not in a block of the pool any more");
            piece.check(24);
        }
    }
    assert!(!pieces.borrow().is_empty(), "some fit the chunk that there is");
    *hook.borrow_mut() = None;
}

#[test]
fn foreign_code_may_allocate_in_the_middle_of_a_growth() {
    allocate_in_the_middle::<AdaptedBackend<Hooking>>();
    allocate_in_the_middle::<pool_core::Stacked<AdaptedBackend<Hooking>>>();
}
