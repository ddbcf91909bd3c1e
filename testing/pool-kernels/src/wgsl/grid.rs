//! Numbers of workgroups by size.

/// The invocations of a workgroup of the kernels over single elements.
const ELEMENTS: u32 = 64;
/// The rows and columns of a workgroup of the kernels over planes.
const SIDE: u32 = 8;
/// The limit of workgroups along an axis. Every device supports it, and the kernels loop until all
/// is done.
const AT_MOST: u32 = 1024;

/// Returns the workgroups for `count` elements.
#[must_use]
pub const fn workgroups_over_elements(count: u32) -> [u32; 3] {
    [workgroups(count, ELEMENTS), 1, 1]
}

/// Returns the workgroups for a plane of `width` columns and `height` rows.
#[must_use]
pub const fn workgroups_over_plane(width: u32, height: u32) -> [u32; 3] {
    [workgroups(width, SIDE), workgroups(height, SIDE), 1]
}

/// Returns at least one, and at most [`AT_MOST`].
pub(super) const fn workgroups(count: u32, of_each: u32) -> u32 {
    match count.div_ceil(of_each) {
        0 => 1,
        needed if needed > AT_MOST => AT_MOST,
        needed => needed,
    }
}

#[cfg(test)]
mod tests {
    use super::{workgroups_over_elements, workgroups_over_plane};

    #[test]
    fn there_is_always_a_workgroup_and_never_too_many() {
        for count in [0, 1, 64] {
            assert_eq!(workgroups_over_elements(count), [1, 1, 1]);
        }
        assert_eq!(workgroups_over_elements(65), [2, 1, 1]);
        assert_eq!(workgroups_over_elements(u32::MAX), [1024, 1, 1]);
        assert_eq!(workgroups_over_plane(9, 8), [2, 1, 1]);
        assert_eq!(workgroups_over_plane(0, u32::MAX), [1, 1024, 1]);
    }
}
