//! In steady state a pool takes nothing from the heap. A counting allocator checks this for each
//! kind of acquire and scope, over a thousand passes and more.

mod arrays;
mod collections;
mod counting;
mod dynamic_pool;
mod scopes;
mod steady;
mod threads;
