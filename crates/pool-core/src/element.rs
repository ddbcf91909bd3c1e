//! What may live in a pool: plain data. [`PodElement`] may be handed out with the contents that a
//! former use left behind; [`Element`] adds types such as `bool`, for which not every byte pattern
//! is a value and whose memory is therefore zeroed or written first.

use bytemuck::{NoUninit, Pod, Zeroable};

/// Plain data that a pool hands out zeroed, filled, copied or written.
///
/// Implemented for every type that is [`bytemuck::Zeroable`] and [`bytemuck::NoUninit`]: the
/// integers and floats, `bool`, `char`, arrays of elements, `f16` and `bf16` (feature `half`),
/// complex numbers (feature `complex`), and your own types that derive the two.
///
/// ```
/// #[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::NoUninit)]
/// #[repr(C)]
/// struct Cell {
///     alive: bool,
///     age: u8,
/// }
/// fn is_element<T: pool_core::Element>() {}
/// is_element::<Cell>();
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not plain data, so it cannot live in a pool",
    label = "not an element",
    note = "for your own type, derive it: `#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::NoUninit)] #[repr(C)]`",
    note = "an array is one for the lengths that bytemuck knows: up to 32, and powers of two",
    note = "a type with pointers, `Drop` or padding cannot be an element: keep it in a `Vec`"
)]
pub trait Element: NoUninit + Zeroable {}

#[diagnostic::do_not_recommend]
impl<T: NoUninit + Zeroable> Element for T {}

/// An [`Element`] for which every byte pattern is a value, so that a pool may hand it out with
/// recycled contents.
///
/// Implemented for every type that is [`bytemuck::Pod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be handed out with recycled contents: not every byte pattern is a value of it",
    label = "not a pod element",
    note = "for your own type, derive it: `#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)] #[repr(C)]`",
    note = "for `bool`, `char` and the like use `acquire_zeroed`, `acquire_filled`, `acquire_from` or `acquire_with`"
)]
pub trait PodElement: Element + Pod {}

#[diagnostic::do_not_recommend]
impl<T: Pod> PodElement for T {}
