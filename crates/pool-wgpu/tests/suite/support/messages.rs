//! The messages of wgpu and the validation layers of the driver while tests run: there must be
//! none. Also wgpu's messages about its calls, for tests that act in the middle of one.

use std::cell::RefCell;
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

use log::{Level, LevelFilter, Log, Metadata, Record};

static MESSAGES: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Held while an instance is made and while calls are watched: an instance that is made meanwhile
/// would request every message of the layers.
static LEVEL: Mutex<()> = Mutex::new(());

type Watch = Box<dyn FnMut(&str)>;

thread_local! {
    static WATCH: RefCell<Option<Watch>> = const { RefCell::new(None) };
}

/// Keeps warnings and errors of wgpu, and of the validation layers, which wgpu passes on.
struct Collector;

impl Log for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.level() <= Level::Warn
    }

    fn log(&self, record: &Record<'_>) {
        if record.level() == Level::Trace {
            return tell_watch(record);
        }
        let text = record.args().to_string();
        // A message about a missing feature of the machine is not a failure of a test.
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

/// Passes a call to this thread's watch. The watch's own calls are not passed.
fn tell_watch(record: &Record<'_>) {
    if !record.target().starts_with("wgpu_core") {
        return;
    }
    let Some(mut watch) = WATCH.take() else { return };
    watch(&record.args().to_string());
    WATCH.set(Some(watch));
}

/// Keeps an error of a device.
#[cfg(target_arch = "wasm32")]
pub(crate) fn note_error(error: pool_wgpu::wgpu::Error) {
    MESSAGES.lock().unwrap_or_else(PoisonError::into_inner).push(error.to_string());
}

/// Runs code while `watch` sees this thread's calls of wgpu, in the middle of each, by wgpu's
/// names.
pub(crate) fn watching_calls<R>(watch: impl FnMut(&str) + 'static, code: impl FnOnce() -> R) -> R {
    let _level = at_usual_level();
    log::set_max_level(LevelFilter::Trace);
    WATCH.set(Some(Box::new(watch)));
    let answer = code();
    WATCH.set(None);
    log::set_max_level(LevelFilter::Warn);
    answer
}

/// Waits until no code watches calls.
pub(crate) fn at_usual_level() -> MutexGuard<'static, ()> {
    LEVEL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Fails the test that drops it if there were messages by then.
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
