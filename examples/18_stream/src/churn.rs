//! A second thread that keeps the allocator busy. While frames are processed, it allocates, writes
//! and frees blocks of 16 bytes to 4 MiB in any order, and holds several dozen at a time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};

use fastrand::Rng;

/// The number of blocks held at the same time.
const HELD: usize = 48;
/// The size of a page in bytes. The thread writes to every page.
const PAGE: usize = 4_096;

const WAITING: u8 = 0;
const WORKING: u8 = 1;
const ENDING: u8 = 2;

/// The thread, which ends when this value is dropped.
#[derive(Debug)]
pub(crate) struct Churn {
    state: Arc<AtomicU8>,
    thread: Option<JoinHandle<()>>,
}

impl Churn {
    /// Starts the thread, which waits at first.
    pub(crate) fn new() -> Self {
        let state = Arc::new(AtomicU8::new(WAITING));
        let own = Arc::clone(&state);
        Self { state, thread: Some(thread::spawn(move || run(&own))) }
    }

    /// Lets the thread work or makes it wait.
    pub(crate) fn set(&self, is_working: bool) {
        self.tell(if is_working { WORKING } else { WAITING });
    }

    fn tell(&self, state: u8) {
        self.state.store(state, Ordering::Release);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        self.tell(ENDING);
        // The thread panics only if memory runs out, and that has already aborted the process.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

fn run(state: &AtomicU8) {
    let mut random = Rng::with_seed(25);
    let mut held: [Vec<u8>; HELD] = [const { Vec::new() }; HELD];
    loop {
        match state.load(Ordering::Acquire) {
            WAITING => thread::park(),
            WORKING => step(&mut random, &mut held),
            _ => return,
        }
    }
}

fn step(random: &mut Rng, held: &mut [Vec<u8>; HELD]) {
    let length = (16 << random.u32(..19)) * random.usize(4..8) / 8;
    let mut block = vec![0; length];
    for byte in block.iter_mut().step_by(PAGE) {
        *byte = random.u8(..);
    }
    held[random.usize(..HELD)] = std::hint::black_box(block);
}
