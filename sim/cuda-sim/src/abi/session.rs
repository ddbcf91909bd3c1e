//! One call from entry to return: it is counted, fails if a test planned that, and runs under the
//! lock.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError, TryLockError};
use std::time::Duration;

use super::environment;
use super::faults::plan_faults;
use super::hook;
use super::host::{self, Host};
use super::versions;
use crate::code::{Code, Outcome};
use crate::world::{Goal, HostCall, Step, World};

/// How long a query waits for a host function that it has started.
const HOST_FUNCTION: Duration = Duration::from_millis(20);

/// The single simulated driver of a process.
struct Driver {
    world: Mutex<World>,
    /// Signals that a host function has returned.
    returned: Condvar,
}

/// A call in progress. It holds the lock except while it calls the host.
pub(super) struct Session {
    world: Option<MutexGuard<'static, World>>,
    /// The thread that makes the call.
    pub(super) thread: u64,
    /// The devices on which the call has waited for work or enqueued work.
    concerned: Vec<usize>,
}

thread_local! {
    static THREAD: Cell<u64> = const { Cell::new(0) };
    static IN_HOST_FUNCTION: Cell<bool> = const { Cell::new(false) };
}

fn driver() -> &'static Driver {
    static DRIVER: OnceLock<Driver> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let settings = environment::settings();
        let mut world = World::new(settings.of_world(), real_host());
        plan_faults(&mut world, &settings.faults);
        Driver { world: Mutex::new(world), returned: Condvar::new() }
    })
}

pub(super) fn real_host() -> Box<Host> {
    // SAFETY: the world is only called through the C interface.
    Box::new(unsafe { Host::new() })
}

/// Takes the lock, for functions that are not calls of the driver.
pub(super) fn lock() -> MutexGuard<'static, World> {
    driver().world.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns the lock if it is free.
pub(super) fn try_lock()
-> Result<MutexGuard<'static, World>, TryLockError<MutexGuard<'static, World>>> {
    driver().world.try_lock()
}

/// Runs a call of the driver.
pub(super) fn call(name: &'static str, body: impl FnOnce(&mut Session) -> Outcome<()>) -> u32 {
    hook::before(name);
    let mut session = Session::with(lock());
    let permitted =
        if IN_HOST_FUNCTION.get() { Err(Code::NOT_PERMITTED) } else { has(&session, name) };
    let counted = session.log.enter(name);
    let outcome = permitted.and(counted).and_then(|()| body(&mut session));
    session.show_printed_by(name);
    let code = outcome.err().unwrap_or(Code::SUCCESS);
    session.log.leave(name, code);
    drop(session);
    host::write_printed();
    code.0
}

/// Returns `true` for calls at which CUDA shows kernel output of the devices concerned. These are
/// calls that wait, copies that wait, calls about modules, and launches. A launch shows the output
/// without running earlier work first.
fn shows_printed(name: &str) -> bool {
    name.ends_with("Synchronize")
        || (name.starts_with("cuMemcpy") && !name.contains("Async"))
        || name.starts_with("cuLaunchKernel")
        || name.starts_with("cuGraphLaunch")
        || name.starts_with("cuModuleLoad")
        || name.starts_with("cuModuleUnload")
}

/// Returns `true` for calls that show the output of all devices. Library calls do, because a
/// library is loaded as a module on each device.
fn shows_all_printed(name: &str) -> bool {
    name.starts_with("cuLibraryLoad") || name.starts_with("cuLibraryUnload")
}

/// Refuses a call that the simulated driver version lacks, and prints a message.
fn has(session: &Session, name: &str) -> Outcome<()> {
    let (since, version) = (versions::since(name), session.driver_version);
    if since <= version {
        return Ok(());
    }
    eprintln!("a driver of CUDA {version} does not have {name}, which came with {since}");
    Err(Code::NOT_FOUND)
}

fn this_thread() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if THREAD.get() == 0 {
        THREAD.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    THREAD.get()
}

impl Session {
    /// Starts a session for work that no call has requested.
    pub(super) fn of_the_device() -> Self {
        Self::with(lock())
    }

