//! Implements state that several threads use, one at a time. A thread moves the state out of a
//! mutex, uses it while the mutex is unlocked, and then moves it back.
//!
//! While a thread uses the state, user code such as wgpu's callbacks, error handlers, and log
//! subscribers may run. User code can call methods of this stream or another stream, so no mutex
//! may be locked while user code runs. A thread that is using one stream's state never waits for
//! another stream's state. Otherwise, two threads could wait for each other forever.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::error::WgpuError;

/// State that only one thread uses at a time, and the notes that other threads leave for the
/// state's next user.
#[derive(Debug)]
pub(crate) struct ExclusiveState<S> {
    guarded: Mutex<Guarded<S>>,
    given_back: Condvar,
}

#[derive(Debug)]
struct Guarded<S> {
    /// The state, or `None` while a thread is using it.
    state: Option<Box<S>>,
    /// The threads that must not use the state because they are running a user's closure.
    barred: Vec<u64>,
    /// The number of threads that are waiting for the state.
    waiting: usize,
    /// The notes that threads have left since the state was last in use.
    notes: Vec<u64>,
}

thread_local! {
    /// The number of states that the current thread is using, across all streams.
    static STATES_IN_USE: Cell<usize> = const { Cell::new(0) };
}

impl<S> ExclusiveState<S> {
    /// Creates a value whose state no thread is using yet.
    pub(crate) fn new(state: S) -> Self {
        let state = Some(Box::new(state));
        let guarded = Guarded { state, barred: Vec::new(), waiting: 0, notes: Vec::new() };
        Self { guarded: Mutex::new(guarded), given_back: Condvar::new() }
    }

    /// Leaves a note for the next thread that uses the state. This method does not wait for the
    /// thread that is currently using the state.
    pub(crate) fn note(&self, note: u64) {
        self.guarded().notes.push(note);
    }

    /// Waits until no other thread is using the state, and then runs `code` with the state and the
    /// notes.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::Reentered`] if this thread is [barred](Self::bar). The method also
    /// returns this error if this thread is already using a state, because it would otherwise have
    /// to wait.
    #[inline]
    pub(crate) fn take<R>(&self, code: impl FnOnce(&mut S, Vec<u64>) -> R) -> Result<R, WgpuError> {
        let mut guarded = self.guarded();
        if !guarded.barred.is_empty() && guarded.barred.contains(&current_thread()) {
            return Err(WgpuError::Reentered);
        }
        while guarded.state.is_none() {
            if STATES_IN_USE.get() > 0 {
                return Err(WgpuError::Reentered);
            }
            guarded.waiting += 1;
            guarded = self.given_back.wait(guarded).unwrap_or_else(PoisonError::into_inner);
            guarded.waiting -= 1;
        }
        self.run(guarded, code)
    }

    /// Does the same as [`take`](Self::take), but only if no thread is using the state. Otherwise,
    /// this method does nothing.
    pub(crate) fn take_if_free(&self, code: impl FnOnce(&mut S, Vec<u64>)) {
        let guarded = self.guarded();
        if guarded.state.is_some() {
            let _ = self.run(guarded, code);
        }
    }

    /// Prevents the calling thread from using the state until the returned value is dropped. Other
    /// threads can still use the state.
    ///
    /// # Errors
    ///
    /// Returns [`WgpuError::Reentered`] if the calling thread is already barred.
    pub(crate) fn bar(&self) -> Result<Barred<'_, S>, WgpuError> {
        let thread = current_thread();
        let mut guarded = self.guarded();
        if guarded.barred.contains(&thread) {
            return Err(WgpuError::Reentered);
        }
        guarded.barred.push(thread);
        Ok(Barred { exclusive: self, thread })
    }

    #[inline]
    fn run<R>(
        &self,
        mut guarded: MutexGuard<'_, Guarded<S>>,
        code: impl FnOnce(&mut S, Vec<u64>) -> R,
    ) -> Result<R, WgpuError> {
        let notes = std::mem::take(&mut guarded.notes);
        STATES_IN_USE.set(STATES_IN_USE.get() + 1);
        let mut guard = StateGuard { exclusive: self, state: guarded.state.take() };
        drop(guarded);
        let state = guard.state.as_deref_mut().ok_or(WgpuError::Reentered)?;
        Ok(code(state, notes))
    }

    /// Takes the state permanently. Returns `None` if a thread is using the state.
    pub(crate) fn end(&self) -> Option<Box<S>> {
        self.guarded().state.take()
    }

    fn guarded(&self) -> MutexGuard<'_, Guarded<S>> {
        self.guarded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Holds the state while the current thread is using it. Dropping this value returns the state to
