//! Attacks on readers of text with one line for each event or buffer: RMM's logs, JSON lines and
//! `MiniMalloc`'s CSV.

use super::list::{Attack, attack, million};

fn rmm(lines: &str) -> Vec<u8> {
    format!("Thread,Time,Action,Pointer,Size,Stream\n{lines}").into_bytes()
}

pub(super) fn of_rmm() -> Vec<Attack> {
    let allocate = "1,1:1:1.1,allocate,0x10,8,0\n";
    vec![
        attack("cut off in a line", "rmm", rmm(&(allocate.to_owned() + "1,1:1")), 2, "line 3"),
        attack("no such action", "rmm", rmm("1,1:1:1.1,grow,0x10,8,0\n"), 2, "line 2: Action"),
        attack(
            "an address of 65 bits",
            "rmm",
            rmm("1,1:1:1.1,free,0x10000000000000000,8,0\n"),
            2,
            "line 2: Pointer",
        ),
        attack(
            "a time of 423,000 years",
            "rmm",
            rmm("1,3709551615:0:0.4,free,0x10,8,0\n"),
            2,
            "line 2: Time",
        ),
        attack("a size below 0", "rmm", rmm("1,1:1:1.1,allocate,0x10,-8,0\n"), 2, "line 2: Size"),
        attack(
            "digits of another script",
            "rmm",
            rmm("1,1:1:1.1,allocate,0x10,٨,0\n"),
            2,
            "line 2: Size",
        ),
        attack(
            "bytes that are not UTF-8",
            "rmm",
            rmm("").into_iter().chain(*b"\xff\xfe,\n").collect::<Vec<u8>>(),
            2,
            "line 2: the line is not UTF-8",
        ),
        attack(
            "a line of 2 MiB",
            "rmm",
            rmm(&"1".repeat(2 << 20)),
            2,
            "line 2: the line has more than 1048576 bytes",
        ),
        attack(
            "an end beyond 64 bits",
            "rmm",
            rmm("1,1:1:1.1,allocate,0x10,18446744073709551615,0\n"),
            3,
            "line 2",
        ),
        attack(
            "a million equal allocations",
            "rmm",
            rmm(&allocate.repeat(million())),
            3,
            "impossible events: ",
        ),
        attack(
            "a million frees of nothing",
            "rmm",
            rmm(&"1,1:1:1.1,free,0x10,8,0\n".repeat(million())),
            3,
            "impossible events: ",
        ),
    ]
}

pub(super) fn of_json_lines() -> Vec<Attack> {
    let line = |text: &str| format!("{{\"action\":\"alloc\",{text}}}\n");
    vec![
        attack("cut off in a line", "json", "{\"action\":\"alloc\",\"by", 2, "line 1: column 21"),
        attack("half a million brackets", "json", "[".repeat(million() / 2), 2, "line 1"),
        attack(
            "an unknown key",
            "json",
            line("\"adress\":1"),
            2,
            "line 1: column 26: unknown field",
        ),
        attack("a key twice", "json", line("\"bytes\":1,\"bytes\":2"), 2, "duplicate field"),
        attack("a number of 10^30", "json", line("\"bytes\":1e30"), 2, "line 1"),
        attack("a size below 0", "json", line("\"bytes\":-1"), 2, "line 1"),
        attack(
            "half of a character",
            "json",
            line("\"frames\":[{\"name\":\"\\ud800\"}]"),
            2,
            "line 1",
        ),
        attack(
            "a device of 33 bits",
            "json",
            line("\"device\":4294967296"),
            2,
            "does not fit in 32 bits",
        ),
        attack(
            "an end beyond 64 bits",
            "json",
            line("\"address\":18446744073709551615,\"bytes\":9"),
            3,
            "line 1",
        ),
        attack(
            "live bytes beyond 64 bits",
            "json",
            line("\"address\":0,\"bytes\":18446744073709551615")
                + &line("\"address\":18446744073709551615,\"bytes\":1"),
            3,
            "line 2",
        ),
        attack(
            "a million equal lines",
            "json",
            line("\"bytes\":8").repeat(million()),
            3,
            "impossible events: ",
        ),
        attack(
            "a name that clears the screen",
            "json",
            line("\"bytes\":8,\"frames\":[{\"name\":\"\\u001b[2J\\u202e gnp \\u0007\"}]"),
            0,
            "\u{fffd}[2J\u{fffd} gnp \u{fffd}",
        ),
        attack(
            "a key that clears the screen",
            "json",
            line("\"\\u001b[2J\":8"),
            2,
            "line 1: column 29: unknown field `\u{fffd}[2J`",
        ),
    ]
}

pub(super) fn of_minimalloc() -> Vec<Attack> {
    let csv = |lines: &str| format!("id,lower,upper,size\n{lines}");
    vec![
        attack("cut off in a line", "minimalloc", csv("a,0,1,8\nb,0"), 2, "line 3"),
        attack("a lifetime backwards", "minimalloc", csv("a,2,1,8\n"), 2, "line 2, column 5"),
        attack(
            "sizes beyond 63 bits",
            "minimalloc",
            csv("a,0,1,9223372036854775807\nb,0,1,1\n"),
            2,
            "exceed",
        ),
        attack(
            "an unclosed quote",
            "minimalloc",
            csv(&("\"".to_owned() + &"x\n".repeat(million()))),
            2,
            "line 2",
        ),
        attack("digits of another script", "minimalloc", csv("a,0,1,٨\n"), 2, "line 2, column 7"),
        attack(
            "a million equal lines",
            "minimalloc",
            csv(&"a,0,1,8\n".repeat(million())),
            2,
            "both named a",
        ),
        attack(
            "a column twice",
            "minimalloc",
            "id,lower,upper,size,end\na,0,1,8,1\n",
            2,
            "line 1, column 21",
        ),
    ]
}
