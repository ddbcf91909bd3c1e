#!/bin/sh
# Runs the GPU tests of an archive made by `cargo xtask gpu-test --archive FILE`, on a machine that
# has an NVIDIA driver and need not have Rust: a POSIX shell, tar, gzip, awk and sed are enough.
#
#   sh gpu-run.sh ARCHIVE [--bench] [--out DIR] [--allow-no-gpu]
#
# Every test gets a process of its own: by a `cargo-nextest` program beside the archive if there is
# one that starts, else by this script. DIR (`gpu-test-report` by default) gets junit.xml,
# gpu-report.json, answers.txt and, with --bench, what the benches measured.
#
# Exit codes: 0 all tests that the manifest counts ran and none failed; 1 one failed; 2 none ran, or
# not as many as the manifest counts, or the archive is damaged or cannot be unpacked and started here;
# 3 there is no GPU (or only a simulated driver, or a stub of the toolkit); 4 the driver, the device, the C
# library or the processor is not what the archive needs. --allow-no-gpu turns 3 into 0. A test whose
# question this driver or device cannot be asked says NOT ASKED and counts as skipped.
#
# For tests of this script alone: `--simulated-driver FILE` puts FILE, a simulated driver that does not
# give itself away, in the place of the driver. The report then says "simulated": true, and so does the
# last line. No variable and no abbreviation has that effect, and without it a simulated driver is no GPU.
set -u

# Texts are bytes here, whatever the language of the system.
LC_ALL=C
export LC_ALL

tab=$(printf '\t')
seconds_per_test=120
seconds_per_bench=1800

usage() {
    echo "usage: gpu-run.sh ARCHIVE [--bench] [--out DIR] [--allow-no-gpu]" >&2
    exit 2
}

stop() {
    code=$1
    shift
    echo "gpu-test: $*${simulated_note-}" >&2
    exit "$code"
}

read_arguments() {
    archive= bench=no out=gpu-test-report allow_no_gpu=no
    simulated=false simulated_driver= simulated_note=
    while [ $# -gt 0 ]; do
        case $1 in
        --bench) bench=yes ;;
        --allow-no-gpu) allow_no_gpu=yes ;;
        --out)
            [ $# -ge 2 ] || usage
            out=$2
            shift
            ;;
        --simulated-driver)
            [ $# -ge 2 ] || usage
            simulated=true simulated_driver=$2
            simulated_note=", on a SIMULATED driver: no result about a GPU"
            shift
            ;;
        -*) usage ;;
        *)
            [ -z "$archive" ] || usage
            archive=$1
            ;;
        esac
        shift
    done
    [ -n "$archive" ] || usage
    [ -f "$archive" ] || stop 2 "there is no archive $archive"
    if [ "$simulated" = true ]; then
        [ -f "$simulated_driver" ] || stop 2 "there is no simulated driver $simulated_driver"
        [ "$bench" = no ] || stop 2 "a simulated driver has no speed to measure"
    fi
}

absolute() {
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "$1" ;;
    esac
}

need_tools() {
    for tool in tar gzip awk sed mktemp; do
        command -v "$tool" >/dev/null 2>&1 || stop 2 "the script needs $tool, which is not installed"
    done
}

# gzip's own complaint counts too: what it has told tar before may look whole.
unpack() {
    {
        gzip -dc "$archive" || : >"$own/damaged"
    } | tar -xf - -C "$work" || : >"$own/damaged"
    [ ! -f "$own/damaged" ] || stop 2 "$archive cannot be unpacked: it is damaged, or the disk is full"
    for file in manifest.json binaries.tsv; do
        [ -f "$work/$file" ] || stop 2 "$archive contains no $file"
    done
    expected=$(sed -n 's/^ *"gpu_tests": *\([0-9][0-9]*\),*$/\1/p' "$work/manifest.json")
    [ -n "$expected" ] || stop 2 "the manifest does not say how many GPU tests there are"
}

# A line of binaries.tsv: kind, package directory, sha256, path.
of_kind() {
    awk -F "$tab" -v kind="$1" '$1 == kind { print $2 "\t" $4 }' "$work/binaries.tsv"
}

