//! A macro that lists the cases of one work.

/// Lists the cases of one variant of a workload: the same work on several columns.
macro_rules! on_columns {
    ($workload:literal, $variant:literal: $($column:literal => $work:ty),+ $(,)?) => {
        [$($crate::case::Case {
            workload: $workload,
            variant: $variant,
            column: $column,
            prepare: $crate::case::prepare::<$work>,
        }),+]
    };
}
pub(crate) use on_columns;
