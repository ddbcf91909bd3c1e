//! Turns: state that one thread at a time takes out of a mutex, works with while the mutex is open, and gives back.
//!
//! Work with the state runs code of others (wgpu's callbacks, error handlers, the closure of a user), which may come
//! back: no lock is held then, so that it is answered instead of deadlocked.

use std::ptr;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::WgpuError;

/// State that is used in turns, and notes that anybody may leave for whoever has the next turn.
#[derive(Debug)]
pub(crate) struct Turns<S> {
    place: Mutex<Place<S>>,
    given_back: Condvar,
}

#[derive(Debug)]
struct Place<S> {
    /// The state; `None` while a thread has the turn.
    state: Option<Box<S>>,
    /// Which thread has the turn.
    owner: usize,
    /// How many threads wait for a turn.
    waiting: usize,
    /// What was noted since the last turn began.
    notes: Vec<u64>,
}

impl<S> Turns<S> {
    /// State that nobody uses.
    pub(crate) fn new(state: S) -> Self {
        let place = Place { state: Some(Box::new(state)), owner: 0, waiting: 0, notes: Vec::new() };
        Self { place: Mutex::new(place), given_back: Condvar::new() }
    }

    /// Leaves a note for the next turn. Whoever has a turn does not see it, and is not waited for.
    pub(crate) fn note(&self, note: u64) {
        self.place().notes.push(note);
    }

    /// Runs code with the state and the notes that were left, once no other thread has the turn.
    ///
    /// # Errors
    ///
    /// [`WgpuError::Reentered`] where this thread has the turn already.
    #[inline]
    pub(crate) fn take<R>(&self, code: impl FnOnce(&mut S, Vec<u64>) -> R) -> Result<R, WgpuError> {
        let here = current_thread();
        let mut place = self.place();
        while place.state.is_none() {
            if place.owner == here {
                return Err(WgpuError::Reentered);
            }
            place.waiting += 1;
            place = self.given_back.wait(place).unwrap_or_else(PoisonError::into_inner);
            place.waiting -= 1;
        }
        self.run(place, here, code)
    }

    /// As [`take`](Self::take), where no thread has the turn; else nothing is done.
    pub(crate) fn take_if_free(&self, code: impl FnOnce(&mut S, Vec<u64>)) {
        let place = self.place();
        if place.state.is_some() {
            let _ = self.run(place, current_thread(), code);
        }
    }

    #[inline]
    fn run<R>(
        &self,
        mut place: MutexGuard<'_, Place<S>>,
        here: usize,
        code: impl FnOnce(&mut S, Vec<u64>) -> R,
    ) -> Result<R, WgpuError> {
        place.owner = here;
        let notes = std::mem::take(&mut place.notes);
        let mut turn = Turn { turns: self, state: place.state.take() };
        drop(place);
        let state = turn.state.as_deref_mut().ok_or(WgpuError::Reentered)?;
        Ok(code(state, notes))
    }

    /// Takes the state away for good; `None` while a thread has the turn.
    pub(crate) fn end(&self) -> Option<Box<S>> {
        self.place().state.take()
    }

    fn place(&self) -> MutexGuard<'_, Place<S>> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The state while a thread has it. It is given back also where the thread's code panics.
struct Turn<'a, S> {
    turns: &'a Turns<S>,
    state: Option<Box<S>>,
}

impl<S> Drop for Turn<'_, S> {
    fn drop(&mut self) {
        let mut place = self.turns.place();
        place.state = self.state.take();
        place.owner = 0;
        let is_awaited = place.waiting > 0;
        drop(place);
        if is_awaited {
            self.turns.given_back.notify_one();
        }
    }
}

/// What tells this thread from every other that lives: the address of something of its own.
fn current_thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| ptr::from_ref(here).addr())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::Arc;
    use std::thread;

    use super::Turns;
    use crate::error::WgpuError;

    #[test]
    fn a_turn_within_a_turn_is_an_error_and_notes_wait() {
        let turns = Turns::new(1);
        let answer = turns.take(|state, notes| {
            *state += 1;
            turns.note(7);
            turns.take_if_free(|_, _| panic!("the turn is taken"));
            (notes, turns.take(|_, _| ()))
        });
        assert_eq!(answer.unwrap(), (vec![], Err(WgpuError::Reentered)));
        assert_eq!(turns.take(|state, notes| (*state, notes)).unwrap(), (2, vec![7]));
    }

    #[test]
    fn a_panic_gives_the_turn_back() {
        let turns = Turns::new(());
        let panicked = catch_unwind(AssertUnwindSafe(|| turns.take(|_, _| panic!("in a turn"))));
        assert!(panicked.is_err());
        assert!(turns.take(|_, _| ()).is_ok());
    }

    #[test]
    fn other_threads_wait_for_their_turn() {
        let turns = Arc::new(Turns::new(0_u32));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let turns = Arc::clone(&turns);
                thread::spawn(move || {
                    for _ in 0..1_000 {
                        turns.take(|state, _| *state += 1).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(turns.take(|state, _| *state).unwrap(), 4_000);
    }
}
