//! Tests the page of example 19 like a person would use it: with mouse and keyboard, in light and
//! dark colours, and on a narrow screen.

use serde_json::{Value, json};
use tasks::checks::{Checks, same};

use super::browser::Browser;
use crate::TaskError;

/// The window sizes of a desktop and of a telephone.
const WIDE: [u32; 2] = [1_200, 1_000];
const NARROW: [u32; 2] = [380, 1_600];

/// Opens the page, and checks what it shows and how it responds.
///
/// # Errors
///
/// Fails if the browser fails.
pub(crate) fn run(
    browser: &mut Browser,
    address: &str,
    checks: &mut Checks,
) -> Result<(), TaskError> {
    browser.new_page()?;
    browser.show_as(WIDE, false)?;
    browser.open(address, "globalThis.pool?.isReady")?;
    let mut page = Page { browser, checks };
    page.holds("WebGPU is available", "pool.hasDevice")?;
    page.holds("the host's picture is bit-identical to native code's", "pool.hostAgrees")?;
    page.holds("the device's integers are bit-identical to the host's", "pool.deviceAgrees")?;
    page.figures()?;
    page.heat()?;
    page.appearance()?;
    page.camera()?;
    page.host()?;
    page.hidden()?;
    page.endings()?;
    page.without_webgpu(address)
}

struct Page<'a> {
    browser: &'a mut Browser,
    checks: &'a mut Checks,
}

