//! Defines the element types of tensors and the DLPack data types that represent them.

use dlpark::ffi::{DLDataType, DLDataTypeCode};
use pool_core::Element;

/// An element type that corresponds to a DLPack data type. This trait is sealed.
///
/// The trait is implemented for `bool`, `f32`, `f64`, and all integer types from 8 to 64 bits wide.
/// The `half` feature adds `f16` and `bf16`, and the `complex` feature adds complex numbers. `bool`
/// tensors cannot be imported, because another library might have written bytes other than 0 and 1.
pub trait TensorElement: Element + sealed::Sealed {
    /// The element's DLPack data type, in native byte order and with one lane.
    const DATA_TYPE: DLDataType;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! elements {
    ($($element:ty: $code:ident;)*) => {$(
        impl sealed::Sealed for $element {}

        impl TensorElement for $element {
            const DATA_TYPE: DLDataType = data_type::<$element>(DLDataTypeCode::$code);
        }
    )*};
}

/// Returns the data type with one lane and the size of `T`.
const fn data_type<T>(code: DLDataTypeCode) -> DLDataType {
    assert!(size_of::<T>() <= 16);
    #[expect(clippy::cast_possible_truncation, reason = "at most 128")]
    DLDataType::scalar(code, (size_of::<T>() * 8) as u8)
}

elements! {
    i8: INT;
    i16: INT;
    i32: INT;
    i64: INT;
    u8: UINT;
    u16: UINT;
    u32: UINT;
    u64: UINT;
    f32: FLOAT;
    f64: FLOAT;
    bool: BOOL;
}

#[cfg(feature = "half")]
elements! {
    pool_core::half::f16: FLOAT;
    pool_core::half::bf16: BFLOAT;
}

#[cfg(feature = "complex")]
elements! {
    pool_core::num_complex::Complex<f32>: COMPLEX;
    pool_core::num_complex::Complex<f64>: COMPLEX;
}

/// Returns a DLPack data type's name. If numpy supports the type, the name matches numpy's name for
/// it.
pub(crate) fn name_of(data_type: DLDataType) -> String {
    let DLDataType { code, bits, lanes } = data_type;
    let kind = match code {
        DLDataTypeCode::INT => "int",
        DLDataTypeCode::UINT => "uint",
        DLDataTypeCode::FLOAT => "float",
        DLDataTypeCode::BFLOAT => "bfloat",
        DLDataTypeCode::COMPLEX => "complex",
        DLDataTypeCode::BOOL => "bool",
        DLDataTypeCode(other) => return format!("type {other} of {bits} bits, {lanes} lanes"),
    };
    if lanes == 1 { format!("{kind}{bits}") } else { format!("{kind}{bits}x{lanes}") }
}
