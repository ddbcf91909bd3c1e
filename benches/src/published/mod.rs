//! The published algorithm of the Julia package AdaptiveArrayPools, ported without changes: the
//! reference for the pool's scopes.
//!
//! Each element type has a stack of vectors with a counter of those in use. A full checkpoint pushes (counter, depth)
//! for every type, and a rewind pops them; the typed variant does so for given types. Types that are not built in are
//! in a map. The package records in a bit mask which types helpers acquire. The mask is omitted here in the package's
//! favour. So are its caches of views, which a slice does not need.
//!
//! The algorithm is unsound when an inner scope acquires a type that only the outer one tracks. The
//! workloads do not, and only they use this module.

mod typed;

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::fmt;

use num_complex::Complex;

pub use typed::TypedPool;

/// The pool: one stack for each built-in type and a map of the others.
#[derive(Debug, Default)]
pub struct AdaptivePool {
    pub(crate) f64s: TypedPool<f64>,
    pub(crate) f32s: TypedPool<f32>,
    pub(crate) i64s: TypedPool<i64>,
    pub(crate) i32s: TypedPool<i32>,
    pub(crate) c64s: TypedPool<Complex<f64>>,
    pub(crate) c32s: TypedPool<Complex<f32>>,
    /// In place of the package's stack of `Bool`.
    pub(crate) u8s: TypedPool<u8>,
    others: HashMap<TypeId, Box<dyn OtherPool>>,
    depth: usize,
}

/// An element type, and its stack in the pool.
pub trait Stacked: Clone + Default + fmt::Debug + 'static {
    /// Returns the stack of this type; `None` if it is not built in.
    fn published(pool: &mut AdaptivePool) -> Option<&mut TypedPool<Self>>;
}

/// A stack of a type that is not built in.
trait OtherPool: Any + fmt::Debug {
    fn checkpoint(&mut self, depth: usize);
    fn rewind(&mut self, depth: usize);
    fn as_any(&mut self) -> &mut dyn Any;
}

impl<T: Stacked> OtherPool for TypedPool<T> {
    fn checkpoint(&mut self, depth: usize) {
        TypedPool::checkpoint(self, depth);
    }

    fn rewind(&mut self, depth: usize) {
        TypedPool::rewind(self, depth);
    }

    fn as_any(&mut self) -> &mut dyn Any {
        self
    }
}

impl AdaptivePool {
    /// Makes a full checkpoint: saves every type's counter.
    #[inline]
    pub fn checkpoint(&mut self) {
        self.depth += 1;
        let depth = self.depth;
        self.f64s.checkpoint(depth);
        self.f32s.checkpoint(depth);
        self.i64s.checkpoint(depth);
        self.i32s.checkpoint(depth);
        self.c64s.checkpoint(depth);
        self.c32s.checkpoint(depth);
        self.u8s.checkpoint(depth);
        for other in self.others.values_mut() {
            other.checkpoint(depth);
        }
    }

    /// Makes a full rewind: restores every type's counter.
    #[inline]
    pub fn rewind(&mut self) {
        let depth = self.depth;
        self.f64s.rewind(depth);
        self.f32s.rewind(depth);
        self.i64s.rewind(depth);
        self.i32s.rewind(depth);
        self.c64s.rewind(depth);
        self.c32s.rewind(depth);
        self.u8s.rewind(depth);
        for other in self.others.values_mut() {
            other.rewind(depth);
        }
        self.depth -= 1;
    }

    /// Makes a typed checkpoint: saves the counters of the listed types.
    #[inline]
    pub fn checkpoint_typed<L: TypeList>(&mut self) {
        self.depth += 1;
        L::checkpoint(self, self.depth);
    }

    /// Makes a typed rewind.
    #[inline]
    pub fn rewind_typed<L: TypeList>(&mut self) {
        L::rewind(self, self.depth);
        self.depth -= 1;
    }

    /// Returns the next vector of the type, with at least `length` elements.
    #[inline]
    pub fn acquire<T: Stacked>(&mut self, length: usize) -> &mut [T] {
        self.of_type::<T>().acquire(length)
    }

    #[inline]
    fn of_type<T: Stacked>(&mut self) -> &mut TypedPool<T> {
        // Twice, because a borrow that is returned from one arm would last through the other.
        if T::published(self).is_some() {
            let Some(stack) = T::published(self) else { unreachable!("it was there") };
            return stack;
        }
        let depth = self.depth;
        let other = self.others.entry(TypeId::of::<T>()).or_insert_with(|| {
            let mut made = TypedPool::<T>::default();
            // Same as in the package, for a type that first occurs inside of a scope.
            if depth > 0 {
                made.checkpoint(depth);
            }
            Box::new(made)
        });
        let Some(stack) = other.as_any().downcast_mut() else {
            unreachable!("the key is the type")
        };
        stack
    }

    /// Returns the bytes that all vectors hold.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.f64s.bytes()
            + self.f32s.bytes()
            + self.i64s.bytes()
            + self.i32s.bytes()
            + self.c64s.bytes()
            + self.c32s.bytes()
            + self.u8s.bytes()
    }

    /// Returns the number of vectors that were made or grown.
    #[must_use]
    pub fn growths(&self) -> u64 {
        self.f64s.growths()
            + self.f32s.growths()
            + self.i64s.growths()
            + self.i32s.growths()
            + self.c64s.growths()
            + self.c32s.growths()
            + self.u8s.growths()
    }
}

/// The types that a typed checkpoint saves.
pub trait TypeList: 'static {
    /// Saves them.
    fn checkpoint(pool: &mut AdaptivePool, depth: usize);

    /// Restores them.
    fn rewind(pool: &mut AdaptivePool, depth: usize);
}

macro_rules! type_lists {
    ($(($($element:ident),+);)+) => {$(
        impl<$($element: Stacked),+> TypeList for ($($element,)+) {
            #[inline]
            fn checkpoint(pool: &mut AdaptivePool, depth: usize) {
                $(pool.of_type::<$element>().checkpoint(depth);)+
            }

            #[inline]
            fn rewind(pool: &mut AdaptivePool, depth: usize) {
                $(pool.of_type::<$element>().rewind(depth);)+
            }
        }
    )+};
}

type_lists! {
    (A);
    (A, B, C);
    (A, B, C, D, E, F, G);
}

#[cfg(test)]
mod tests {
    use super::AdaptivePool;

    #[test]
    fn a_scope_gives_back_what_it_took() {
        let mut pool = AdaptivePool::default();
        pool.checkpoint();
        let outer = pool.acquire::<f64>(10).as_ptr();
        let other = pool.acquire::<u16>(10).as_ptr();
        pool.checkpoint();
        let inner = pool.acquire::<f64>(10).as_ptr();
        assert_ne!(outer, inner);
        pool.rewind();
        assert_eq!(pool.acquire::<f64>(10).as_ptr(), inner);
        pool.rewind();
        pool.checkpoint_typed::<(f64,)>();
        assert_eq!(pool.acquire::<f64>(5).as_ptr(), outer);
        pool.rewind_typed::<(f64,)>();
        pool.checkpoint();
        assert_eq!(pool.acquire::<u16>(10).as_ptr(), other);
    }

    #[test]
    fn growing_counts() {
        let mut pool = AdaptivePool::default();
        for length in [100, 50, 200] {
            pool.checkpoint();
            assert_eq!(pool.acquire::<f32>(length).len(), length);
            pool.rewind();
        }
        assert_eq!(pool.growths(), 2);
        assert!(pool.bytes() >= 800);
    }
}
