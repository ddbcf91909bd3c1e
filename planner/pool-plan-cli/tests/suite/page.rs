//! Opens the page that `export --to html` writes in a headless browser. The page shows the report
//! of `replay`, and can be zoomed, moved and clicked. `POOL_BROWSER` names the browser. Without a
//! browser, the tests are skipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use super::command::{data, scratch};
use super::replay::{replay, run};

/// A script that performs a user's actions, and then stores the page's state as JSON in an
/// attribute of the document.
const DRIVE: &str = r##"<script>
{
  const rows = id => [...document.querySelectorAll("#" + id + " tbody tr")].map(row => [...row.cells].map(cell => cell.textContent));
  const text = id => document.getElementById(id).textContent;
  const map = document.getElementById("map"), box = map.getBoundingClientRect();
  const at = share => ({ clientX: box.left + 74 + (box.width - 74) * share, clientY: box.top + box.height / 2, pointerId: 1, bubbles: true, cancelable: true });
  map.setPointerCapture = () => {};
  const seen = { summary: text("summary"), warning: text("warning"), peak: text("buffers-title"), allocators: rows("allocators"), owners: rows("owners"), largest: rows("buffers")[0], markup: document.querySelectorAll("td img, td script").length };
  for (let turn = 0; turn < 8; turn++) map.dispatchEvent(new WheelEvent("wheel", { ...at(0.5), deltaY: -100 }));
  seen.zoomed = [...view];
  map.dispatchEvent(new PointerEvent("pointerdown", at(0.5)));
  map.dispatchEvent(new PointerEvent("pointermove", at(0.75)));
  map.dispatchEvent(new PointerEvent("pointerup", at(0.75)));
  seen.moved = [...view];
  map.dispatchEvent(new MouseEvent("dblclick", at(0.5)));
  seen.whole = [...view];
  map.dispatchEvent(new PointerEvent("pointerdown", at(0)));
  map.dispatchEvent(new PointerEvent("pointerup", at(0)));
  seen.clicked = text("buffers-title");
  const pixels = map.getContext("2d").getImageData(0, 0, map.width, map.height).data;
  seen.drawn = pixels.filter((value, index) => index % 4 === 3 && value > 0).length;
  document.documentElement.dataset.seen = JSON.stringify(seen);
}
</script>"##;

fn browser() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os("POOL_BROWSER") {
        return Some(path.into());
    }
    let known = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    known.iter().flat_map(|name| folders.iter().map(move |at| at.join(name))).find(|at| at.exists())
}

