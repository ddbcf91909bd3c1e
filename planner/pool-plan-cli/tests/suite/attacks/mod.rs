//! Passes hostile logs to the command, limited to 512 MiB of address space. Each log must yield the
//! exit code and the words that `docs/measurements/2026-11-25-replay.md` lists. The readers' own
//! tests truncate their input at every byte and mutate it.

mod list;
mod logs;
mod pickles;
mod problems;

use std::path::Path;
use std::process::{Command, Output};

use super::command::scratch;
use list::{Attack, all};

fn run(task: &[&str], file: &Path) -> Output {
    let shell = format!("ulimit -v {} && exec \"$@\"", 512 * 1024);
    let mut command = Command::new("sh");
    command.args(["-c", &shell, "sh", env!("CARGO_BIN_EXE_pool-plan")]);
    command.args(task).arg(file).env("MALLOC_ARENA_MAX", "1").output().unwrap()
}

#[test]
fn each_attack_gets_what_the_list_says() {
    if !cfg!(target_os = "linux") {
        println!("SKIPPED: address space can be limited only on Linux");
        return;
    }
    for Attack { name, format, bytes, code, says } in all() {
        let file = scratch("attack");
        std::fs::write(&file, &bytes).unwrap();
        let from: &[&str] = if format.is_empty() { &[] } else { &["--from", format] };
        let output = run(&[&["replay", "--rounds", "0"][..], from].concat(), &file);
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8_lossy(&said).replace(&*file.to_string_lossy(), "FILE");
        let start: String = said.chars().take(2000).collect();
        assert_eq!(output.status.code(), Some(code), "{format}, {name}: {start}");
        assert!(said.contains(says) && !said.contains("panicked"), "{format}, {name}: {start}");
        let acts = |letter: char| letter != '\n' && letter.is_control() || letter == '\u{202e}';
        assert!(!said.contains(acts), "{format}, {name}: a terminal would interpret {start:?}");
        let line = said.lines().find(|line| line.contains(says)).unwrap();
        println!(
            "{format} | {name} | {code} | {}",
            line.trim().chars().take(110).collect::<String>()
        );

        let copy = scratch("attack.out");
        let _ = std::fs::remove_file(&copy);
        let export = ["export", "--to", "perfetto", "--out", copy.to_str().unwrap()];
        let output = run(&[&export[..], from].concat(), &file);
        assert_eq!(output.status.code(), Some(code), "{format}, {name}, exported");
        assert_eq!(copy.exists(), code == 0, "{format}, {name}: a refused log creates no file");
    }
}
