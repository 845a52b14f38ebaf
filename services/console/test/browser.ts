/**
 * Opens pages in a real Chromium and records everything that its developer tools would show (an error, a page that broke, a violation of
 * the policy, a request to another origin), which makes the test fail.
 */
/// <reference lib="dom" />
import { text } from "node:stream/consumers";
import { AxeBuilder } from "@axe-core/playwright";
import { openBrowser } from "@perdure/servers";
import type { Browser, BrowserContext, BrowserContextOptions, Download, Page } from "playwright-core";

/** Options of a window. */
export interface View {
  /** Width of the window, in pixels; 1280 when absent, 360 for a phone. */
  readonly width?: number;
  /** 860 when absent. */
  readonly height?: number;
  readonly dark?: boolean;
  /** Answers with an error status belong to the test; the browser logs each to its console. */
  readonly mayFail?: boolean;
  /** Further options of Playwright's browser context: earlier cookies, a time zone. */
  readonly context?: BrowserContextOptions;
}

/** The levels that axe checks; everything of AA. */
const LEVELS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Timeout for one thing on a page: the slowest of ours is a chart on a busy machine. */
const TIMEOUT_MS = 10_000;

/** Chromium's message for an answer with an error status, or for no answer. */
const FAILED_LOAD = /^Failed to load resource/;

/** A browser, its windows, and what they complained of. */
export class Watched implements AsyncDisposable {
  readonly browser: Browser;
  readonly #origins: () => readonly string[];
  readonly #contexts: BrowserContext[] = [];
  #complaints: string[] = [];

  private constructor(browser: Browser, origins: () => readonly string[]) {
    this.browser = browser;
    this.#origins = origins;
  }

  /** `origins`: where pages may send requests. */
  static async start(origins: () => readonly string[]): Promise<Watched> {
    return new Watched(await openBrowser(), origins);
  }

  /** A window of a new user, at this address. */
  async open(url: string, view: View = {}): Promise<Page> {
    const page = await (await this.newContext(view)).newPage();
    await page.goto(url);
    return page;
  }

  /** A user with cookies and storage of their own, with any number of windows. */
  async newContext({
    width = 1280,
    height = 860,
    dark = false,
    mayFail = false,
    context = {},
  }: View = {}): Promise<BrowserContext> {
    const browserContext = await this.browser.newContext({
      viewport: { width, height },
      colorScheme: dark ? "dark" : "light",
      reducedMotion: "reduce",
      // Without one Chromium takes the locale from the environment, where it may be invalid.
      locale: "en-GB",
      ...context,
    });
    this.#contexts.push(browserContext);
    browserContext.setDefaultTimeout(TIMEOUT_MS);
    this.#listen(browserContext, mayFail);
    return browserContext;
  }

  #listen(browserContext: BrowserContext, mayFail: boolean): void {
    const complain = (what: string) => this.#complaints.push(what);
    browserContext.on("console", (message) => {
      if (message.type() !== "error" || (mayFail && FAILED_LOAD.test(message.text()))) return;
      complain(`${message.page()?.url()}: ${message.text()} (${message.location().url})`);
    });
    browserContext.on("weberror", (error) => complain(`${error.page()?.url()}: ${error.error().stack ?? error.error().message}`));
    browserContext.on("request", (request) => {
      const { protocol, origin } = new URL(request.url());
      const isNear = protocol === "data:" || protocol === "blob:" || protocol === "about:";
      if (!isNear && !this.#origins().includes(origin)) complain(`a request to ${request.url()}`);
    });
    // The test answers no such dialog: the page would hang.
    browserContext.on("dialog", (dialog) => {
      complain(`a dialog: ${dialog.message()}`);
      void dialog.dismiss();
    });
  }

  /** Complaints since the last call, for a test that expects complaints. */
  takeComplaints(): readonly string[] {
    return this.#complaints.splice(0);
  }