/// Exports a log as a page, opens it, and returns its state.
fn seen(browser: &Path, log: &Path) -> Value {
    let name = log.file_name().unwrap().to_string_lossy();
    let page = scratch(&format!("{name}.html"));
    let output = run("export", log, &["--to", "html", "--out", page.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = std::fs::read_to_string(&page).unwrap();
    std::fs::write(&page, text.replace("</body>", &format!("{DRIVE}</body>"))).unwrap();
    // Browsers that run concurrently need separate profiles.
    let profile = scratch(&format!("{name}.browser"));
    let mut command = Command::new(browser);
    command.args(["--headless", "--no-sandbox", "--disable-gpu", "--window-size=1280,1400"]);
    command.arg(format!("--user-data-dir={}", profile.display()));
    let output = command.arg("--dump-dom").arg(&page).output().unwrap();
    let dom = String::from_utf8_lossy(&output.stdout);
    let attribute = dom.split("data-seen=\"").nth(1).and_then(|rest| rest.split('"').next());
    let attribute = attribute.unwrap_or_else(|| panic!("{name}: the page has not run: {dom:.400}"));
    let text = attribute.replace("&quot;", "\"").replace("&lt;", "<").replace("&gt;", ">");
    serde_json::from_str(&text.replace("&nbsp;", " ").replace("&amp;", "&")).unwrap()
}

/// Runs a test in the browser, if there is one.
fn with_browser(test: impl FnOnce(&Path)) {
    match browser() {
        Some(browser) => test(&browser),
        None => println!("SKIPPED: no browser is installed; set POOL_BROWSER to one"),
    }
}

#[test]
fn the_page_shows_what_the_report_says() {
    with_browser(|browser| {
        let seen = seen(browser, &data("training.pickle"));
        let (_, report) = replay(&data("training.pickle"), &[]);
        let device = &report["devices"][0];
        let summary = seen["summary"].as_str().unwrap();
        for part in ["378 events", "137 buffers", "1 stream ·", "375.05 MiB live", "25 buffers"] {
            assert!(summary.contains(part), "{part}: {summary}");
        }
        let names: Vec<&str> = seen["allocators"]
            .as_array()
            .unwrap()
            .iter()
            .map(|row| row[0].as_str().unwrap())
            .collect();
        assert_eq!(names[0], "the log's own");
        assert_eq!((names.len(), names[names.len() - 1]), (9, "lower bound"));
        assert_eq!(seen["allocators"][0][1], "414.00 MiB");
        assert!(seen["peak"].as_str().unwrap().contains("at the peak, 375.05 MiB"), "{seen}");
        let largest = &device["largest_at_peak"][0];
        assert_eq!(seen["largest"][1], format!("{:#x}", largest["address"].as_u64().unwrap()));
        assert_eq!(seen["largest"][5], largest["frames"][0]);
        let number = |key: &str, at: usize| seen[key][at].as_f64().unwrap();
        let length = |key: &str| number(key, 1) - number(key, 0);
        assert!(length("zoomed") < 80.0, "{seen}");
        assert!(number("moved", 0) < number("zoomed", 0), "{seen}");
        assert!((length("moved") - length("zoomed")).abs() < 0.1, "{seen}");
        assert_eq!((number("whole", 0), length("whole")), (0.0, 378.0));
        assert!(seen["clicked"].as_str().unwrap().contains("after event 0"), "{seen}");
        assert!(seen["drawn"].as_u64().unwrap() > 10_000, "{seen}");
    });
}

/// Names in a log are texts with arbitrary contents. A page without buffers is also valid.
#[test]
fn names_in_a_page_are_texts() {
    with_browser(|browser| {
        let file = scratch("markup.jsonl");
        let name = "</script><img src=x onerror=alert(1)><!--";
        std::fs::write(&file, format!("{{\"action\":\"alloc\",\"address\":18446744073709551000,\"bytes\":8,\"frames\":[{{\"filename\":\"a.py\",\"line\":1,\"name\":\"{name}\"}}]}}\n")).unwrap();
        let seen = seen(browser, &file);
        assert_eq!(seen["owners"][0][0], format!("a.py:1 {name}"));
        assert_eq!(
            (&seen["markup"], &seen["largest"][1]),
            (&0.into(), &"0xfffffffffffffd98".into())
        );
    });
}

/// A page can show 100,000 events.
#[test]
fn a_page_of_100_000_events() {
    with_browser(|browser| {
        let file = scratch("many.jsonl");
        let line = |number: u64| {
            let address = number % 997 * 4096;
            let free = if number < 997 {
                String::new()
            } else {
                format!("{{\"action\":\"free\",\"address\":{address}}}\n")
            };
            format!(
                "{free}{{\"action\":\"alloc\",\"address\":{address},\"bytes\":{},\"frames\":[{{\"filename\":\"net.py\",\"line\":{},\"name\":\"layer\"}}]}}\n",
                1 + number * 37 % 4096,
                1 + number % 12
            )
        };
        std::fs::write(&file, (0..50_500).map(line).collect::<String>()).unwrap();
        let seen = seen(browser, &file);
        assert!(
            seen["summary"].as_str().unwrap().starts_with("100003 events · 50500 buffers")
                || seen["summary"].as_str().unwrap().starts_with("100,003 events · 50,500 buffers"),
            "{seen}"
        );
        assert!(seen["peak"].as_str().unwrap().starts_with("997 buffers at the peak"), "{seen}");
        assert_eq!(seen["owners"].as_array().unwrap().len(), 12);
        assert!(seen["drawn"].as_u64().unwrap() > 10_000, "{seen}");
    });
}

/// The page contains no network address.
#[test]
fn a_page_loads_nothing() {
    let output = run("export", &data("training.pickle"), &["--to", "html"]);
    let page = String::from_utf8(output.stdout).unwrap();
    assert!(page.contains("default-src 'none'"));
    assert!(
        !page.contains("http:") && !page.contains("https:") && !page.contains("src="),
        "{page:.200}"
    );
}
