//! The bound that a single-threaded type would need to be `Send` or `Sync`. No type meets it, and
//! the compiler's message explains why. Without this bound, the error would be about a pointer in a
//! private type.

/// Not implemented for any type, which makes [`Scope`](crate::Scope) neither [`Send`] nor [`Sync`].
#[diagnostic::on_unimplemented(
    message = "a scope can be used only on the thread that owns its pool",
    label = "a scope, or a vector of a scope, is sent to another thread here",
    note = "open a scope on the other thread: with `with_pool!`, with `local()`, or in a `Pool` that is moved there",
    note = "to work on one array in several threads, acquire it here, and give each thread a part of the slice"
)]
pub trait ScopeMayLeaveItsThread {}
