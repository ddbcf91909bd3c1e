//! The driver library that cudarc loads: whether it exists, its file and its exports.

use std::ffi::{CString, c_char, c_void};
use std::ops::Range;
use std::path::PathBuf;
use std::sync::OnceLock;

use cudarc::driver::sys;

/// Returns `true` if a driver library can be loaded. The result is determined once.
pub(super) fn is_present() -> bool {
    static PRESENT: OnceLock<bool> = OnceLock::new();
    *PRESENT.get_or_init(|| {
        // SAFETY: the call loads libraries with the names of NVIDIA's driver, and unloads them.
        // Only their initialisers could be unsound, and running them is the purpose of this crate.
        unsafe { sys::is_culib_present() }
    })
}

/// The simulated driver's own function, which reports whether a call is modelled.
type Models = unsafe extern "C" fn(*const c_char) -> u32;

/// Returns `true` if the driver exports this call and, if the driver is the simulator, also models
/// it. Returns `false` if there is no driver.
#[must_use]
pub fn has(name: &str) -> bool {
    exports(name) && simulator_models(name)
}

fn exports(name: &str) -> bool {
    address_of(name).is_some()
}

/// Returns the address of a symbol in the driver.
fn address_of(name: &str) -> Option<u64> {
    if !is_present() {
        return None;
    }
    // SAFETY: the check above found a library, so this call does not panic.
    // The library's initialisers have already run.
    let library = unsafe { sys::culib() };
    // SAFETY: the type is a pointer, as which any symbol may be read.
    // This function never dereferences or calls it.
    let symbol = unsafe { library.get::<*const c_void>(name.as_bytes()) };
    symbol.ok().map(|symbol| symbol.addr() as u64)
}

/// Returns `true` if the simulator models the call. Returns `true` for a real driver, which refuses
/// no call by its name.
fn simulator_models(name: &str) -> bool {
    static MODELS: OnceLock<Option<Models>> = OnceLock::new();
    let models = MODELS.get_or_init(|| {
        // SAFETY: `exports` has checked that a library can be loaded.
        let library = unsafe { sys::culib() };
        // SAFETY: only the simulated driver exports this symbol, and declares it with this type.
        let found = unsafe { library.get::<Models>(b"simcuda_models") };
        found.ok().map(|symbol| *symbol)
    });
    let (Some(models), Ok(name)) = (models, CString::new(name)) else { return true };
    // SAFETY: the text ends with a zero byte and outlives the call.
    // The library is never closed.
    unsafe { models(name.as_ptr()) != 0 }
}

/// Returns the file from which the driver was loaded, with links resolved. Returns `None` if no
/// driver is loaded or if the system does not list mappings.
#[must_use]
pub fn loaded_file() -> Option<PathBuf> {
    let address = address_of("cuInit")?;
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    file_at(&maps, address)
}

/// Returns the file that is mapped at an address, whatever its name is.
fn file_at(maps: &str, address: u64) -> Option<PathBuf> {
    let holds = |line: &&str| range(line).is_some_and(|range| range.contains(&address));
    let line = maps.lines().find(holds)?;
    line.find('/').map(|start| PathBuf::from(line[start..].trim_end()))
}

/// Parses an address range such as `7f02-7f03` at the beginning of a line.
fn range(line: &str) -> Option<Range<u64>> {
    let (first, end) = line.split_once(' ')?.0.split_once('-')?;
    Some(u64::from_str_radix(first, 16).ok()?..u64::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::file_at;

    #[test]
    fn the_driver_is_found_by_its_address() {
        let maps = "\
7f00-7f01 r--p 00000000 08:01 11    /usr/lib/libcudart.so.13
7f01-7f02 rw-p 00000000 00:00 0
7f02-7f03 r-xp 00000000 08:01 12    /usr/lib/with space/libcuda.so.580.1
7f03-7f04 r-xp 00000000 08:01 13    /opt/plain.so
";
        let driver = Path::new("/usr/lib/with space/libcuda.so.580.1");
        assert_eq!(file_at(maps, 0x7f02).unwrap(), driver);
        assert_eq!(file_at(maps, 0x7f03).unwrap(), Path::new("/opt/plain.so"));
        assert_eq!(file_at(maps, 0x7f01), None);
        assert_eq!(file_at(maps, 0x7f04), None);
    }
}
