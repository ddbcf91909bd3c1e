//! Prefix sums, whose temporaries come from the pool.

use pool_core::{Pool, PoolView, Scope};
use pool_kernels::wgsl::{
    PREFIX_SUM_BLOCK, PREFIX_SUM_BLOCKS, PREFIX_SUM_OFFSETS, PrefixSumParameters,
    workgroups_over_blocks,
};
use pool_wgpu::{BufferViewMut, Wgpu};

use crate::bounds::{Sum, assert_within, numbers};
use crate::device::{Compiled, stream};

/// Counts around a block of 256, around a block of blocks, and with more blocks than workgroups.
const COUNTS: [u32; 14] =
    [1, 2, 63, 64, 65, 255, 256, 257, 1_000, 65_535, 65_536, 65_537, 262_145, 300_000];

struct PrefixSum {
    blocks: Compiled,
    offsets: Compiled,
}

impl PrefixSum {
    /// Computes the prefix sums in place. Returns the number of levels of blocks.
    fn form(
        &self,
        scope: &Scope<'_, Wgpu>,
        elements: &mut BufferViewMut<'_, f32>,
        workgroups: &dyn Fn(u32) -> [u32; 3],
    ) -> u32 {
        let count = u32::try_from(elements.len()).unwrap();
        let blocks = count.div_ceil(PREFIX_SUM_BLOCK);
        let parameters = PrefixSumParameters { count };
        let mut totals = scope.acquire::<f32, _>(blocks as usize);
        let bindings = [elements.binding_mut().unwrap(), totals.binding_mut().unwrap()];
        self.blocks.dispatch(&bindings, &parameters, workgroups(count));
        if blocks == 1 {
            return 1;
        }
        let levels = 1 + self.form(scope, &mut totals, workgroups);
        let bindings = [elements.binding_mut().unwrap(), totals.binding().unwrap()];
        self.offsets.dispatch(&bindings, &parameters, workgroups(count));
        levels
    }
}

#[test]
fn prefix_sum() {
    let Some((stream, _quiet)) = stream() else { return };
    let prefix_sum = PrefixSum {
        blocks: Compiled::new(&stream, &PREFIX_SUM_BLOCKS),
        offsets: Compiled::new(&stream, &PREFIX_SUM_OFFSETS),
    };
    let mut pool = Pool::<Wgpu>::new(stream);
    for count in COUNTS {
        let numbers = numbers(count as usize, 11);
        let grids: [&dyn Fn(u32) -> [u32; 3]; 2] = [&workgroups_over_blocks, &|_| [3, 1, 1]];
        for grid in grids {
            let scope = pool.scope();
            let mut elements = scope.acquire_from(&numbers);
            let levels = prefix_sum.form(&scope, &mut elements, grid);
            // A term is added in each of the eight steps of a block, on each level, and to the sum
            // of the earlier blocks on each level but the topmost.
            let roundings = 8 * levels + (levels - 1);
            let mut sum = Sum::default();
            let expected = numbers.iter().map(|number| {
                sum.add(f64::from(*number));
                sum.rounded(roundings)
            });
            let what = format!("prefix sum of {count} by {:?}", grid(count));
            assert_within(&what, &elements.copy_to_vec().unwrap(), expected);
        }
    }
}