# The SHA-256 of a file, by whatever program there is for it.
sha256_of() {
    if command -v sha256sum >/dev/null 2>&1; then
        sha256sum <"$1"
    elif command -v shasum >/dev/null 2>&1; then
        shasum -a 256 <"$1"
    else
        openssl dgst -sha256 -r <"$1"
    fi | cut -c 1-64
}

verify() {
    if ! command -v sha256sum >/dev/null 2>&1 && ! command -v shasum >/dev/null 2>&1 &&
        ! command -v openssl >/dev/null 2>&1; then
        echo "the programs are not verified, because sha256sum, shasum, and openssl are missing"
        return
    fi
    while IFS=$tab read -r purpose directory sum path; do
        [ -f "$work/$path" ] || stop 2 "the archive is damaged: it contains no $path"
        found=$(sha256_of "$work/$path")
        [ "$found" = "$sum" ] || stop 2 "the archive is damaged: the sum of $path is $found, not $sum"
    done <"$work/binaries.tsv"
}

# The value of a key of the probe or of the manifest.
probed() {
    sed -n "s/^$1: //p" "$work/probe.txt" | head -n 1
}

manifest() {
    sed -n -e "s/^ *\"$1\": *\"\\(.*\\)\",*\$/\\1/p" -e "s/^ *\"$1\": *\\([^\",]*\\),*\$/\\1/p" \
        "$work/manifest.json" | head -n 1
}

# What a simulated driver is told by variables has no place here.
forget_simulator() {
    unset DRIVER_CONFORMANCE_SIMULATOR DRIVER_CONFORMANCE_CHILD
    [ "$simulated" = false ] || return 0
    for name in $(env | sed -n 's/^\(SIMCUDA_[A-Za-z0-9_]*\)=.*/\1/p; s/^\(CUDA_SIM_[A-Za-z0-9_]*\)=.*/\1/p'); do
        unset "$name"
    done
}

# Under both names by which it is looked for, in front of every other one.
install_simulator() {
    mkdir "$work/driver"
    for name in libcuda.so libcuda.so.1; do
        cp "$simulated_driver" "$work/driver/$name" || stop 2 "$simulated_driver cannot be copied"
    done
    LD_LIBRARY_PATH=$work/driver
    export LD_LIBRARY_PATH
}

no_gpu() {
    echo "0 passed, 0 failed, $expected skipped$simulated_note"
    write_report "no GPU" none
    if [ "$allow_no_gpu" = yes ]; then
        echo "gpu-test: no GPU, which --allow-no-gpu allows$simulated_note"
        exit 0
    fi
    stop 3 "the $expected GPU tests need an NVIDIA GPU and its driver; none of them ran"
}

# Ends with one sentence where something here is not what the archive needs.
unsuitable() {
    echo "0 passed, 0 failed, $expected skipped$simulated_note"
    write_report unsuitable none
    stop 4 "$*; none of the $expected GPU tests ran"
}

# Whether a version of two numbers is older than another one.
older() {
    awk -v have="$1" -v need="$2" 'BEGIN {
        split(have, h, "."); split(need, n, ".")
        exit !(h[1] + 0 < n[1] + 0 || (h[1] + 0 == n[1] + 0 && h[2] + 0 < n[2] + 0))
    }'
}

# The version of the GNU C library, `musl`, or nothing where the system does not say.
c_library() {
    version=$(getconf GNU_LIBC_VERSION 2>/dev/null | sed -n 's/^glibc \([0-9.]*\)$/\1/p')
    if [ -z "$version" ]; then
        said=$(ldd --version 2>&1 </dev/null)
        case $said in
        musl*) version=musl ;;
        *) version=$(printf '%s\n' "$said" | sed -n '1s/.* \([0-9][0-9]*\.[0-9][0-9]*\)$/\1/p') ;;
        esac
    fi
    printf '%s\n' "$version"
}

