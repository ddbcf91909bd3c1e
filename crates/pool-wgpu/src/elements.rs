//! Lists the optional wgpu features that some element types require in WGSL.

use std::any::{TypeId, type_name};

use pool_core::Element;

use crate::error::WgpuError;

/// Checks that a device with these features can compute with elements of type `T`.
///
/// # Errors
///
/// Returns [`WgpuError::MissingFeature`] if the device lacks a feature that `T` requires.
pub(crate) fn check<T: Element>(features: wgpu::Features) -> Result<(), WgpuError> {
    let Some((feature, name)) = feature_of::<T>() else { return Ok(()) };
    if features.contains(feature) {
        return Ok(());
    }
    Err(WgpuError::MissingFeature { element: type_name::<T>(), feature: name })
}

fn feature_of<T: Element>() -> Option<(wgpu::Features, &'static str)> {
    let element = TypeId::of::<T>();
    let is_one_of = |types: &[TypeId]| types.contains(&element);
    if is_one_of(&[TypeId::of::<f64>()]) {
        return Some((wgpu::Features::SHADER_F64, "SHADER_F64"));
    }
    if is_one_of(&[TypeId::of::<i64>(), TypeId::of::<u64>()]) {
        return Some((wgpu::Features::SHADER_INT64, "SHADER_INT64"));
    }
    if is_one_of(&[TypeId::of::<i16>(), TypeId::of::<u16>()]) {
        return Some((wgpu::Features::SHADER_I16, "SHADER_I16"));
    }
    #[cfg(feature = "half")]
    if is_one_of(&[TypeId::of::<pool_core::half::f16>()]) {
        return Some((wgpu::Features::SHADER_F16, "SHADER_F16"));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::error::WgpuError;

    #[test]
    fn a_missing_feature_is_named() {
        let none = wgpu::Features::empty();
        let missing = Err(WgpuError::MissingFeature { element: "f64", feature: "SHADER_F64" });
        assert_eq!(check::<f64>(none), missing);
        assert_eq!(check::<f64>(wgpu::Features::SHADER_F64), Ok(()));
        assert_eq!(check::<f32>(none), Ok(()));
    }
}
