/**
 * Compares pages with stored pictures. What differs from run to run is made equal before a picture is taken: the font, digits, ids, times,
 * and drawings of measured values. Pictures have half the size of the window, which is enough to find what moved or changed its colour.
 */
/// <reference lib="dom" />
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ROOT } from "@perdure/dev-cluster";
import { packagedFonts } from "@perdure/servers";
import pixelmatch from "pixelmatch";
import type { Page } from "playwright-core";
import { PNG } from "pngjs";
import type { View } from "./console.js";

const STORED = join(ROOT, "services/console/testdata/visual");
/** Pictures that differ from the stored ones, for a person to compare. */
const DIFFERENT = join(ROOT, "services/console/dist/visual");
const isRenewal = process.env["PERDURE_VISUAL"] === "1";

/** Smaller differences of a pixel's colour are those of another release of the browser. */
const COLOUR_DIFFERENCE = 0.15;
/** Share of the pixels that may differ: less than a button has on the largest window. */
const SHARE_MAX = 0.001;
/** An answer of the server may change a page between two pictures. */
const PICTURES_MAX = 4;
const PAUSE_MS = 1_000;

/** Options of a window whose pages are compared. The policy of the pages forbids the font. */
export function pictureView(width: number, dark: boolean): View {
  return { width, height: 900, dark, context: { deviceScaleFactor: 0.5, bypassCSP: true, timezoneId: "UTC" } };
}

/** Throws when the page differs from its stored picture, with the places of both. */
export async function expectStoredPicture(page: Page, name: string): Promise<void> {
  await prepare(page);
  const path = join(STORED, `${name}.png`);
  if (isRenewal) {
    mkdirSync(STORED, { recursive: true });
    writeFileSync(path, await pictureOf(page));
    return;
  }
  if (!existsSync(path)) throw new Error(`there is no picture ${name}: run make visual`);
  const stored = readFileSync(path);
  for (let count = 1; ; count++) {
    const picture = await pictureOf(page);
    const difference = differenceOf(stored, picture);
    if (difference === undefined) return;
    if (count < PICTURES_MAX) {
      await delay(PAUSE_MS);
      continue;
    }
    mkdirSync(DIFFERENT, { recursive: true });
    writeFileSync(join(DIFFERENT, `${name}.png`), picture);
    if (difference.image !== undefined) writeFileSync(join(DIFFERENT, `${name}-difference.png`), difference.image);
    throw new Error(`${name} ${difference.message}; see ${DIFFERENT}, and run make visual when that is right`);
  }
}

interface Difference {
  readonly message: string;
  readonly image: Uint8Array | undefined;
}

/** Undefined when the pictures are alike. */
export function differenceOf(stored: Buffer, taken: Buffer): Difference | undefined {
  const [before, after] = [PNG.sync.read(stored), PNG.sync.read(taken)];
  const { width, height } = before;
  if (after.width !== width || after.height !== height) {
    return { message: `has ${after.width}×${after.height} pixels, not ${width}×${height}`, image: undefined };
  }
  const image = new PNG({ width, height });
  const count = pixelmatch(before.data, after.data, image.data, width, height, { threshold: COLOUR_DIFFERENCE });
  const share = count / (width * height);
  return share <= SHARE_MAX
    ? undefined
    : { message: `differs in ${(share * 100).toFixed(2)} % of its pixels`, image: PNG.sync.write(image) };
}

async function prepare(page: Page): Promise<void> {
  await page.addStyleTag({ content: await styles() });
  await page.evaluate(() => Promise.all(["400 1rem Packaged", "700 1rem Packaged"].map((font) => document.fonts.load(font))));
  await page.mouse.move(0, 0);
}

export async function pictureOf(page: Page): Promise<Buffer> {
  await page.locator("main .loading").first().waitFor({ state: "detached" });
  await page.evaluate(freeze);
  return await page.screenshot({ animations: "disabled", caret: "hide" });
}

/** Drawings and texts of measured values: their place stays empty. */
const MEASURED =
  ".uplot, .tl__exact, .trend > *, .runs-bars__drawing > *, .tl__scale > *, .tl__marks > *, .tl__lane > *, .cm-cursorLayer";
/** Numbers, phases of which a fast run has none, and the steps that happened to take most of the time. */
const MEASURED_PARTS = ".chart__entry .number, .tl-legend li:not(:last-child), .tl-path__parts li";

let css: Promise<string> | undefined;

/** Rules that make pages of all machines equal. */
export function styles(): Promise<string> {
  css ??= packagedFonts().then((fonts) => {
    const faces = [...fonts].map(([weight, bytes]) => {
      const source = `url(data:font/ttf;base64,${Buffer.from(bytes).toString("base64")})`;
      return `@font-face { font-family: Packaged; font-weight: ${weight}; src: ${source}; }`;
    });
    return `${faces.join("\n")} * { font-family: Packaged !important; } ${MEASURED} { visibility: hidden !important; } ${MEASURED_PARTS} { display: none !important; } .tl__exact { white-space: nowrap !important; }`;
  });
  return css;
}

/** Runs in the page. Texts that React renders again are replaced again before they are painted. */
function freeze(): void {
  const rules: readonly (readonly [RegExp, string])[] = [
    [/\b(inv|dp|sub|sign|op|prom|batch)_[\p{L}\p{N}…_-]+/gu, "$1_0000000"],
    [/\bjust now\b|\b(?:in )?\d[\d.,]*\s?(?:µs|ms|s|min|h|d)\b(?: \d+ (?:s|min|h)\b)?(?: ago)?/gu, "0 s"],
    [/\d[\d.,:]*/gu, "0"],
  ];
  const replaceTexts = () => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = texts.nextNode(); node !== null; node = texts.nextNode()) {
      const text = node.nodeValue ?? "";
      const frozen = rules.reduce((now, [pattern, replacement]) => now.replace(pattern, replacement), text);
      if (frozen !== text) node.nodeValue = frozen;
    }
  };
  replaceTexts();
  new MutationObserver(replaceTexts).observe(document.body, { subtree: true, childList: true, characterData: true });
}
