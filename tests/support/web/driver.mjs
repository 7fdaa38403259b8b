// SPDX-License-Identifier: Apache-2.0
// driver.mjs - a headless Chromium that does what lines of JSON on the standard input say, for tests/support/browser.py.
// A line {"id", "op", "tab", …} is answered by one {"id", "value"} or {"id", "error"}.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";

const require = createRequire(`${process.argv[2]}/package.json`); // the folder whose node_modules are used
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"];
const browser = await chromium.launch({ executablePath: process.argv[3], args: FLAGS });
const tabs = new Map();
const PATIENCE_MS = 180_000; // of conditions that become true unless something is broken: a loaded machine must not end it

async function open({ tab, options }) {
  const context = await browser.newContext(options);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  const seen = { page, context, requests: [], errors: [] };
  page.on("request", (request) => seen.requests.push(`${request.method()} ${request.url()}`));
  page.on("pageerror", (failure) => seen.errors.push(String(failure)));
  page.on("console", (line) => line.type() === "error" && !/^Failed to load resource/.test(line.text()) && seen.errors.push(line.text()));
  tabs.set(tab, seen);
}

async function wait({ tab, code, patience_ms = PATIENCE_MS }) {
  const { page } = tabs.get(tab);
  for (const end = Date.now() + patience_ms; !(await page.evaluate(code)); await new Promise((done) => setTimeout(done, 40)))
    if (Date.now() > end) throw new Error(`not in ${patience_ms} ms; the page has: ${(await page.evaluate("document.body.innerText")).slice(0, 1000)}`);
}

const ops = {
  open,
  close: async ({ tab }) => { await tabs.get(tab).context.close(); tabs.delete(tab); },
  go: ({ tab, url }) => tabs.get(tab).page.goto(url).then(() => null),
  reload: ({ tab }) => tabs.get(tab).page.reload().then(() => null),
  evaluate: ({ tab, code }) => tabs.get(tab).page.evaluate(code),
  wait, // page.waitForFunction would need eval in the page
  click: ({ tab, selector }) => tabs.get(tab).page.click(selector),
  fill: ({ tab, selector, text }) => tabs.get(tab).page.fill(selector, text),
  choose: ({ tab, selector, value }) => tabs.get(tab).page.selectOption(selector, value),
  press: ({ tab, key }) => tabs.get(tab).page.keyboard.press(key),
  type: ({ tab, text }) => tabs.get(tab).page.keyboard.type(text),
  file: ({ tab, selector, path }) => tabs.get(tab).page.setInputFiles(selector, path),
  media: ({ tab, media }) => tabs.get(tab).page.emulateMedia(media),
  shot: ({ tab, path, whole }) => tabs.get(tab).page.screenshot({ path, fullPage: whole }).then(() => null),
  pdf: ({ tab, path }) => tabs.get(tab).page.pdf({ path, format: "A4" }).then(() => null),
  throttle: async ({ tab, network }) => { const session = await tabs.get(tab).context.newCDPSession(tabs.get(tab).page); await session.send("Network.enable"); await session.send("Network.emulateNetworkConditions", network); },
  seen: ({ tab }) => { const { requests, errors } = tabs.get(tab); return { requests: requests.splice(0), errors: errors.splice(0) }; },
  saved: async ({ tab, selector, path }) => { // what a click downloads
    const [download] = await Promise.all([tabs.get(tab).page.waitForEvent("download", { timeout: 300_000 }), tabs.get(tab).page.click(selector)]);
    await download.saveAs(path);
    return download.suggestedFilename();
  },
  axe: async ({ tab }) => {
    const { page } = tabs.get(tab);
    if (!(await page.evaluate("'axe' in window"))) await page.evaluate(axe); // half a megabyte to parse
    const { violations } = await page.evaluate("axe.run(document, { resultTypes: ['violations'] })");
    return violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.slice(0, 3).map((n) => n.target.join(" ")).join(" | ")}`);
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const ask = JSON.parse(line);
  try {
    process.stdout.write(JSON.stringify({ id: ask.id, value: (await ops[ask.op](ask)) ?? null }) + "\n");
  } catch (failure) {
    process.stdout.write(JSON.stringify({ id: ask.id, error: String(failure).slice(0, 2000) }) + "\n");
  }
}
await browser.close();
