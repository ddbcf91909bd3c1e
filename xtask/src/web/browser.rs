//! Chromium without a window, controlled by its debugging protocol through two pipes.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use tasks::programs::installed;
use tempfile::TempDir;

use crate::TaskError;

/// The time limit for one response. A test with thousands of random programs takes long.
const PATIENCE: Duration = Duration::from_secs(300);

/// The names under which distributions install Chromium.
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// Returns the path of Chromium.
///
/// # Errors
///
/// Fails if Chromium is not installed. The text explains how to install it.
pub(crate) fn find_chromium() -> Result<PathBuf, String> {
    let found = NAMES.iter().find_map(|name| installed(name));
    found.ok_or_else(|| {
        "Chromium is not installed; on Debian, run `apt-get install chromium`".to_owned()
    })
}

/// A browser with a single page.
pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    /// Messages that are not responses, such as errors of the page.
    events: VecDeque<Value>,
    /// The session of the page.
    session: Option<String>,
    last_command: u64,
    pictures: PathBuf,
    /// The profile directory, which is removed with the browser.
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        // The process must end in any case, because its profile is removed.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Browser {
    /// Starts a browser that computes WebGPU on the processor and has a camera that shows a test
    /// picture. Screenshots are written to a directory.
    ///
    /// # Errors
    ///
    /// Fails if the browser does not start.
    pub(crate) fn launch(chromium: &Path, pictures: &Path) -> Result<Self, TaskError> {
        fs::create_dir_all(pictures)?;
        let profile = tempfile::tempdir()?;
        let log = File::create(profile.path().join("log"))?;
        // The protocol uses the file descriptors 3 and 4.
        let mut command = Command::new("sh");
        command.args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >&2"]).arg(chromium);
        command.args([
            "--headless=new",
            "--no-sandbox",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--enable-unsafe-webgpu",
            "--use-webgpu-adapter=swiftshader",
            "--use-fake-device-for-media-stream",
            "--use-fake-ui-for-media-stream",
            "--remote-debugging-pipe",
        ]);
        command.arg(format!("--user-data-dir={}", profile.path().display())).arg("about:blank");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
        let mut process = command.spawn()?;
        let pipes = process.stdin.take().zip(process.stdout.take());
        let (commands, answers) = pipes.ok_or("the browser has no pipes")?;
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in BufReader::new(answers).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { break };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let mut browser = Self {
            process,
            commands,
            messages,
            events: VecDeque::new(),
            session: None,
            last_command: 0,
            pictures: pictures.to_owned(),
            _profile: profile,
        };
        browser.new_page()?;
        Ok(browser)
    }

    /// Opens a page for all later commands. The previous page is closed.
    ///
    /// # Errors
    ///
    /// Fails if the browser does not respond.
    pub(crate) fn new_page(&mut self) -> Result<(), TaskError> {
        if self.session.is_some() {
            self.call("Page.close", &json!({}))?;
            self.session = None;
        }
        let page = self.call("Target.createTarget", &json!({ "url": "about:blank" }))?;
        let attach = json!({ "targetId": page["targetId"], "flatten": true });
        let attached = self.call("Target.attachToTarget", &attach)?;
        self.session = Some(attached["sessionId"].as_str().ok_or("no session")?.to_owned());
        for domain in ["Runtime.enable", "Log.enable", "Page.enable"] {
            self.call(domain, &json!({}))?;
        }
        Ok(())
    }

    /// Returns the name and version of the browser.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`call`](Self::call).
    pub(crate) fn version(&mut self) -> Result<String, TaskError> {
        let session = self.session.take();
        let version = self.call("Browser.getVersion", &json!({}));
        self.session = session;
        Ok(version?["product"].as_str().unwrap_or("an unknown browser").to_owned())
    }

    /// Sends a command and waits for the response.
    ///
    /// # Errors
    ///
    /// Fails if the browser refuses the command, ends, or takes too long.
    pub(crate) fn call(&mut self, method: &str, parameters: &Value) -> Result<Value, TaskError> {
        self.last_command += 1;
        let mut command =
            json!({ "id": self.last_command, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let mut bytes = serde_json::to_vec(&command)?;
        bytes.push(0);
        self.commands.write_all(&bytes)?;
        let end = Instant::now() + PATIENCE;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            let message = self.messages.recv_timeout(left).map_err(|error| match error {
                RecvTimeoutError::Timeout => format!("{method}: no response within {PATIENCE:?}"),
                RecvTimeoutError::Disconnected => format!("{method}: the browser ended"),
            })?;
            if message["id"] != json!(self.last_command) {
                self.events.push_back(message);
            } else if let Some(error) = message.get("error") {
                return Err(format!("{method}: {}", error["message"]).into());
            } else {
                return Ok(message["result"].clone());
            }
        }
    }

    /// Opens an address and waits until a JavaScript expression on the page is true.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`call`](Self::call).
    pub(crate) fn open(&mut self, address: &str, is_ready: &str) -> Result<(), TaskError> {
        self.events.clear();
        self.call("Page.navigate", &json!({ "url": address }))?;
        self.wait_until(is_ready)
    }

    /// Waits until a JavaScript expression on the page is true.
    ///
    /// # Errors
    ///
    /// Fails if the expression is not true within a minute.
    pub(crate) fn wait_until(&mut self, expression: &str) -> Result<(), TaskError> {
        let end = Instant::now() + Duration::from_secs(60);
        while self.evaluate(&format!("Boolean({expression})"))? != json!(true) {
            if Instant::now() > end {
                let said = self.complaints();
                return Err(
                    format!("{expression} did not become true within a minute; {said:?}").into()
                );
            }
            thread::sleep(Duration::from_millis(50));
        }
        Ok(())
    }

    /// Returns the value of a JavaScript expression on the page. A promise is awaited.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`call`](Self::call), and if the expression throws.
    pub(crate) fn evaluate(&mut self, expression: &str) -> Result<Value, TaskError> {
        let command =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", &command)?;
        match answer.get("exceptionDetails") {
            Some(details) => Err(format!("{expression}: {details}").into()),
            None => Ok(answer["result"]["value"].clone()),
        }
    }

    /// Returns the exceptions, errors and warnings that the page has reported since it was opened.
    pub(crate) fn complaints(&mut self) -> Vec<String> {
        let events = std::mem::take(&mut self.events);
        events.iter().filter_map(complaint).collect()
    }

    /// Presses and releases a key.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`call`](Self::call).
    pub(crate) fn press(&mut self, key: &str, code: u32, text: &str) -> Result<(), TaskError> {
        let event = |kind: &str| json!({ "type": kind, "key": key, "windowsVirtualKeyCode": code, "text": text });
        self.call("Input.dispatchKeyEvent", &event("keyDown"))?;
        let up = json!({ "type": "keyUp", "key": key, "windowsVirtualKeyCode": code });
        self.call("Input.dispatchKeyEvent", &up)?;
        Ok(())
    }

    /// Draws along a line of points with the left mouse button. A single point is a click.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`call`](Self::call).
    pub(crate) fn draw(&mut self, points: &[(f64, f64)]) -> Result<(), TaskError> {
        let Some((first, last)) = points.first().zip(points.last()) else { return Ok(()) };
        self.mouse("mousePressed", *first)?;
        for point in points {
            self.mouse("mouseMoved", *point)?;
        }
        self.mouse("mouseReleased", *last)
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) -> Result<(), TaskError> {
        let event = json!({
            "type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1
        });
        self.call("Input.dispatchMouseEvent", &event)?;
        Ok(())
    }

    /// Shows the page in a window of this size, with light or dark colours.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`call`](Self::call).
    pub(crate) fn show_as(&mut self, size: [u32; 2], is_dark: bool) -> Result<(), TaskError> {
        let size = json!({
            "width": size[0], "height": size[1], "deviceScaleFactor": 1, "mobile": false
        });
        self.call("Emulation.setDeviceMetricsOverride", &size)?;
        let scheme = if is_dark { "dark" } else { "light" };
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", &media)?;
        Ok(())
    }

    /// Writes a screenshot of the page and returns its path.
    ///
    /// # Errors
    ///
    /// Fails in the same cases as [`call`](Self::call), and if the screenshot cannot be written.
    pub(crate) fn picture(&mut self, name: &str) -> Result<PathBuf, TaskError> {
        let answer = self.call("Page.captureScreenshot", &json!({ "format": "png" }))?;
        let bytes = STANDARD.decode(answer["data"].as_str().unwrap_or_default())?;
        let path = self.pictures.join(format!("{name}.png"));
        fs::write(&path, bytes)?;
        Ok(path)
    }
}

/// Returns the error or warning that an event contains.
fn complaint(event: &Value) -> Option<String> {
    let parameters = &event["params"];
    match event["method"].as_str()? {
        "Runtime.exceptionThrown" => Some(parameters["exceptionDetails"].to_string()),
        "Log.entryAdded" if parameters["entry"]["level"] == "error" => {
            Some(parameters["entry"]["text"].to_string())
        }
        "Runtime.consoleAPICalled"
            if ["error", "warning"].iter().any(|kind| parameters["type"] == *kind) =>
        {
            Some(parameters["args"].to_string())
        }
        _ => None,
    }
}
