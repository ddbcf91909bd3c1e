//! Defines a trait that single-threaded types use as a bound in their `Send` and `Sync`
//! implementations. No type implements the trait. The trait's custom error message explains how to
//! use a scope's memory on another thread. Without the trait, the compiler's error message would
//! mention a pointer in a private type.

/// A trait that prevents [`Scope`](crate::Scope) from being [`Send`] or [`Sync`], because no type
/// implements the trait.
#[diagnostic::on_unimplemented(
    message = "a scope can be used only on the thread that owns its pool",
    label = "a scope, or a vector of a scope, is sent to another thread here",
    note = "open a scope on the other thread: with `with_pool!`, with `local()`, or in a `Pool` that is moved there",
    note = "to work on one array in several threads, acquire it here, and give each thread a part of the slice"
)]
pub trait ScopeMayLeaveItsThread {}