# What must be there before a program of the archive can be started at all.
look_at_system() {
    echo "commit:  $(manifest commit), dirty: $(manifest dirty), $(manifest rustc)"
    needs_driver=$(manifest needs_driver)
    needs_capability=$(manifest needs_capability)
    needs_glibc=$(manifest needs_glibc)
    needs_processor=$(manifest needs_processor)
    [ -n "$needs_driver" ] && [ -n "$needs_capability" ] && [ -n "$needs_glibc" ] &&
        [ -n "$needs_processor" ] || stop 2 "the manifest does not say what the archive needs"
    processor=$(uname -m)
    glibc=$(c_library)
    echo "needs:   driver for CUDA $needs_driver, compute capability $needs_capability," \
        "glibc $needs_glibc, $needs_processor"
    echo "system:  glibc ${glibc:-unknown}, $processor"
    [ "$processor" = "$needs_processor" ] ||
        unsuitable "the processor is $processor, but the archive was built for $needs_processor"
    [ "$glibc" != musl ] ||
        unsuitable "the C library is musl, but the archive needs the GNU C library $needs_glibc"
    if [ -n "$glibc" ] && older "$glibc" "$needs_glibc"; then
        unsuitable "the GNU C library is $glibc, but the archive needs $needs_glibc or newer"
    fi
}

# The driver that the switch puts there calls its device so; no other one does, and it has no other place.
check_disguise() {
    device=$(probed device)
    if [ "$simulated" = true ]; then
        [ "$device" = "Disguised device" ] ||
            stop 2 "the driver that was loaded is not $simulated_driver: its device is ${device:-unknown}"
        return
    fi
    case $device in
    "Disguised device" | "Simulated device"*)
        echo "no GPU: a $device is not hardware" >&2
        no_gpu
        ;;
    esac
}

