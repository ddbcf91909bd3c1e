//! Values with `Drop`, and collections over the allocator of a scope.

use pool_facade::prelude::*;

use crate::steady::never_allocates;

#[test]
fn boxes_and_slices_of_boxes() {
    struct Guard(u64);
    impl Drop for Guard {
        fn drop(&mut self) {
            assert!(self.0 < 100);
        }
    }
    let mut pool = Pool::<Cpu>::default();
    never_allocates(|| {
        let scope = pool.scope();
        let one = scope.boxed(Guard(3));
        let more = scope.boxed_slice(10, |number| Guard(number as u64));
        assert_eq!(one.0 + more[9].0, 12);
    });
}

#[cfg(feature = "allocator-api2")]
mod over_the_allocator {
    use std::fmt::Write;

    use hashbrown::{DefaultHashBuilder, HashMap, HashSet};
    use pool_facade::allocator_api2::boxed::Box;
    use pool_facade::allocator_api2::vec::Vec;
    use pool_facade::{HostBackend, Stacked};

    use super::*;

    /// A map of strings to vectors, a set of boxes, and a vector that grows beside them.
    fn collect<B: HostBackend>(scope: &Scope<'_, B>) -> usize {
        let memory = scope.allocator();
        let hasher = DefaultHashBuilder::default;
        let mut lines = HashMap::with_hasher_in(hasher(), &memory);
        let mut set = HashSet::with_hasher_in(hasher(), &memory);
        let mut all = Vec::new_in(&memory);
        for number in 0..60_usize {
            let mut word = PoolString::new_in(&memory);
            assert!(write!(word, "word {}", number % 7).is_ok());
            lines.entry(word).or_insert_with(|| Vec::new_in(&memory)).push(number);
            set.insert(Box::new_in(number % 11, &memory));
            all.push(number);
        }
        lines["word 3"].len() + set.len() + all.len()
    }

    #[test]
    fn collections_in_slots() {
        let mut pool = Pool::<Cpu>::default();
        never_allocates(|| assert_eq!(collect(&pool.scope()), 9 + 11 + 60));
    }

    #[test]
    fn collections_in_a_stack() {
        let mut pool = Pool::<Stacked<Cpu>>::default();
        never_allocates(|| assert_eq!(collect(&pool.scope()), 9 + 11 + 60));
    }
}
