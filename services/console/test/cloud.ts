/** Common fixtures of suites of the cloud's pages: one cloud and one browser for the suite, signed-in users, and their windows. */

import { afterAll, afterEach, beforeAll } from "@jest/globals";
import type { RoleSettings } from "@perdure/dev-cluster";
import type { BrowserContext, Page } from "playwright-core";
import { type View, Watched } from "./browser.js";
import { CloudWorld, type SignedInUser } from "./cloud-world.js";

export {
  expectAccessible,
  expectLabelsInside,
  expectNoSidewaysScroll,
  expectNoSplitWords,
  textOf,
  type View,
} from "./browser.js";
export { CONSOLE_PASSWORD, type SignedInUser } from "./cloud-world.js";

/** Starting everything, on a machine that builds programs and console first. */
const START_MS_MAX = 240_000;

export interface SuiteCloud {
  readonly world: CloudWorld;
  readonly browser: Watched;
  url(path: string): string;
  /** A window of this signed-in user; undefined: of a user who is not signed in. */
  open(user: SignedInUser | undefined, path: string, view?: View): Promise<Page>;
  /** The user's browser, with any number of windows. */
  newContext(user: SignedInUser | undefined, view?: View): Promise<BrowserContext>;
}

/** Called once, outside of all tests. `settings`: of tenancy, beside the usual ones; `parts`: what only some suites need. */
export function suiteCloud(settings: RoleSettings = {}, parts: { readonly tunnels?: boolean } = {}): SuiteCloud {
  let world: CloudWorld | undefined;
  let browser: Watched | undefined;
  const started = <T>(part: T | undefined): T => {
    if (part === undefined) throw new Error("the cloud has not started");
    return part;
  };
  beforeAll(async () => {
    const [one, other] = await Promise.all([
      CloudWorld.start(settings, parts),
      Watched.start(() => (world === undefined ? [] : [world.origin])),
    ]);
    world = one;
    browser = other;
  }, START_MS_MAX);
  afterEach(async () => browser?.closeAll());
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]();
    await world?.[Symbol.asyncDispose]();
  }, START_MS_MAX);
  const newContext = async (user: SignedInUser | undefined, view: View = {}): Promise<BrowserContext> => {
    const context = await started(browser).newContext(view);
    if (user !== undefined) await context.addCookies(user.cookies);
    return context;
  };
  return {
    get world() {
      return started(world);
    },
    get browser() {
      return started(browser);
    },
    url: (path) => `${started(world).origin}${path}`,
    newContext,
    async open(user, path, view) {
      const page = await (await newContext(user, view)).newPage();
      await page.goto(`${started(world).origin}${path}`);
      return page;
    },
  };
}
