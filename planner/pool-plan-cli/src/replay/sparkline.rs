//! Shows a series of values as one line of text.

/// Returns values as a line of block characters. A value of `most` is drawn at full height.
pub(crate) fn sparkline(values: &[u64], most: u64) -> String {
    const BLOCKS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let block = |&value: &u64| {
        let eighths = (u128::from(value) * 8).div_ceil(u128::from(most.max(1))).min(8);
        usize::try_from(eighths).ok().and_then(|at| BLOCKS.get(at)).copied().unwrap_or('█')
    };
    values.iter().map(block).collect()
}

#[cfg(test)]
mod tests {
    use super::sparkline;

    #[test]
    fn sparkline_has_a_block_for_each() {
        assert_eq!(sparkline(&[0, 1, 4, 8], 8), " ▁▄█");
        assert_eq!(sparkline(&[0, 0], 0), "  ");
        assert_eq!(sparkline(&[u64::MAX], u64::MAX), "█");
    }
}
