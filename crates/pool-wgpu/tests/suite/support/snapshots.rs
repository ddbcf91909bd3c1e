//! The contents of views at the time of the request, gathered on the device, and read back in one
//! piece: one wait for thousands of views.

use std::cell::{Cell, OnceCell, RefCell};
use std::rc::Rc;

use pool_core::{DynamicPool, Handle, LendView, PoolView, PoolViewMut};
use pool_wgpu::{BufferView, BufferViewMut, Stream, Wgpu};

/// Bytes that are gathered before they are read.
const BYTES: usize = 1 << 18;

/// Copies of what views held.
pub(crate) struct Snapshots {
    pool: RefCell<DynamicPool<Wgpu>>,
    /// The target of the next copies.
    current: RefCell<Option<Rc<Gathered>>>,
}

/// A block of copies.
struct Gathered {
    copies: Handle<u8>,
    used: Cell<usize>,
    /// The contents that were read back; afterwards nothing is added.
    found: OnceCell<Vec<u8>>,
}

impl Snapshots {
    pub(crate) fn new(stream: Stream) -> Rc<Self> {
        Rc::new(Self { pool: RefCell::new(DynamicPool::new(stream)), current: RefCell::default() })
    }

    /// Copies the bytes of a view; the result waits for them.
    pub(crate) fn take(
        self: &Rc<Self>,
        view: BufferView<'_, u8>,
    ) -> impl FnOnce() -> Vec<u8> + use<> {
        let count = view.len();
        let gathered = self.with_room(count);
        let start = gathered.used.get();
        gathered.used.set((start + count).next_multiple_of(4));
        copy(view, start, self.pool.borrow_mut().get_mut(gathered.copies).unwrap());
        let all = Rc::clone(self);
        move || all.found(&gathered)[start..start + count].to_vec()
    }

    /// Returns the block with room for `count` more bytes.
    fn with_room(&self, count: usize) -> Rc<Gathered> {
        let mut current = self.current.borrow_mut();
        let is_open = |gathered: &&Rc<Gathered>| {
            gathered.found.get().is_none() && gathered.used.get() + count <= BYTES
        };
        if let Some(gathered) = current.as_ref().filter(is_open) {
            return Rc::clone(gathered);
        }
        let mut pool = self.pool.borrow_mut();
        // If nothing waits for the last block's copies, the block is used again.
        if current.as_ref().is_some_and(|gathered| Rc::strong_count(gathered) == 1) {
            pool.reset();
        }
        let copies = pool.acquire::<u8>(BYTES.max(count.next_multiple_of(4)));
        let gathered = Gathered { copies, used: Cell::new(0), found: OnceCell::new() };
        Rc::clone(current.insert(Rc::new(gathered)))
    }

    fn found<'g>(&self, gathered: &'g Gathered) -> &'g [u8] {
        gathered.found.get_or_init(|| {
            let pool = self.pool.borrow();
            let copies = pool.get(gathered.copies).unwrap();
            copies.part(..gathered.used.get()).unwrap().copy_to_vec().unwrap()
        })
    }
}

/// Copies a view to a place of another one.
fn copy(view: BufferView<'_, u8>, start: usize, mut copies: BufferViewMut<'_, u8>) {
    let mut to = copies.part_mut(start..start + view.len()).unwrap();
    to.copy_from(view).unwrap();
}