    pub(super) fn with(world: MutexGuard<'static, World>) -> Self {
        Self { world: Some(world), thread: this_thread(), concerned: Vec::new() }
    }

    /// Records that the call concerns a device other than the current context's device.
    pub(super) fn concerns(&mut self, device: usize) {
        self.concerned.push(device);
    }

    fn show_printed_by(&mut self, name: &str) {
        if shows_all_printed(name) {
            return self.show_all_printed();
        }
        if !shows_printed(name) {
            return;
        }
        let concerned = std::mem::take(&mut self.concerned);
        if concerned.is_empty() {
            let thread = self.thread;
            self.show_printed_of(thread);
        }
        concerned.into_iter().for_each(|device| self.show_printed(device));
    }

    /// Runs one unit of work, including work of the host.
    pub(super) fn step_once(&mut self, goal: &mut Goal) -> Step {
        let step = self.step(goal);
        if let Step::Call(stream, call) = step {
            self.call_host(stream, call);
        }
        step
    }

    /// Runs the work that the goal requires, and other work chosen by the seed, until the goal has
    /// been reached.
    pub(super) fn reach(&mut self, mut goal: Goal) -> Outcome<()> {
        loop {
            match self.step(&mut goal) {
                Step::Done => {
                    let devices = self.devices_of(&goal);
                    self.concerned.extend(devices);
                    return self.waited(&goal);
                }
                Step::Ran => {}
                Step::Call(stream, call) => self.call_host(stream, call),
                Step::Busy => self.wait_for_another_thread(),
            }
        }
    }

    /// Returns `true` if the goal has been reached; otherwise runs one step towards the goal. Host
    /// functions run on a thread of the driver, because they may wait for the calling thread.
    pub(super) fn ask(&mut self, mut goal: Goal) -> Outcome<()> {
        let (answer, step) = World::ask(self, &mut goal);
        if let Some(Step::Call(stream, call)) = step {
            self.call_host_elsewhere(stream, call);
        }
        answer
    }

    /// The call continues when the function returns or a time limit expires. If no function waits,
    /// a seed therefore always produces the same order.
    fn call_host_elsewhere(&mut self, stream: usize, call: HostCall) {
        let work = move || Self::of_the_device().call_host(stream, call);
        let name = "cuda-sim host function".to_owned();
        if std::thread::Builder::new().name(name).spawn(work).is_err() {
            // If no thread can be started, the current thread runs the function.
            return self.call_host(stream, call);
        }
        if let Some(world) = self.world.take() {
            let is_busy = |world: &mut World| world.is_in_host_function(stream);
            let waited = driver().returned.wait_timeout_while(world, HOST_FUNCTION, is_busy);
            self.world = Some(waited.unwrap_or_else(PoisonError::into_inner).0);
        }
    }

    /// Calls the function without holding the lock. The function must not call the driver.
    fn call_host(&mut self, stream: usize, call: HostCall) {
        if call.stream.is_some() {
            self.show_printed_before_callback(stream);
        }
        self.world = None;
        host::write_printed();
        IN_HOST_FUNCTION.set(true);
        host::call(call);
        IN_HOST_FUNCTION.set(false);
        self.world = Some(lock());
        self.host_call_returned(stream);
        driver().returned.notify_all();
    }

    fn wait_for_another_thread(&mut self) {
        if let Some(world) = self.world.take() {
            let world = driver().returned.wait(world).unwrap_or_else(PoisonError::into_inner);
            self.world = Some(world);
        }
    }
}

impl Deref for Session {
    type Target = World;

    #[expect(clippy::expect_used, reason = "the lock is released only during calls to the host")]
    fn deref(&self) -> &World {
        self.world.as_deref().expect("a call holds the lock")
    }
}

impl DerefMut for Session {
    #[expect(clippy::expect_used, reason = "the lock is released only during calls to the host")]
    fn deref_mut(&mut self) -> &mut World {
        self.world.as_deref_mut().expect("a call holds the lock")
    }
}
