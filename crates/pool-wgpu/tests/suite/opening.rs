//! Streams that are found without the user's help, on systems without an adapter.

use std::process::Command;

use pool_wgpu::{Stream, WgpuError};

/// The variable that selects wgpu's API.
const API: &str = "WGPU_BACKEND";
/// An API that this system does not have.
const API_OF_OTHERS: &str = if cfg!(windows) { "metal" } else { "dx12" };

/// In a process of its own, which reads its environment once.
#[test]
fn without_an_adapter_a_stream_is_an_error_that_says_what_to_do() {
    if std::env::var(API).is_ok_and(|api| api == API_OF_OTHERS) {
        for refused in [Stream::open(), Stream::for_thread()] {
            let Err(WgpuError::NoAdapter { message }) = refused else { panic!("{refused:?}") };
            let said = WgpuError::NoAdapter { message: message.clone() }.to_string();
            assert!(!message.is_empty() && said.contains(&message), "{said}");
            assert!(said.contains("install a driver"), "{said}");
        }
        return println!("refused");
    }
    let name = "opening::without_an_adapter_a_stream_is_an_error_that_says_what_to_do";
    let run = Command::new(std::env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(API, API_OF_OTHERS)
        .output();
    let output = run.unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("refused"), "{text}");
}
