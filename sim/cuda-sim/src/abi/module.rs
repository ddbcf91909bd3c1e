//! Modules and their kernels.

use super::foreign::{Out, Text};
use super::session::Session;
use crate::code::{Code, Outcome};

fn load(session: &mut Session, place: Out<u64>, image: &Text) -> Outcome<()> {
    if place.is_null() || image.is_null() {
        return Err(Code::INVALID_VALUE);
    }
    let thread = session.thread;
    session.current(thread)?;
    // Machine code is not text.
    let text = image.get().map_err(|_| Code::INVALID_IMAGE)?;
    place.put(session.load_module(thread, &text)?)
}

driver_calls! {
    fn cuModuleLoadData(place: Out<u64>, image: Text) |session| { load(session, place, &image) }

    fn cuModuleLoadDataEx(
        place: Out<u64>,
        image: Text,
        _count: u32,
        _options: Out<u32>,
        _values: Out<u64>,
    ) |session| {
        // Options only concern compilation. A report describes the error in a module.
        load(session, place, &image)
    }

    fn cuModuleLoad(place: Out<u64>, path: Text) |session| {
        let thread = session.thread;
        session.current(thread)?;
        let text = std::fs::read_to_string(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        place.put(session.load_module(thread, &text)?)
    }

    fn cuModuleUnload(module: u64) |session| {
        let device = session.device_of_module(module)?;
        let goal = session.end_of_device(device);
        session.reach(goal)?;
        session.unload_module(module)
    }

    fn cuModuleGetFunction(place: Out<u64>, module: u64, name: Text) |session| {
        place.put(session.function_of(module, &name.get()?)?)
    }

    fn cuModuleGetGlobal_v2(
        place: Out<u64>,
        bytes: Out<usize>,
        module: u64,
        name: Text,
    ) |session| {
        let (address, size) = session.variable_of(module, &name.get()?)?;
        place.put_if_wanted(address);
        bytes.put_if_wanted(size);
        Ok(())
    }

    fn cuFuncGetAttribute(place: Out<i32>, attribute: u32, function: u64) |session| {
        place.put(session.function_attribute(function, attribute)?)
    }

    fn cuFuncSetAttribute(function: u64, attribute: u32, value: i32) |session| {
        session.set_function_attribute(function, attribute, value)
    }

    fn cuFuncSetCacheConfig(function: u64, config: u32) |session| {
        session.function(function)?;
        if config > 3 { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        place: Out<i32>,
        function: u64,
        threads: i32,
        shared: usize,
    ) |session| {
        let thread = session.thread;
        let function = session.function_to_launch(thread, function)?;
        place.put(session.occupancy(function, threads, shared)?)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        place: Out<i32>,
        function: u64,
        threads: i32,
        shared: usize,
        flags: u32,
    ) |session| {
        // `CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE` only concerns caches.
        if flags > 1 {
            return Err(Code::INVALID_VALUE);
        }
        let thread = session.thread;
        let function = session.function_to_launch(thread, function)?;
        place.put(session.occupancy(function, threads, shared)?)
    }
}
