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
# not as many as the manifest counts, or the archive is damaged; 3 there is no GPU (or only a simulated
# driver, or a stub of the toolkit). --allow-no-gpu turns 3 into 0. A test whose question this driver
# or device cannot be asked says NOT ASKED and counts as skipped.
set -u

tab=$(printf '\t')
seconds_per_test=120

usage() {
    echo "usage: gpu-run.sh ARCHIVE [--bench] [--out DIR] [--allow-no-gpu]" >&2
    exit 2
}

stop() {
    code=$1
    shift
    echo "gpu-test: $*" >&2
    exit "$code"
}

read_arguments() {
    archive= bench=no out=gpu-test-report allow_no_gpu=no
    while [ $# -gt 0 ]; do
        case $1 in
        --bench) bench=yes ;;
        --allow-no-gpu) allow_no_gpu=yes ;;
        --out)
            [ $# -ge 2 ] || usage
            out=$2
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
}

absolute() {
    case $1 in
    /*) printf '%s\n' "$1" ;;
    *) printf '%s/%s\n' "$PWD" "$1" ;;
    esac
}

unpack() {
    gzip -dc "$archive" | tar -xf - -C "$work" || stop 2 "$archive cannot be unpacked"
    for file in manifest.json binaries.tsv; do
        [ -f "$work/$file" ] || stop 2 "$archive holds no $file"
    done
    expected=$(sed -n 's/^ *"gpu_tests": *\([0-9][0-9]*\),*$/\1/p' "$work/manifest.json")
    [ -n "$expected" ] || stop 2 "the manifest does not say how many GPU tests there are"
}

# A line of binaries.tsv: kind, package directory, sha256, path.
of_kind() {
    awk -F "$tab" -v kind="$1" '$1 == kind { print $2 "\t" $4 }' "$work/binaries.tsv"
}

verify() {
    if ! command -v sha256sum >/dev/null 2>&1; then
        echo "sha256sum is not here: the programs are not verified"
        return
    fi
    awk -F "$tab" '{ print $3 "  " $4 }' "$work/binaries.tsv" >"$work/sums"
    (cd "$work" && sha256sum -c sums) >"$work/sums.log" 2>&1 || {
        grep -v ': OK$' "$work/sums.log" >&2
        stop 2 "the archive is damaged"
    }
}

# The value of a key of the probe or of the manifest.
probed() {
    sed -n "s/^$1: //p" "$work/probe.txt" | head -n 1
}

manifest() {
    sed -n -e "s/^ *\"$1\": *\"\\(.*\\)\",*\$/\\1/p" -e "s/^ *\"$1\": *\\([^\",]*\\),*\$/\\1/p" \
        "$work/manifest.json" | head -n 1
}

# A variable that lets a simulated driver in has no place here.
forget_simulator() {
    for name in $(env | sed -n 's/^\(SIMCUDA_[A-Za-z0-9_]*\)=.*/\1/p'); do
        unset "$name"
    done
    unset DRIVER_CONFORMANCE_SIMULATOR DRIVER_CONFORMANCE_CHILD
}

no_gpu() {
    echo "0 passed, 0 failed, $expected skipped"
    write_report "no GPU" none
    if [ "$allow_no_gpu" = yes ]; then
        echo "gpu-test: no GPU, which --allow-no-gpu allows"
        exit 0
    fi
    stop 3 "the $expected GPU tests need an NVIDIA GPU and its driver; none of them was run"
}

look_for_gpu() {
    echo "commit:  $(manifest commit), dirty: $(manifest dirty), $(manifest rustc)"
    echo "LD_LIBRARY_PATH: ${LD_LIBRARY_PATH-}"
    if command -v nvidia-smi >/dev/null 2>&1; then
        nvidia-smi -L || echo "nvidia-smi ended with $?"
    fi
    probe=$(of_kind probe | cut -f 2)
    [ -n "$probe" ] || stop 2 "the archive holds no probe"
    "$work/$probe" >"$work/probe.txt" 2>"$work/probe.err"
    status=$?
    cat "$work/probe.txt"
    cat "$work/probe.err" >&2
    case $status in
    0) ;;
    3) no_gpu ;;
    *) stop 1 "the probe of the device ended with $status" ;;
    esac
    # The probe refuses both itself; a library that hides from it is refused by its path.
    case $(probed libcuda) in
    */stubs/* | *simcuda* | *cuda_sim*)
        echo "no GPU: $(probed libcuda) is no driver" >&2
        no_gpu
        ;;
    esac
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
    cp "$junit" "$out/junit.xml"
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
    if command -v timeout >/dev/null 2>&1; then
        timeout "$seconds_per_test" "$@"
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
        with_limit "$work/$2" --exact "$3" --ignored --nocapture --test-threads 1
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
        echo "<testsuites name=\"gpu-test\" tests=\"$(count .)\" failures=\"$(count failed)\" skipped=\"$(count skipped)\">"
        echo '<testsuite name="gpu-test">'
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
                echo '<skipped message="the driver or the device cannot be asked this"/>'
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

# The whole report: hardware, and hardware alone.
write_report() {
    {
        echo '{'
        json_line kind gpu-test
        echo '  "simulated": false,'
        json_line outcome "$1"
        json_line runner "$2"
        json_line commit "$(manifest commit)"
        json_line dirty "$(manifest dirty)"
        json_line rustc "$(manifest rustc)"
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
    [ -s "$work/benches.tsv" ] || stop 2 "--bench: the archive holds no bench"
    while IFS=$tab read -r directory path; do
        echo "bench   $(basename "$path")"
        (
            cd "$work/workspace/$directory" || exit 1
            CRITERION_HOME=$out/criterion POOL_BENCH_OUT=$out "$work/$path" --bench --noplot
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
        code=2 because="$counted ran, the manifest counts $expected"
    else
        code=0 because=passed
    fi
    write_report "$because" "$runner"
    echo "report: $out"
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$code" -eq 0 ] || stop "$code" "$because"
}

read_arguments "$@"
archive=$(absolute "$archive")
out=$(absolute "$out")
mkdir -p "$out" || stop 2 "$out cannot be made"
work=$(mktemp -d "${TMPDIR:-/tmp}/gpu-run.XXXXXX") || stop 2 "no temporary directory"
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
mkdir "$work/logs"
: >"$work/results.tsv"
: >"$work/probe.txt"
number=0

forget_simulator
unpack
verify
look_for_gpu
rm -f "$out/answers.txt" "$out/junit.xml"
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
