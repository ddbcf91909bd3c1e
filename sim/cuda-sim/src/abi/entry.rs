//! Calls by name and version: what a driver of one version of CUDA has, and in which form.

use super::foreign::{Out, Text};
use crate::world::Code;

/// A call that the library exports, under the name that it has there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    name: &'static str,
    address: *const (),
}

/// Calls that came after CUDA 12.0, by the names that the library exports: the versions are those of
/// `cudaTypedefs.h`.
const NEWER: &[(&str, i32)] = &[
    ("cuCtxCreate_v4", 12_050),
    ("cuCtxSetFlags", 12_010),
    ("cuEventElapsedTime_v2", 12_080),
    ("cuGraphAddDependencies_v2", 12_030),
    ("cuGraphAddNode_v2", 12_030),
    ("cuGraphGetEdges_v2", 12_030),
    ("cuGraphNodeGetDependencies_v2", 12_030),
    ("cuGraphRemoveDependencies_v2", 12_030),
    ("cuMemAdvise_v2", 12_020),
    ("cuMemPrefetchAsync_v2", 12_020),
    ("cuStreamBeginCaptureToGraph", 12_030),
    ("cuStreamGetCaptureInfo_v3", 12_030),
    ("cuStreamUpdateCaptureDependencies_v2", 12_030),
];

/// `CUdriverProcAddressQueryResult`.
const FOUND: u32 = 0;
const NOT_FOUND: u32 = 1;
const NEWER_VERSION_NEEDED: u32 = 2;

impl Entry {
    pub(super) const fn new(name: &'static str, address: *const ()) -> Self {
        Self { name, address }
    }

    pub(super) fn name(&self) -> &'static str {
        self.name
    }

    pub(super) fn address(&self) -> *const () {
        self.address
    }

    /// Whether it is a form of this call: `cuMemAlloc_v2` is one of `cuMemAlloc`.
    fn is_form_of(&self, symbol: &str) -> bool {
        let Some(rest) = self.name.strip_prefix(symbol) else { return false };
        let number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_digit());
        rest.is_empty() || rest.strip_prefix("_v").is_some_and(number)
    }
}

/// The oldest version that has a call; all supported ones have those of 12.0.
pub(super) fn since(name: &str) -> i32 {
    NEWER.iter().find(|(newer, _)| *newer == name).map_or(12_000, |(_, since)| *since)
}

driver_calls! {
    fn cuGetProcAddress_v2(
        symbol: Text,
        place: Out<*const ()>,
        version: i32,
        flags: u64,
        status: Out<u32>,
    ) |session| {
        let symbol = symbol.get()?;
        if place.is_null() || flags > 2 {
            return Err(Code::INVALID_VALUE);
        }
        if version > session.driver_version {
            return Err(Code::NOT_SUPPORTED);
        }
        let forms = || super::calls().filter(|call| call.is_form_of(&symbol));
        let newest = forms()
            .filter(|call| since(call.name) <= version)
            .max_by_key(|call| (since(call.name), call.name));
        status.put_if_wanted(match newest {
            Some(_) => FOUND,
            None if forms().next().is_some() => NEWER_VERSION_NEEDED,
            None => NOT_FOUND,
        });
        place.put(newest.map_or(std::ptr::null(), |call| call.address))
    }
}

#[cfg(test)]
mod tests {
    use super::{Entry, NEWER};

    #[test]
    fn forms_of_a_call_are_numbered() {
        let form = |name, symbol| Entry::new(name, std::ptr::null()).is_form_of(symbol);
        assert!(form("cuMemAlloc_v2", "cuMemAlloc") && form("cuMemFree_v2", "cuMemFree_v2"));
        assert!(!form("cuMemAllocAsync", "cuMemAlloc") && !form("cuMemAlloc", "cuMemAlloc_v2"));
    }

    #[test]
    fn versions_are_those_of_the_bindings() {
        for (name, since) in NEWER {
            assert!((12_001..=13_000).contains(since) && since % 10 == 0, "{name}");
        }
    }
}
