//! Interrupted or failed exports leave no new file, and keep the old one.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::command::{data, scratch};

/// Creates a new folder with a log whose export takes a while.
fn folder(name: &str, events: u32) -> (PathBuf, PathBuf) {
    let folder = scratch(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir(&folder).unwrap();
    let log = scratch(&format!("{name}.csv"));
    let line = |number: u32| {
        format!("1,1:1:1.1,allocate,0x{number:x}00,256,0\n1,1:1:1.1,free,0x{number:x}00,256,0\n")
    };
    let lines: String = (1..events / 2).map(line).collect();
    std::fs::write(&log, format!("Thread,Time,Action,Pointer,Size,Stream\n{lines}")).unwrap();
    (folder, log)
}

fn names(folder: &Path) -> Vec<String> {
    let all = std::fs::read_dir(folder).unwrap();
    all.map(|one| one.unwrap().file_name().into_string().unwrap()).collect()
}

fn export(log: &Path, out: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pool-plan"));
    command.arg("export").arg(log).args(["--to", "perfetto", "--out"]).arg(out);
    command.stderr(Stdio::null());
    command
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_export_leaves_no_file() {
    let (folder, log) = folder("interrupted", 200_000);
    let out = folder.join("trace.json");
    std::fs::write(&out, "old").unwrap();
    for signal in ["-INT", "-TERM"] {
        let mut child = export(&log, &out).spawn().unwrap();
        let start = Instant::now();
        // The unfinished file is created after the log has been read.
        while names(&folder).len() < 2 && start.elapsed() < Duration::from_secs(60) {
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut kill = Command::new("kill");
        assert!(kill.args([signal, &child.id().to_string()]).status().unwrap().success());
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(130), "{signal}: the export ended before the signal");
        assert_eq!(names(&folder), ["trace.json"], "{signal}");
        assert_eq!(std::fs::read_to_string(&out).unwrap(), "old", "{signal}");
    }
}

/// If the size of files is limited, as on a full disk, a failed export leaves no file.
#[cfg(target_os = "linux")]
#[test]
fn an_export_without_room_leaves_no_file() {
    let (folder, log) = folder("without_room", 20_000);
    let out = folder.join("trace.json");
    let mut command = Command::new("bash");
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";
    command.args(["-c", script, "bash", env!("CARGO_BIN_EXE_pool-plan"), "export"]);
    command.arg(&log).args(["--to", "perfetto", "--out"]).arg(&out);
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let message = String::from_utf8(output.stderr).unwrap();
    assert!(message.contains("trace.json: File too large"), "{message}");
    assert!(names(&folder).is_empty(), "{:?}", names(&folder));
}

/// A link remains a link, a file keeps its permissions, and a device is written directly.
#[cfg(target_os = "linux")]
#[test]
fn what_was_there_stays_what_it_is() {
    use std::os::unix::fs::PermissionsExt as _;

    let (folder, log) = folder("kept", 10);
    let (link, file) = (folder.join("link.json"), folder.join("file.json"));
    std::fs::write(&file, "old").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert!(export(&log, &link).status().unwrap().success());
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("{\"displayTimeUnit\""));
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(export(&log, Path::new("/dev/null")).status().unwrap().success());
    assert!(!export(&log, Path::new("/dev/full")).status().unwrap().success());
    assert!(!export(&log, &folder.join("absent/trace.json")).status().unwrap().success());
    assert_eq!(names(&folder).len(), 2);
    assert!(export(&data("rmm.csv"), &folder.join("new.json")).status().unwrap().success());
}
