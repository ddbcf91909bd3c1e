//! The calls by which a test controls the simulator and asks what it found.
//!
//! Their names start with `simcuda_`: no driver of NVIDIA has them, and by the first of them the
//! simulator gives itself away.

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
            // SAFETY: no other library has calls of this name.
            #[unsafe(no_mangle)]
            extern "C" fn $name($($argument: $type),*) -> $answer $body
        )*
    };
}

/// Options of a start.
const NO_PEERS: u32 = 1;
const OTHER_ANSWERS: u32 = 2;
const PRINT_REPORTS: u32 = 4;

control_calls! {
    /// This is the simulator.
    fn simcuda_is_simulator() -> u32 { 1 }

    /// Whether a call of this name is more than a refusal.
    fn simcuda_models(name: Text) -> u32 {
        u32::from(name.get().is_ok_and(|name| super::calls::is_modelled(&name)))
    }

    /// Starts anew: handles and addresses of before are good no more. 0 while a host function runs.
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

    /// Whether a thread runs what can run, without being forced. 0 where there can be none.
    fn simcuda_background(wanted: u32) -> u32 { u32::from(super::background::set(wanted != 0)) }

    /// Lets the n-th call from now fail; an empty name is any call.
    fn simcuda_fail(name: Text, nth: u64, code: u32) -> u32 {
        let Ok(name) = name.get() else { return 0 };
        lock().log.fail(&name, nth, Code(code));
        1
    }

    /// Calls a function with this before the n-th call of a name from now.
    fn simcuda_before(name: Text, nth: u64, function: u64, data: u64) -> u32 {
        let Ok(name) = name.get() else { return 0 };
        super::hook::add(name, nth, HostCall::of(function, data));
        1
    }

    /// How often a call was made; an empty name is any call.
    fn simcuda_calls(name: Text) -> u64 {
        name.get().map_or(0, |name| lock().log.count(&name))
    }

    /// Forgets what was reported (1), which calls were made (2), what is to fail (4).
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

    /// Copies lines of text, as many bytes as there is room for, and answers how many there are:
    /// 0 reports, 1 what was not given back, 2 calls with their codes, 3 what ran, in order.
    fn simcuda_read(topic: u32, place: Out<u8>, room: usize) -> usize {
        let world = lock();
        let text = match topic {
            0 => world.reports.text(),
            1 => world.leaks(),
            2 => world.log.calls(),
            3 => world.log.trace(),
            _ => String::new(),
        };
        for (index, byte) in text.bytes().enumerate().take(room) {
            if place.put_at(index, byte).is_err() {
                break;
            }
        }
        text.len()
    }
}
