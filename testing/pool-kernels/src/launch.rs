//! Launch configurations: grids and blocks for a shape.
//!
//! Kernels loop until all elements are done, under any grid, so a grid affects speed alone.

/// The blocks, and the threads of each, as (x, y, z).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The number of blocks.
    pub grid: (u32, u32, u32),
    /// The number of threads of each block.
    pub block: (u32, u32, u32),
}

/// The threads of a one-dimensional block.
const BLOCK: u32 = 256;
/// The limit of blocks in a grid: some for each multiprocessor of the largest devices.
const GRID_AT_MOST: u32 = 1024;
/// The minimum of threads that share a row: those of a warp.
const WARP: u32 = 32;
/// The rows and columns of a tile of the matrix product.
const PRODUCT_TILE: u32 = 16;
/// The rows and columns of a tile of the transpose, and its rows that move at a time.
const TRANSPOSE_TILE: u32 = 32;
const TRANSPOSE_ROWS: u32 = 8;

impl Launch {
    /// Returns a launch for the kernels over single elements, and for the reductions.
    #[must_use]
    pub fn over_elements(count: usize) -> Self {
        Self::line(blocks(count, BLOCK), BLOCK)
    }

    /// Returns a launch for the kernels with a block for each row: softmax and layer norm.
    #[must_use]
    pub fn over_rows(rows: usize, columns: usize) -> Self {
        let threads = u32::try_from(columns).unwrap_or(BLOCK).clamp(1, BLOCK);
        Self::line(blocks(rows, 1), threads.next_multiple_of(WARP))
    }

    /// Returns a launch for the matrix product, by the shape of the result.
    #[must_use]
    pub fn over_product(rows: usize, columns: usize) -> Self {
        let grid = (blocks(columns, PRODUCT_TILE), blocks(rows, PRODUCT_TILE), 1);
        Self { grid, block: (PRODUCT_TILE, PRODUCT_TILE, 1) }
    }

    /// Returns a launch for the transpose, by the shape of the input.
    #[must_use]
    pub fn over_transpose(rows: usize, columns: usize) -> Self {
        let grid = (blocks(columns, TRANSPOSE_TILE), blocks(rows, TRANSPOSE_TILE), 1);
        Self { grid, block: (TRANSPOSE_TILE, TRANSPOSE_ROWS, 1) }
    }

    fn line(blocks: u32, threads: u32) -> Self {
        Self { grid: (blocks, 1, 1), block: (threads, 1, 1) }
    }
}

/// Returns at least one, because a driver refuses a grid without blocks.
fn blocks(count: usize, of_each: u32) -> u32 {
    let needed = count.div_ceil(of_each as usize).max(1);
    u32::try_from(needed).unwrap_or(GRID_AT_MOST).min(GRID_AT_MOST)
}

#[cfg(test)]
mod tests {
    use super::Launch;

    #[test]
    fn there_is_always_a_block_and_never_too_many() {
        for count in [0, 1, 256] {
            assert_eq!(Launch::over_elements(count).grid, (1, 1, 1));
        }
        assert_eq!(Launch::over_elements(257).grid, (2, 1, 1));
        assert_eq!(Launch::over_elements(usize::MAX).grid, (1024, 1, 1));
        assert_eq!(Launch::over_product(usize::MAX, 17).grid, (2, 1024, 1));
        assert_eq!(Launch::over_transpose(33, 0).grid, (1, 2, 1));
    }

    #[test]
    fn blocks_of_rows_are_whole_warps() {
        for columns in [0, 1, 31, 32, 33, 255, 256, 1000, usize::MAX] {
            let (threads, _, _) = Launch::over_rows(5, columns).block;
            assert!(threads % 32 == 0 && (32..=256).contains(&threads), "{columns}: {threads}");
        }
        assert_eq!(Launch::over_rows(5, 33).block.0, 64);
        assert_eq!(Launch::over_rows(5, 33).grid, (5, 1, 1));
    }
}
