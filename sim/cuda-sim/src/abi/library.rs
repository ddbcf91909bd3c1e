//! Libraries and their kernels, which belong to no context.

use super::foreign::{In, Out, Text};
use crate::code::{Code, Outcome};

/// `CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE`.
const TABLE_OF_THE_HOST: u32 = 0;
/// `CU_LIBRARY_BINARY_IS_PRESERVED`: a promise of the caller that the simulator does not need.
const PRESERVED: u32 = 1;

fn check(options: &[u32]) -> Outcome<()> {
    for option in options {
        match *option {
            TABLE_OF_THE_HOST => {
                return Err(crate::code::unmodelled(
                    "libraries with a table of the host's functions",
                ));
            }
            PRESERVED => {}
            _ => return Err(Code::INVALID_VALUE),
        }
    }
    Ok(())
}

driver_calls! {
    fn cuLibraryLoadData(
        place: Out<u64>,
        image: Text,
        _compiling: In<u32>,
        _compiling_values: In<u64>,
        _compiling_count: u32,
        options: In<u32>,
        _values: In<u64>,
        count: u32,
    ) |session| {
        if place.is_null() || image.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        check(&options.array(count as usize)?)?;
        // Machine code is not text.
        let text = image.get().map_err(|_| Code::INVALID_IMAGE)?;
        place.put(session.load_library(&text)?)
    }

    fn cuLibraryLoadFromFile(
        place: Out<u64>,
        path: Text,
        _compiling: In<u32>,
        _compiling_values: In<u64>,
        _compiling_count: u32,
        options: In<u32>,
        _values: In<u64>,
        count: u32,
    ) |session| {
        if place.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        check(&options.array(count as usize)?)?;
        let text = std::fs::read_to_string(path.get()?).map_err(|_| Code::FILE_NOT_FOUND)?;
        place.put(session.load_library(&text)?)
    }

    fn cuLibraryUnload(library: u64) |session| {
        for device in session.devices_of_library(library)? {
            let goal = session.end_of_device(device);
            session.reach(goal)?;
        }
        session.unload_library(library)
    }

    fn cuLibraryGetKernel(place: Out<u64>, library: u64, name: Text) |session| {
        place.put(session.kernel_of_library(library, &name.get()?)?)
    }

    fn cuLibraryGetKernelCount(place: Out<u32>, library: u64) |session| {
        let count = session.kernels_of_library(library)?.len();
        place.put(u32::try_from(count).map_err(|_| Code::UNKNOWN)?)
    }

    fn cuLibraryEnumerateKernels(place: Out<u64>, count: u32, library: u64) |session| {
        let kernels = session.kernels_of_library(library)?;
        let mut wanted = kernels.iter().take(count as usize).enumerate();
        wanted.try_for_each(|(index, kernel)| place.put_at(index, *kernel))
    }

    fn cuLibraryGetModule(place: Out<u64>, library: u64) |session| {
        let thread = session.thread;
        place.put(session.module_of_library(thread, library)?)
    }

    fn cuLibraryGetGlobal(
        place: Out<u64>,
        bytes: Out<usize>,
        library: u64,
        name: Text,
    ) |session| {
        let thread = session.thread;
        let module = session.module_of_library(thread, library)?;
        let (address, size) = session.variable_of(module, &name.get()?)?;
        place.put_if_wanted(address);
        bytes.put_if_wanted(size);
        Ok(())
    }

    fn cuKernelGetFunction(place: Out<u64>, kernel: u64) |session| {
        // A launch accepts both, but a function is not a kernel of a library.
        session.library_of_kernel(kernel)?;
        let thread = session.thread;
        place.put(session.function_to_launch(thread, kernel)?)
    }

    fn cuKernelGetLibrary(place: Out<u64>, kernel: u64) |session| {
        place.put(session.library_of_kernel(kernel)?)
    }

    fn cuKernelGetAttribute(
        place: Out<i32>,
        attribute: u32,
        kernel: u64,
        device: i32,
    ) |session| {
        let function = session.function_on(kernel, device)?;
        place.put(session.function_attribute(function, attribute)?)
    }

    fn cuKernelSetAttribute(attribute: u32, value: i32, kernel: u64, device: i32) |session| {
        let function = session.function_on(kernel, device)?;
        session.set_function_attribute(function, attribute, value)
    }

    fn cuKernelSetCacheConfig(kernel: u64, config: u32, device: i32) |session| {
        session.function_on(kernel, device)?;
        if config > 3 { Err(Code::INVALID_VALUE) } else { Ok(()) }
    }
}
