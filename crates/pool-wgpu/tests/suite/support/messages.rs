//! What wgpu and the validation layers of the driver say while tests run: nothing.

use std::sync::{Mutex, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Keeps warnings and errors of wgpu, and of the validation layers, which wgpu passes on.
struct Collector;

impl Log for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        let text = record.args().to_string();
        // What a machine lacks is no fault of a test's.
        let is_of_machine =
            ["unable to find layer", "not a conformant", "EGL", "Missing downlevel"]
                .iter()
                .any(|part| text.contains(part));
        if self.enabled(record.metadata()) && !is_of_machine {
            let message = format!("{}: {text}", record.target());
            MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).push(message);
        }
    }

    fn flush(&self) {}
}

/// Fails the test that drops it where there were messages by then.
pub(crate) struct Quiet(());

impl Quiet {
    pub(crate) fn new() -> Self {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            log::set_logger(&Collector).unwrap();
            log::set_max_level(LevelFilter::Warn);
        });
        Self(())
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let messages =
            std::mem::take(&mut *MESSAGES.lock().unwrap_or_else(PoisonError::into_inner));
        if !std::thread::panicking() {
            assert_eq!(messages, Vec::<String>::new(), "wgpu or a validation layer has complained");
        }
    }
}
