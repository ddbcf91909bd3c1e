//! The cases of one work, by a macro.

/// The cases of a workload variant: one work on several columns.
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