  /** Closes all windows. Throws when any of them complained. */
  async closeAll(): Promise<void> {
    for (const context of this.#contexts.splice(0)) await context.close();
    const complaints = this.takeComplaints();
    if (complaints.length > 0) throw new Error(`the browser complained:\n${complaints.join("\n")}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.browser.close();
  }
}

/** Contents of a download. Not its path, because the browser may be another process's. */
export async function textOf(download: Download): Promise<string> {
  return await text(await download.createReadStream());
}

/** Throws with what axe has against the page as it is now, and where. */
export async function expectAccessible(page: Page): Promise<void> {
  // Colours on their way are neither here nor there.
  await page.evaluate(() => Promise.allSettled(document.getAnimations().map((one) => one.finished)));
  const { violations } = await new AxeBuilder({ page }).withTags(LEVELS).analyze();
  const messages = violations.flatMap(({ id, help, nodes }) => nodes.map((node) => `${id}: ${help}\n    ${node.html}`));
  if (messages.length > 0) throw new Error(`axe on ${page.url()}:\n${messages.join("\n")}`);
}

/** Throws when the page must be scrolled sideways. */
export async function expectNoSidewaysScroll(page: Page): Promise<void> {
  const wide = await page.evaluate(() => {
    const viewportWidth = document.documentElement.clientWidth;
    if (document.documentElement.scrollWidth <= viewportWidth && document.body.scrollWidth <= viewportWidth) {
      const main = document.querySelector("main");
      if (main === null || main.scrollWidth <= main.clientWidth) return undefined;
    }
    const beyond = [...document.querySelectorAll("body *")].filter(
      (one) => one.getBoundingClientRect().right > viewportWidth + 1,
    );
    return beyond.slice(0, 5).map((one) => one.outerHTML.slice(0, 200));
  });
  if (wide !== undefined) throw new Error(`${page.url()} is wider than its window:\n${wide.join("\n")}`);
}

/** Length above which a run of letters and digits is not a word: it may fill more than a line. */
const WORD_CHARS_MAX = 40;

/** Throws when a word (letters and digits in a row) begins on one line and ends on another, or a table must be scrolled sideways. */
export async function expectNoSplitWords(page: Page): Promise<void> {
  const problems = await page.evaluate((charsMax) => {
    const split: string[] = [];
    const texts = document.createTreeWalker(document.querySelector("main") ?? document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      if (node.parentElement?.closest("pre, .cm-editor, .visually-hidden") !== null) continue;
      for (const { 0: word, index } of (node.nodeValue ?? "").matchAll(/[\p{L}\p{N}]{2,}/gu)) {
        range.setStart(node, index);
        range.setEnd(node, index + word.length);
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
        if (lines.size > 1 && word.length <= charsMax) split.push(`${word}, on ${lines.size} lines, in ${node.nodeValue}`);
      }
    }
    const scrolledTables = [...document.querySelectorAll<HTMLElement>(".table-room")].filter(
      (one) => one.scrollWidth > one.clientWidth,
    );
    return [...split, ...scrolledTables.map((one) => `table ${one.ariaLabel}: ${one.scrollWidth} px in ${one.clientWidth}`)];
  }, WORD_CHARS_MAX);
  if (problems.length > 0) throw new Error(`${page.url()} splits words, or its tables do not fit:\n${problems.join("\n")}`);
}

/** Throws when a label of a drawing is outside of its SVG, or two of them overlap. */
export async function expectLabelsInside(page: Page): Promise<void> {
  const problems = await page.evaluate(() =>
    [...document.querySelectorAll<SVGSVGElement>("main svg")].flatMap((svg) => {
      const bounds = svg.getBoundingClientRect();
      const labels = [...svg.querySelectorAll("text")].map((one) => ({
        text: one.textContent,
        box: one.getBoundingClientRect(),
      }));
      const shown = labels.filter(({ box }) => box.width > 0).sort((a, b) => a.box.left - b.box.left);
      return shown.flatMap(({ text, box }, i) => {
        const next = shown[i + 1];
        if (box.left < bounds.left - 0.5 || box.right > bounds.right + 0.5) return [`${text} is beyond its drawing`];
        return next !== undefined && next.box.left < box.right ? [`${text} and ${next.text} overlap`] : [];
      });
    }),
  );
  if (problems.length > 0) throw new Error(`${page.url()}: ${problems.join(", ")}`);
}
