//! Defines the element types, which are the plain data types that a pool can store. An array of a
//! [`PodElement`] type can be handed out with contents from an earlier use. The [`Element`] trait
//! also covers types such as `bool`, for which some byte patterns are invalid. If a type has
//! invalid byte patterns, the memory is zeroed or written before it is handed out.

use bytemuck::{NoUninit, Pod, Zeroable};

/// A plain data type whose values a pool can hand out after it has zeroed, filled, or written their
/// memory.
///
/// `Element` is implemented for every type that is [`bytemuck::Zeroable`] and
/// [`bytemuck::NoUninit`]. These types include integers, floats, `bool`, `char`, arrays of
/// elements, `f16` and `bf16` (with the `half` feature), and complex numbers (with the `complex`
/// feature). To use your own type as an element, derive `Zeroable` and `NoUninit` for the type.
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
    message = "`{Self}` is not plain data, which this acquire requires",
    label = "not an element",
    note = "for your own type, derive it: `#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::NoUninit)] #[repr(C)]`",
    note = "for a tuple of one type use an array, `[u32; 2]` for `(u32, u32)`; an array is an element for the lengths that bytemuck knows: up to 32, and powers of two",
    note = "for any other type that is `Copy` (tuples, `Option`, references, pointers, padding) host scopes have `acquire_with`: `acquire_with(n, |_| value)` repeats, `acquire_with(s.len(), |i| s[i])` copies",
    note = "a type with `Drop`, such as `String` or `Vec`, needs an owner: use `boxed`, `boxed_slice` or a collection over `Scope::allocator`, on the host"
)]
pub trait Element: NoUninit + Zeroable {}

#[diagnostic::do_not_recommend]
impl<T: NoUninit + Zeroable> Element for T {}

/// An [`Element`] type for which every byte pattern is a valid value. A pool may hand out elements
/// of this type with recycled contents.
///
/// `PodElement` is implemented for every type that is [`bytemuck::Pod`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be handed out with recycled contents, which may be any bytes",
    label = "not a pod element",
    note = "for your own type of which every byte pattern is a value, derive it: `#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)] #[repr(C)]`",
    note = "for `bool`, `char` and the like use `acquire_zeroed`, `acquire_filled`, `acquire_from` or `acquire_with`",
    note = "for a tuple of one type use an array, `[u32; 2]` for `(u32, u32)`",
    note = "for any other type that is `Copy` (tuples, `Option`, references, pointers, padding) host scopes have `acquire_with`: `acquire_with(n, |_| value)` repeats, `acquire_with(s.len(), |i| s[i])` copies",
    note = "a type with `Drop`, such as `String` or `Vec`, needs an owner: use `boxed`, `boxed_slice` or a collection over `Scope::allocator`, on the host"
)]
pub trait PodElement: Element + Pod {}

#[diagnostic::do_not_recommend]
impl<T: Pod> PodElement for T {}

/// An element type accepted by the host backends' acquire methods, which write each element before
/// it can be read.
///
/// `HostElement` is implemented for every [`Copy`] type. If a type is not `Copy`, the compiler's
/// error message names the alternatives.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not `Copy`, and a pool never drops an element",
    label = "not `Copy`",
    note = "for your own type without `Drop`, derive it: `#[derive(Clone, Copy)]`",
    note = "a type with `Drop`, such as `String`, `Vec` or `Box`, needs an owner: use `boxed`, `boxed_slice` or a collection over `Scope::allocator`"
)]
pub trait HostElement: Copy {}

#[diagnostic::do_not_recommend]
impl<T: Copy> HostElement for T {}
