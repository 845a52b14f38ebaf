import { createRequire } from "node:module";
import type { Browser, BrowserServer } from "playwright-core";
import { chromiumProgram } from "./chromium.js";

/**
 * Loaded when a browser is needed, because the other programs of this package start without it; not bundled, because it loads files of its
 * own package.
 */
const playwright = () => createRequire(import.meta.url)("playwright-core") as typeof import("playwright-core");

/** Addresses of the browsers of one run, one for each worker, as JSON; set by `deploy/testing/run.mjs`. */
const SHARED_BROWSERS = "SHARED_BROWSERS";

/** Everything comes from this machine, and containers allow no sandbox. `*.test` are names whose owners point to this machine. */
const ARGS = ["--no-sandbox", "--disable-gpu", "--font-render-hinting=none", "--host-resolver-rules=MAP *.test 127.0.0.1"];

/** A browser that other processes connect to by its `wsEndpoint()`. The caller closes it. */
export async function startSharedBrowser(): Promise<BrowserServer> {
  const { chromium } = playwright();
  return chromium.launchServer({ ...(await launchOptions()), host: "127.0.0.1" });
}

/**
 * The browser that the suites of this worker share, or one of its own where a suite runs by itself. Closing it closes the windows that were
 * opened through it; cookies, storage and caches belong to a context, so suites share none. Rejects when there is no Chromium.
 */
export async function openBrowser(): Promise<Browser> {
  const { chromium } = playwright();
  const shared = process.env[SHARED_BROWSERS];
  if (shared === undefined) return chromium.launch(await launchOptions());
  const addresses = JSON.parse(shared) as readonly string[];
  const worker = Number(process.env["JEST_WORKER_ID"] ?? 1);
  return chromium.connect(addresses[(worker - 1) % addresses.length] as string);
}

async function launchOptions() {
  const { path, env } = await chromiumProgram();
  return { executablePath: path, env: { ...process.env, ...env }, args: ARGS };
}