impl Page<'_> {
    /// Checks that an expression is true.
    fn holds(&mut self, name: &str, expression: &str) -> Result<(), TaskError> {
        let found = self.browser.evaluate(expression)?;
        self.checks.that(name, same(&found, &json!(true)));
        Ok(())
    }

    fn number(&mut self, expression: &str) -> Result<f64, TaskError> {
        let found = self.browser.evaluate(expression)?;
        found
            .as_f64()
            .ok_or_else(|| format!("{expression} is {found}, which is not a number").into())
    }

    /// Waits until this number of further frames has been shown.
    fn frames(&mut self, count: u32) -> Result<(), TaskError> {
        let end = self.number("pool.frames")? + f64::from(count);
        self.browser.wait_until(&format!("pool.frames >= {end}"))
    }

    /// Checks that the page has reported no error so far.
    fn is_silent(&mut self, name: &str) {
        let said = self.browser.complaints();
        self.checks.that(name, same(&said, &Vec::new()));
    }

    /// Runs both variants of the video filter alternately, selected with the keyboard. Prints what
    /// they create, and the host's time for a frame.
    fn figures(&mut self) -> Result<(), TaskError> {
        const FRAMES: u32 = 60;

        let mut warm_pool = true;
        for round in 1..=2 {
            for (key, code, way) in [("ArrowUp", 38, "pool"), ("ArrowDown", 40, "created")] {
                self.browser.evaluate("document.querySelector('[name=way]:checked').focus()")?;
                if !(round == 1 && way == "pool") {
                    self.browser.press(key, code, "")?;
                }
                let is_pooled = way == "pool";
                self.holds(
                    &format!("round {round}: the keyboard selects \"{way}\""),
                    &format!("pool.isPooled === {is_pooled}"),
                )?;
                self.frames(if warm_pool { 10 } else { 4 })?;
                warm_pool = false;
                self.browser.evaluate(&format!("pool.hostTimes.{way}.length = 0"))?;
                let created = self.created(is_pooled)?;
                let frames = self.number("pool.frames")?;
                self.frames(FRAMES)?;
                let now = self.created(is_pooled)?;
                let frames = self.number("pool.frames")? - frames;
                let [buffers, groups] = [now[0] - created[0], now[1] - created[1]];
                let micros = self.number(&format!(
                    "(times => times[times.length >> 1])(pool.hostTimes.{way}.toSorted((a, b) => a - b))"
                ))?;
                println!(
                    "    {way}: {frames} frames, {micros:.0} µs of processor time per frame (median), \
                     {buffers} buffers and {groups} bind groups created"
                );
                let is_right = if is_pooled {
                    buffers + groups == 0.0
                } else {
                    buffers >= 8.0 * (frames - 1.0) && groups >= 6.0 * (frames - 1.0)
                };
                let name = if is_pooled {
                    "the pool creates nothing"
                } else {
                    "each frame creates objects"
                };
                self.assert(&format!("round {round}: {name}"), is_right, (buffers, groups, frames));
            }
        }
        // The frames of the two variants are not equal by chance.
        self.browser.press("ArrowUp", 38, "")?;
        self.frames(2)
    }

    fn assert(&mut self, name: &str, held: bool, why: impl std::fmt::Debug) {
        self.checks.that(name, if held { Ok(()) } else { Err(format!("{why:?}")) });
    }

    fn created(&mut self, is_pooled: bool) -> Result<[f64; 2], TaskError> {
        let of = |what: &str| format!("pool.video.{what}({is_pooled})");
        Ok([self.number(&of("buffers"))?, self.number(&of("bind_groups"))?])
    }

    /// Draws into the simulation of the heat equation.
    fn heat(&mut self) -> Result<(), TaskError> {
        const WARMTH: &str = "document.getElementById('heat-plane').getContext('2d')\
            .getImageData(0, 0, 192, 192).data.reduce((sum, byte) => sum + byte, 0)";

        self.browser.evaluate("document.getElementById('heat-plane').scrollIntoView()")?;
        self.frames(2)?;
        let before = self.number(WARMTH)?;
        let place = self.browser.evaluate(
            "(box => [box.left, box.top, box.width, box.height])\
             (document.getElementById('heat-plane').getBoundingClientRect())",
        )?;
        let [left, top, width, height]: [f64; 4] = serde_json::from_value(place)?;
        let points: Vec<_> = (0..40)
            .map(|step| f64::from(step) / 40.0)
            .map(|at| {
                (left + width * (0.15 + 0.7 * at), top + height * (0.5 + 0.3 * (9.0 * at).sin()))
            })
            .collect();
        self.browser.draw(&points)?;
        self.frames(3)?;
        let after = self.number(WARMTH)?;
        self.assert("the mouse heats the plane", after > before * 1.02, (before, after));
        self.browser.evaluate("document.getElementById('heat-plane').focus()")?;
        let warmed = self.number("pool.warmed")?;
        for _ in 0..8 {
            self.browser.press("ArrowLeft", 37, "")?;
        }
        self.browser.press(" ", 32, " ")?;
        let again = self.number("pool.warmed")?;
        self.assert(
            "the keyboard heats the plane",
            (again - warmed - 1.0).abs() < 0.5,
            (warmed, again),
        );
        self.is_silent("no errors and no warnings so far");
        Ok(())
    }

    /// Takes screenshots of the page, and checks that it fits each window.
    fn appearance(&mut self) -> Result<(), TaskError> {
        for (name, size, is_dark) in
            [("light", WIDE, false), ("dark", WIDE, true), ("narrow", NARROW, false)]
        {
            self.browser.show_as(size, is_dark)?;
            self.browser.evaluate("scrollTo(0, 0)")?;
            self.frames(12)?;
            self.holds(
                &format!("the page fits in a {name} window"),
                "document.documentElement.scrollWidth <= innerWidth",
            )?;
            println!("    {}", self.browser.picture(name)?.display());
        }
        self.browser.show_as(WIDE, false)
    }

    /// Checks the camera, which shows the test picture of the browser.
    fn camera(&mut self) -> Result<(), TaskError> {
        self.browser.evaluate("document.getElementById('camera').click()")?;
        self.browser.wait_until("pool.hasCamera !== undefined")?;
        self.holds("the camera replaces the film", "pool.hasCamera")?;
        self.frames(3)?;
        self.browser.evaluate("document.getElementById('camera').click()")?;
        self.is_silent("the camera causes no errors");
        Ok(())
    }

    /// Prints the host's figures, and checks that many scopes do not increase the memory of the
    /// instance.
    fn host(&mut self) -> Result<(), TaskError> {
        for round in 1..=2 {
            self.browser.evaluate("document.getElementById('measure').click()")?;
            let figures = self.browser.evaluate("pool.hostResults")?;
            let figure = |way: &str, what: &str| figures[way][what].as_f64().unwrap_or(f64::NAN);
            println!(
                "    round {round}: three arrays {:.1} ns with Pool<Cpu>, {:.1} with Vec; \
                 a frame of 64 × 64 {:.0} and {:.0} µs",
                figure("pool", "arrays"),
                figure("vec", "arrays"),
                figure("pool", "frame"),
                figure("vec", "frame"),
            );
        }
        self.browser.evaluate("pool.isPaused = true, pool.host.three_arrays(1000, true)")?;
        let pages = self.number("pool.memoryPages()")?;
        self.browser.evaluate("pool.host.three_arrays(1_000_000, true)")?;
        let grown = self.number("pool.memoryPages()")? - pages;
        self.assert("a million scopes do not grow the memory", grown == 0.0, grown);
        self.browser.evaluate("pool.isPaused = false")?;
        self.frames(2)
    }

    /// Checks that a page that was hidden by another page continues when it is shown again.
    fn hidden(&mut self) -> Result<(), TaskError> {
        let created = self.created(true)?;
        let other = self.browser.call("Target.createTarget", &json!({ "url": "about:blank" }))?;
        std::thread::sleep(std::time::Duration::from_millis(500));
        let is_hidden = self.browser.evaluate("document.visibilityState")? == json!("hidden");
        println!("    another page hides this page: {is_hidden}");
        let other = json!({ "targetId": other["targetId"] });
        self.browser.call("Target.closeTarget", &other)?;
        self.browser.call("Page.bringToFront", &json!({}))?;
        self.frames(5)?;
        let now = self.created(true)?;
        self.assert("a hidden page continues and creates nothing", created == now, (created, now));
        self.is_silent("a hidden page reports no errors");
        Ok(())
    }

    /// Checks pending reads when the device is lost, and when all pools are dropped.
    fn endings(&mut self) -> Result<(), TaskError> {
        self.browser.evaluate(
            "pool.isPaused = true; pool.pending = pool.video.frame(new Uint8Array(256 * 256), true)\
             .then(() => 'read', () => 'failed'); pool.device.lose()",
        )?;
        let pending = self.browser.evaluate("pool.pending")?;
        self.assert("a pending read ends when the device is lost", pending.is_string(), &pending);
        self.browser.evaluate("pool.isPaused = false")?;
        self.browser.wait_until("pool.isLost")?;
        // A frame can fail before the browser reports to the device that it is lost.
        self.browser.wait_until("pool.device.is_lost()")?;
        self.holds(
            "the page says that the device is lost",
            "document.getElementById('status').textContent.includes('The device is lost')",
        )?;
        self.browser.evaluate("pool.video.free(), pool.heat.free()")?;
        let blocks = self.browser.evaluate("pool.device.blocks()")?;
        self.checks.that("no blocks are left", same(&blocks, &json!(0)));
        let panics = self.browser.complaints();
        let panics: Vec<_> = panics
            .iter()
            .filter(|said| said.contains("panic") || said.contains("unreachable"))
            .collect();
        self.assert("nothing panics", panics.is_empty(), &panics);
        Ok(())
    }

    /// Checks the page in a browser without WebGPU.
    fn without_webgpu(&mut self, address: &str) -> Result<(), TaskError> {
        self.browser.new_page()?;
        self.browser.show_as(WIDE, false)?;
        let script: Value = json!({ "source": "delete Navigator.prototype.gpu" });
        self.browser.call("Page.addScriptToEvaluateOnNewDocument", &script)?;
        self.browser.open(address, "globalThis.pool?.isReady")?;
        self.holds(
            "the page says that WebGPU is missing",
            "document.getElementById('status').textContent.includes('no WebGPU')",
        )?;
        self.holds(
            "without WebGPU, the page shows the host part",
            "pool.hostAgrees && document.getElementById('video').hidden",
        )?;
        self.is_silent("without WebGPU, the page reports no errors");
        Ok(())
    }
}
