/**
 * The console is tested as users have it: built, served by a real `perdure server` at `/ui/`, in a real browser. A suite begins with `const
 * ui = suiteConsole()`; each test opens pages, and fails when one of them complained (see `browser.ts`).
 */

import { afterAll, afterEach, beforeAll, jest } from "@jest/globals";
import { TestWorld } from "@perdure/conformance";
import { builtConsole, type RoleSettings } from "@perdure/dev-cluster";
import type { Page } from "playwright-core";
import { type View, Watched } from "./browser.js";
import { shop } from "./world/shop.js";
import { fillShop, type ShopData } from "./world/shop-data.js";

export {
  expectAccessible,
  expectLabelsInside,
  expectNoSidewaysScroll,
  expectNoSplitWords,
  textOf,
  type View,
} from "./browser.js";

export interface ConsoleOptions {
  /** Options of the server. */
  readonly settings?: RoleSettings;
  /** Data of the server: the shop and its day (when absent), the shop alone, or nothing. */
  readonly world?: "filled" | "shop" | "empty";
}

/** Starting everything, on a machine that builds the console first. */
const START_MS_MAX = 120_000;

/** One test: seconds, and more on a machine with much else to do. */
const TEST_MS_MAX = 60_000;

export class Console implements AsyncDisposable {
  readonly world: TestWorld;
  readonly browser: Watched;
  readonly #data: ShopData | undefined;

  private constructor(world: TestWorld, browser: Watched, data: ShopData | undefined) {
    this.world = world;
    this.browser = browser;
    this.#data = data;
  }

  static async start({ settings = {}, world: worldKind = "filled" }: ConsoleOptions = {}): Promise<Console> {
    await using started = new AsyncDisposableStack();
    await builtConsole();
    let world: TestWorld | undefined;
    const origins = () => (world === undefined ? [] : [originOf(world.server.adminUrl), originOf(world.server.ingressUrl)]);
    const browser = started.use(await Watched.start(origins));
    world = started.use(await TestWorld.start({ settings }));
    if (worldKind !== "empty") await world.deploy({ services: shop });
    const data = worldKind === "filled" ? await fillShop(world) : undefined;
    started.move();
    return new Console(world, browser, data);
  }

  /** Data of the shop; only of a filled one. */
  get data(): ShopData {
    if (this.#data === undefined) throw new Error("this console's shop was not filled");
    return this.#data;
  }

  /** `/invocations?status=running` → where the server shows it. */
  url(path: string): string {
    return `${originOf(this.world.server.adminUrl)}/ui${path}`;
  }

  /** A page of the console in a new window of a new user. */
  open(path: string, view: View = {}): Promise<Page> {
    return this.browser.open(this.url(path), view);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.world[Symbol.asyncDispose]();
    } finally {
      await this.browser[Symbol.asyncDispose]();
    }
  }
}

const originOf = (url: string): string => new URL(url).origin;

/** The console of a suite, in use from its first test to its last. */
export interface SuiteConsole extends Pick<Console, "open" | "url"> {
  readonly world: TestWorld;
  readonly browser: Watched;
  readonly data: ShopData;
}

/** Called once, outside of all tests. One server and one browser for the suite; windows live as long as a test. */
export function suiteConsole(options: ConsoleOptions = {}): SuiteConsole {
  let started: Console | undefined;
  const it = (): Console => {
    if (started === undefined) throw new Error("the console has not started");
    return started;
  };
  jest.setTimeout(TEST_MS_MAX);
  beforeAll(async () => {
    started = await Console.start(options);
  }, START_MS_MAX);
  afterEach(async () => started?.browser.closeAll());
  afterAll(async () => started?.[Symbol.asyncDispose]());
  return {
    open: (path, view) => it().open(path, view),
    url: (path) => it().url(path),
    get world() {
      return it().world;
    },
    get browser() {
      return it().browser;
    },
    get data() {
      return it().data;
    },
  };
}