look_for_gpu() {
    echo "LD_LIBRARY_PATH: ${LD_LIBRARY_PATH-}"
    if command -v nvidia-smi >/dev/null 2>&1; then
        nvidia-smi -L || echo "nvidia-smi ended with $?"
    fi
    probe=$(of_kind probe | cut -f 2)
    [ -n "$probe" ] || stop 2 "the archive contains no probe"
    "$work/$probe" >"$work/probe.txt" 2>"$work/probe.err"
    status=$?
    cat "$work/probe.txt"
    cat "$work/probe.err" >&2
    # A driver that is too old may refuse the questions that come after its version.
    driver=$(probed driver)
    if [ -n "$driver" ] && older "$driver" "$needs_driver"; then
        unsuitable "the driver is for CUDA $driver, but the archive needs one for $needs_driver or newer"
    fi
    case $status in
    0) ;;
    3) no_gpu ;;
    126) stop 2 "programs cannot be started in $work: set TMPDIR to a directory where they can" ;;
    *) stop 1 "the probe of the device ended with $status" ;;
    esac
    # The probe refuses both itself; a library that hides from it is refused by its path.
    case $(probed libcuda) in
    */stubs/* | *simcuda* | *cuda_sim*)
        echo "no GPU: $(probed libcuda) is not a driver" >&2
        no_gpu
        ;;
    esac
    check_disguise
    capability=$(probed capability)
    if [ -n "$capability" ] && older "$capability" "$needs_capability"; then
        unsuitable "the device has compute capability $capability, but the archive needs" \
            "$needs_capability or newer"
    fi
}

# Puts a line into results.tsv: outcome, seconds, program, test.
note() {
    printf '%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" >>"$work/results.tsv"
}

find_nextest() {
    nextest=$(dirname "$archive")/cargo-nextest
    [ -x "$nextest" ] && [ -f "$work/nextest/binaries-metadata.json" ] || return 1
    "$nextest" nextest --version >/dev/null 2>&1 || {
        echo "$nextest does not start here: the script runs the tests itself"
        return 1
    }
}

# Fails where nextest could not do its work at all; failing tests are no such failure.
run_with_nextest() {
    runner=cargo-nextest
    junit=$work/workspace/target/nextest/gpu/junit.xml
    "$nextest" nextest run --profile gpu --config-file "$work/nextest/nextest.toml" \
        --binaries-metadata "$work/nextest/binaries-metadata.json" \
        --cargo-metadata "$work/nextest/cargo-metadata.json" \
        --workspace-remap "$work/workspace" --target-dir-remap "$work/target" \
        --run-ignored only --no-fail-fast --test-threads 1 -E 'not kind(bench)'
    status=$?
    case $status in
    0 | 4 | 100) ;;
    *) return 1 ;;
    esac
    [ -f "$junit" ] || return 0
    sed "s/<testsuites name=\"gpu-test\"/<testsuites name=\"$report_kind\"/" "$junit" >"$out/junit.xml"
    awk '
        function value(key,   start) {
            if (!match($0, " " key "=\"[^\"]*\"")) return ""
            start = RSTART + length(key) + 3
            return substr($0, start, RLENGTH - length(key) - 4)
        }
        function finish() {
            if (name != "") print outcome "\t" time "\t" program "\t" name
            name = ""
        }
        /<testcase / {
            finish()
            name = value("name"); program = value("classname"); time = value("time")
            outcome = "passed"
        }
        /NOT ASKED: / && outcome == "passed" { outcome = "skipped" }
        /<failure|<error/ { outcome = "failed" }
        END { finish() }
    ' "$junit" >"$work/results.tsv"
    # A test run that nextest calls failed must show here too.
    if [ "$status" -eq 100 ] && ! grep -q '^failed' "$work/results.tsv"; then
        note failed 0 cargo-nextest "a failure that its report does not name"
    fi
}

run_by_hand() {
    runner=script
    : >"$work/results.tsv"
    of_kind test >"$work/tests.tsv"
    while IFS=$tab read -r directory path; do
        "$work/$path" --list --ignored --format terse >"$work/list" 2>"$work/list.err" </dev/null || {
            cat "$work/list.err" >&2
            number=$((number + 1))
            cp "$work/list.err" "$work/logs/$number"
            note failed 0 "$(basename "$path")" "listing its tests"
            continue
        }
        sed -n 's/: test$//p' "$work/list" >"$work/names"
        while read -r name; do
            run_one "$directory" "$path" "$name"
        done <"$work/names"
    done <"$work/tests.tsv"
    write_junit
}

with_limit() {
    seconds=$1
    shift
    if command -v timeout >/dev/null 2>&1; then
        timeout "$seconds" "$@"
    else
        "$@"
    fi
}

run_one() {
    number=$((number + 1))
    log=$work/logs/$number
    program=$(basename "$2")
    began=$(date +%s)
    (
        cd "$work/workspace/$1" || exit 1
        with_limit "$seconds_per_test" "$work/$2" --exact "$3" --ignored --nocapture --test-threads 1
    ) >"$log" 2>&1 </dev/null
    status=$?
    took=$(($(date +%s) - began))
    # A name that matches nothing ends well too, with nothing passed.
    if [ "$status" -eq 0 ] && grep -q '^test result: ok\. 1 passed' "$log"; then
        outcome=passed
        if grep -q '^NOT ASKED: ' "$log"; then
            outcome=skipped
        fi
        printf '%-7s %s\n' "$outcome" "$3"
        note "$outcome" "$took" "$program" "$3"
        return
    fi
    echo "FAILED  $3 (exit code $status)"
    sed 's/^/    /' "$log"
    note failed "$took" "$program" "$3"
}

xml_text() {
    tr -d '\000-\010\013\014\016-\037' | sed 's/&/\&amp;/g; s/</\&lt;/g; s/>/\&gt;/g; s/"/\&quot;/g'
}

write_junit() {
    {
        echo '<?xml version="1.0" encoding="UTF-8"?>'
        echo "<testsuites name=\"$report_kind\" tests=\"$(count .)\" failures=\"$(count failed)\" skipped=\"$(count skipped)\">"
        echo "<testsuite name=\"$report_kind\">"
        number=0
        while IFS=$tab read -r outcome took program name; do
            number=$((number + 1))
            printf '<testcase name="%s" classname="%s" time="%s">\n' \
                "$(printf '%s' "$name" | xml_text)" "$(printf '%s' "$program" | xml_text)" "$took"
            if [ "$outcome" = failed ]; then
                echo '<failure message="failed">'
                [ -f "$work/logs/$number" ] && xml_text <"$work/logs/$number"
                echo '</failure>'
            fi
            if [ "$outcome" = skipped ]; then
                echo '<skipped message="the question does not apply to this driver or device"/>'
            fi
            echo '</testcase>'
        done <"$work/results.tsv"
        echo '</testsuite></testsuites>'
    } >"$out/junit.xml"
}

count() {
    grep -c "^$1" "$work/results.tsv"
}

json_text() {
    printf '%s' "$1" | tr -d '\000-\037' | sed 's/\\/\\\\/g; s/"/\\"/g'
}

json_line() {
    printf '  "%s": "%s",\n' "$1" "$(json_text "$2")"
}

# The whole report: of hardware, or of a simulated driver, and it says which.
write_report() {
    {
        echo '{'
        json_line kind "$report_kind"
        echo "  \"simulated\": $simulated,"
        json_line outcome "$1"
        json_line runner "$2"
        json_line commit "$(manifest commit)"
        json_line dirty "$(manifest dirty)"
        json_line rustc "$(manifest rustc)"
        json_line needs_driver "$(manifest needs_driver)"
        json_line needs_capability "$(manifest needs_capability)"
        json_line needs_glibc "$(manifest needs_glibc)"
        json_line glibc "${glibc-}"
        for key in device uuid capability driver libcuda; do
            json_line "$key" "$(probed "$key")"
        done
        printf '  "expected": %s,\n  "passed": %s,\n  "failed": %s,\n  "skipped": %s,\n' \
            "$expected" "$(count passed)" "$(count failed)" "$(count skipped)"
        echo '  "tests": ['
        separator=
        while IFS=$tab read -r outcome took program name; do
            printf '%s    { "test": "%s", "program": "%s", "outcome": "%s", "seconds": %s }' \
                "$separator" "$(json_text "$name")" "$(json_text "$program")" "$outcome" "${took:-0}"
            separator=",
"
        done <"$work/results.tsv"
        printf '\n  ]\n}\n'
    } >"$out/gpu-report.json"
}

run_benches() {
    of_kind bench >"$work/benches.tsv"
    [ -s "$work/benches.tsv" ] || stop 2 "--bench: the archive contains no benchmarks"
    while IFS=$tab read -r directory path; do
        echo "bench   $(basename "$path")"
        (
            cd "$work/workspace/$directory" || exit 1
            CRITERION_HOME=$out/criterion
            POOL_BENCH_OUT=$out
            export CRITERION_HOME POOL_BENCH_OUT
            with_limit "$seconds_per_bench" "$work/$path" --bench --noplot
        ) </dev/null || note failed 0 "$(basename "$path")" "the bench"
    done <"$work/benches.tsv"
}

verdict() {
    counted=$(count .)
    passed=$(count passed)
    failed=$(count failed)
    # What was never started is skipped as well.
    skipped=$(($(count skipped) + (expected > counted ? expected - counted : 0)))
    if [ -f "$out/answers.txt" ]; then
        echo "answers: $(grep -c '^answer: ' "$out/answers.txt"), differing:" \
            "$(grep -c ' DIFFERS$' "$out/answers.txt"), not asked: $(grep -c '^SKIPPED' "$out/answers.txt")"
    fi
    if [ "$failed" -gt 0 ]; then
        code=1 because=failed
    elif [ "$passed" -eq 0 ]; then
        code=2 because="nothing ran"
    elif [ "$counted" -ne "$expected" ]; then
        code=2 because="$counted tests ran, but the manifest counts $expected"
    else
        code=0 because=passed
    fi
    write_report "$because" "$runner"
    echo "report: $out"
    echo "$passed passed, $failed failed, $skipped skipped$simulated_note"
    [ "$code" -eq 0 ] || stop "$code" "$because"
}

read_arguments "$@"
need_tools
report_kind=gpu-test
[ "$simulated" = false ] || report_kind=gpu-test-on-a-simulated-driver
archive=$(absolute "$archive")
out=$(absolute "$out")
simulated_driver=$(absolute "$simulated_driver")
mkdir -p "$out" || stop 2 "$out cannot be created"
# What an earlier run left must not be taken for this one's.
rm -f "$out/gpu-report.json" "$out/junit.xml" "$out/answers.txt"
own=$(mktemp -d "${TMPDIR:-/tmp}/gpu-run.XXXXXX") || stop 2 "no temporary directory"
trap 'rm -rf "$own"' EXIT
trap 'exit 1' HUP INT TERM
work=$own/archive
mkdir "$work" || stop 2 "$work cannot be created"
: >"$work/results.tsv"
: >"$work/probe.txt"
number=0

forget_simulator
unpack
mkdir -p "$work/logs"
verify
look_at_system
[ "$simulated" = false ] || install_simulator
look_for_gpu
DRIVER_ANSWERS=$out/answers.txt
export DRIVER_ANSWERS
if find_nextest; then
    run_with_nextest || {
        echo "cargo-nextest ended with $status: the script runs the tests itself"
        rm -f "$out/answers.txt"
        run_by_hand
    }
else
    run_by_hand
fi
[ "$bench" = no ] || run_benches
verdict
