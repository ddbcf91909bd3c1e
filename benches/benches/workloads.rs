//! The same cases through criterion: `cargo bench`. Quoted figures come from `cargo xtask bench`.

use std::time::Duration;

use criterion::Criterion;
use pool_benches::harness::clock::thread_time;
use pool_benches::workloads;

fn main() {
    let mut criterion = Criterion::default()
        .measurement_time(Duration::from_secs(1))
        .warm_up_time(Duration::from_millis(300))
        .configure_from_args();
    for case in workloads::cases() {
        let mut prepared = (case.prepare)();
        let mut group = criterion.benchmark_group(format!("{} {}", case.workload, case.variant));
        group.bench_function(case.column, |bencher| {
            bencher.iter_custom(|times| {
                let before = thread_time();
                prepared(times);
                Duration::from_nanos(thread_time() - before)
            });
        });
        group.finish();
    }
    criterion.final_summary();
}