/// its mutex, even if the thread's code panics.
struct StateGuard<'a, S> {
    exclusive: &'a ExclusiveState<S>,
    state: Option<Box<S>>,
}

impl<S> Drop for StateGuard<'_, S> {
    fn drop(&mut self) {
        STATES_IN_USE.set(STATES_IN_USE.get() - 1);
        let mut guarded = self.exclusive.guarded();
        guarded.state = self.state.take();
        let is_awaited = guarded.waiting > 0;
        drop(guarded);
        if is_awaited {
            self.exclusive.given_back.notify_one();
        }
    }
}

/// Represents a thread that [`ExclusiveState::bar`] prevents from using the state.
#[derive(Debug)]
pub(crate) struct Barred<'a, S> {
    exclusive: &'a ExclusiveState<S>,
    thread: u64,
}

impl<S> Drop for Barred<'_, S> {
    fn drop(&mut self) {
        self.exclusive.guarded().barred.retain(|thread| *thread != self.thread);
    }
}

/// Returns a number that identifies the calling thread. The ID of a thread that has ended is never
/// reused.
#[inline]
pub(crate) fn current_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    thread_local! {
        static HERE: Cell<u64> = const { Cell::new(0) };
    }
    if HERE.get() == 0 {
        HERE.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    HERE.get()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::{Arc, Barrier};
    use std::thread;

    use super::ExclusiveState;
    use crate::error::WgpuError;

    #[test]
    fn a_use_within_a_use_is_an_error_and_notes_wait() {
        let exclusive = ExclusiveState::new(1);
        let answer = exclusive.take(|state, notes| {
            *state += 1;
            exclusive.note(7);
            exclusive.take_if_free(|_, _| panic!("the state is in use"));
            (notes, exclusive.take(|_, _| ()))
        });
        assert_eq!(answer.unwrap(), (vec![], Err(WgpuError::Reentered)));
        assert_eq!(exclusive.take(|state, notes| (*state, notes)).unwrap(), (2, vec![7]));
    }

    #[test]
    fn a_panic_gives_the_state_back() {
        let exclusive = ExclusiveState::new(());
        let panicked =
            catch_unwind(AssertUnwindSafe(|| exclusive.take(|_, _| panic!("panic during a use"))));
        assert!(panicked.is_err());
        assert!(exclusive.take(|_, _| ()).is_ok());
    }

    #[test]
    fn other_threads_wait_for_the_state() {
        let exclusive = Arc::new(ExclusiveState::new(0_u32));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let exclusive = Arc::clone(&exclusive);
                thread::spawn(move || {
                    for _ in 0..1_000 {
                        exclusive.take(|state, _| *state += 1).unwrap();
                    }
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(exclusive.take(|state, _| *state).unwrap(), 4_000);
    }

    #[test]
    fn a_barred_thread_may_not_use_the_state_and_others_may() {
        let exclusive = ExclusiveState::new(0);
        let barred = exclusive.bar().unwrap();
        assert_eq!(exclusive.bar().err(), Some(WgpuError::Reentered));
        assert_eq!(exclusive.take(|_, _| ()), Err(WgpuError::Reentered));
        thread::scope(|scope| {
            scope.spawn(|| exclusive.take(|state, _| *state += 1)).join().unwrap()
        })
        .unwrap();
        drop(barred);
        assert_eq!(exclusive.take(|state, _| *state), Ok(1));
    }

    #[test]
    fn threads_that_use_one_state_and_request_the_other_do_not_wait() {
        let (one, two, both) = (ExclusiveState::new(()), ExclusiveState::new(()), Barrier::new(2));
        let crossed = |own: &ExclusiveState<()>, other: &ExclusiveState<()>| {
            own.take(|(), _| {
                both.wait();
                let answer = other.take(|(), _| ());
                both.wait();
                answer
            })
        };
        let answers = thread::scope(|scope| {
            let first = scope.spawn(|| crossed(&one, &two));
            let second = scope.spawn(|| crossed(&two, &one));
            [first.join().unwrap(), second.join().unwrap()]
        });
        assert_eq!(answers, [Ok(Err(WgpuError::Reentered)), Ok(Err(WgpuError::Reentered))]);
        assert_eq!(
            one.take(|(), _| two.take(|(), _| ())),
            Ok(Ok(())),
            "free exclusive can be nested"
        );
    }
}
