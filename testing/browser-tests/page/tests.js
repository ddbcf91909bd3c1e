// Runs tests, each in an instance of WebAssembly of its own: what one leaves behind, another one does not find.
const compiled = await WebAssembly.compileStreaming(fetch("browser_tests_bg.wasm"));
let instances = 0;

async function instantiate() {
  instances += 1;
  const program = await import(`./browser_tests.js?${instances}`);
  const exports = await program.default({ module_or_path: compiled });
  return { program, exports };
}

const { program } = await instantiate();
const names = Array.from({ length: program.test_count() }, (_, number) => program.test_name(number));

async function runTest(number) {
  const { program, exports } = await instantiate();
  const start = performance.now();
  let passed = false;
  let trap = "";
  try {
    passed = (await WebAssembly.promising(exports.run_test)(number)) === 1;
  } catch (error) {
    trap = `${error}\n${error?.stack ?? ""}`;
  }
  const seconds = (performance.now() - start) / 1000;
  return { passed, seconds, report: (trap ? "" : program.take_report()) + trap };
}

globalThis.tests = { names, runTest };

const button = document.getElementById("run");
button.disabled = false;
button.onclick = async () => {
  button.disabled = true;
  const report = document.getElementById("report");
  let failed = 0;
  for (const [number, name] of names.entries()) {
    const outcome = await runTest(number);
    failed += outcome.passed ? 0 : 1;
    report.append(`${outcome.passed ? "ok" : "FAILED"}: ${name}\n${outcome.passed ? "" : outcome.report}`);
    document.getElementById("counts").textContent = `${number + 1 - failed} passed, ${failed} failed`;
  }
};
