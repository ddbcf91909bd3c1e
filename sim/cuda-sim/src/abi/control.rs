//! The calls by which a test controls the simulator and reads its findings.
//!
//! Their names start with `simcuda_`, a prefix that no NVIDIA driver uses. A program recognises the
//! simulator by the first of these calls.

use super::foreign::{Out, Text};
use super::session::{lock, real_host};
use crate::code::Code;
use crate::world::{HostCall, Settings};

macro_rules! control_calls {
    ($($(#[$about:meta])* fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $answer:ty $body:block)*) => {
        /// The calls of this file.
        pub(super) const CALLS: &[crate::abi::entry::Entry] =
            &[$(crate::abi::entry::Entry::new(stringify!($name), $name as *const ())),*];
        $(
            $(#[$about])*
            // SAFETY: no other library defines a function of this name.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) -> $answer $body
        )*
    };
}

/// Option bits for starting the simulator.
const NO_PEERS: u32 = 1;
const OTHER_ANSWERS: u32 = 2;
const PRINT_REPORTS: u32 = 4;

control_calls! {
    /// Identifies the library as this simulator.
    fn simcuda_is_simulator() -> u32 { 1 }

    /// Returns 1 if the simulator models the named call, otherwise 0.
    fn simcuda_models(name: Text) -> u32 {
        u32::from(name.get().is_ok_and(|name| super::calls::is_modelled(&name)))
    }

    /// Restarts the simulator: all earlier handles and addresses become invalid. Returns 0 and
    /// changes nothing while a host function runs.
    fn simcuda_reset(
        seed: u64,
        devices: u32,
        bytes: u64,
        driver_version: u32,
        options: u32,
        instructions: u64,
    ) -> u32 {
        let devices = usize::try_from(devices).unwrap_or(usize::MAX);
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        let driver_version = i32::try_from(driver_version).unwrap_or(i32::MAX);
        let (peers, other_answers) = (options & NO_PEERS == 0, options & OTHER_ANSWERS != 0);
        let prints_reports = options & PRINT_REPORTS != 0;
        let settings = Settings {
            seed,
            devices,
            bytes,
            driver_version,
            peers,
            other_answers,
            instructions,
            prints_reports,
        };
        let mut world = lock();
        let Some(next) = world.next(settings, real_host()) else {
            return 0;
        };
        *world = next;
        super::environment::forget_refusal();
        1
    }

    /// Sets whether a background thread runs all work that is ready, without waiting for a call
    /// that forces the work. Returns 0 if the thread cannot be started.
    fn simcuda_background(wanted: u32) -> u32 { u32::from(super::background::set(wanted != 0)) }

    /// Makes the n-th call from now fail. An empty name matches any call.
    fn simcuda_fail(name: Text, nth: u64, code: u32) -> u32 {
        let Ok(name) = name.get() else { return 0 };
        lock().log.fail(&name, nth, Code(code));
        1
    }

    /// Registers a function that is called with `data` before the n-th call of the given name,
    /// counted from now.
    fn simcuda_before(name: Text, nth: u64, function: u64, data: u64) -> u32 {
        let Ok(name) = name.get() else { return 0 };
        super::hook::add(name, nth, HostCall::of(function, data));
        1
    }

    /// Returns how many calls of the given name were made. An empty name matches any call.
    fn simcuda_calls(name: Text) -> u64 {
        name.get().map_or(0, |name| lock().log.count(&name))
    }

    /// Clears the selected lists: reports (1), logged calls (2) and planned failures (4).
    fn simcuda_forget(topics: u32) -> u32 {
        let mut world = lock();
        if topics & 1 != 0 {
            world.reports.clear();
        }
        if topics & 2 != 0 {
            world.log.forget_calls();
        }
        if topics & 4 != 0 {
            world.log.forget_faults();
        }
        1
    }

    /// Copies lines of text, up to `capacity` bytes, and returns the length of the whole text.
    /// Topics: 0 reports, 1 leaks, 2 calls with their codes, 3 executed operations in order.
    fn simcuda_read(topic: u32, place: Out<u8>, capacity: usize) -> usize {
        let world = lock();
        let text = match topic {
            0 => world.reports.text(),
            1 => world.leaks(),
            2 => world.log.calls(),
            3 => world.log.trace(),
            _ => String::new(),
        };
        for (index, byte) in text.bytes().enumerate().take(capacity) {
            if place.put_at(index, byte).is_err() {
                break;
            }
        }
        text.len()
    }
}
