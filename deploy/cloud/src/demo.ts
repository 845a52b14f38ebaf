/**
 * A demo of the platform in the order in which a new user meets it: sign up, log in, environments, a service on this machine behind a
 * tunnel, calls through the gateway with a key and through a port of this machine without one, requests that must be refused, usage; with
 * both command-line tools.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { ROOT } from "@perdure/dev-cluster";
import { greeterListens, startGreeter } from "@perdure/example-greeter/demo/greeter-program";
import { fact, heading, line, paint, waitFor } from "@perdure/example-greeter/demo/terminal";
import type { ProcessGroup } from "@perdure/processes";
import { BrowserClient } from "@perdure/tenancy/visitor";
import { CommandLine } from "./command-line.js";
import type { CloudSettings } from "./settings.js";

const EMAIL = "ada@example.com";
const PASSWORD = "correct horse battery staple";
const KEY_DESCRIPTION = "of make cloud";
const USAGE_MS_MAX = 60_000;
const POLL_MS = 250;

interface DemoEnvironment {
  readonly name: string;
  readonly ingressUrl: string;
  readonly adminUrl: string;
}

export class CloudDemo {
  readonly #apiUrl: string;
  readonly #settings: CloudSettings;
  readonly #group: ProcessGroup;
  readonly #shell: CommandLine;
  #invitations: readonly string[] = [];

  /** `group`: gets the programs that keep running. */
  constructor(apiUrl: string, settings: CloudSettings, group: ProcessGroup) {
    this.#apiUrl = apiUrl;
    this.#settings = settings;
    this.#group = group;
    const home = join(settings.directory, "home");
    mkdirSync(home, { recursive: true });
    const inherited = Object.entries(process.env).filter(([name]) => !/^(PERDURE|RESTATE|XDG)_/.test(name));
    const env = { ...Object.fromEntries(inherited), HOME: home, PERDURE_API_URL: apiUrl, DO_NOT_TRACK: "1" };
    this.#shell = new CommandLine({ cwd: home, env });
  }

  /** Credentials of the demo's user, so that a user can continue with them. */
  readonly credentials = `${EMAIL}, "${PASSWORD}"`;

  /** Local URL of the environment's ingress, through the tunnel. */
  get #hereUrl(): string {
    return `http://localhost:${this.#settings.ports.ingressHere}`;
  }

  /** Commands that a user may type next. */
  invitations(): readonly string[] {
    return this.#invitations;
  }

  /** Whether everything came true. */
  async run(): Promise<boolean> {
    await this.#logIn();
    const [dev, staging] = await this.#environments();
    await this.#useIt(dev);
    const key = await this.#key(dev);
    await this.#connect(dev);
    await this.#call(dev, key);
    await this.#callHere();
    const isKeptApart = await this.#tryOthers(dev, staging, key);
    await this.#usage(dev);
    await this.#backHome();
    this.#invitations = [
      `curl ${dev.ingressUrl}/Greeter/greet -H 'authorization: Bearer ${key}' --json '"Grace"'`,
      `curl ${this.#hereUrl}/Greeter/greet --json '"Grace"'`,
      `HOME=${join(this.#settings.directory, "home")} ./perdure invocations list -e dev`,
    ];
    return isKeptApart;
  }

  #perdure(...args: string[]): Promise<string> {
    return this.#shell.run("perdure", join(ROOT, "perdure"), args);
  }

  #readJson(...args: string[]): Promise<unknown> {
    return this.#shell.readJson(join(ROOT, "perdure"), [...args, "--json"]);
  }

  /** The official command line. */
  #restate(args: readonly string[], matters?: RegExp): Promise<string> {
    const options = matters === undefined ? {} : { matters };
    return this.#shell.run("restate", join(ROOT, "node_modules/.bin/restate"), args, options);
  }

  // ── login ──────────────────────────────────────────────────────────────────────────────────────

  async #logIn(): Promise<void> {
    heading("Ada signs up in her browser and logs in from her terminal");
    const browser = new BrowserClient(this.#apiUrl, "A browser");
    const { status, location } = await browser.submit("/sign-up", "/sign-up", { email: EMAIL, password: PASSWORD, name: "Ada" });
    if (status === 303 && !location.includes("sign-up")) fact(`signed up as ${EMAIL}: no card, no form of ten fields`);
    else {
      const again = await browser.submit("/login", "/login", { email: EMAIL, password: PASSWORD });
      if (again.status !== 303) throw new Error(`signing in answered ${again.status}: ${again.text}`);
      fact(`${EMAIL} is here since an earlier run`);
    }
    let approval: Promise<void> | undefined;
    await this.#shell.run("perdure", join(ROOT, "perdure"), ["login", "--no-browser"], {
      onLine: (text) => {
        const link = /https?:\/\/\S+\/device\S*/.exec(text)?.[0];
        if (link !== undefined) approval ??= this.#approve(browser, link);
      },
    });
    await approval;
  }

  /** Approves a login as a click on the page does: opening the page alone approves nothing. */
  async #approve(browser: BrowserClient, link: string): Promise<void> {
    const { pathname, search } = new URL(link);
    const answer = await browser.submit(`${pathname}${search}`, "/device/decide", {
      decision: "approve",
      user_code: codeOf(search),
    });
    if (answer.status >= 400) throw new Error(`approving the login answered ${answer.status}: ${answer.text}`);
    fact("approved with a click in the browser");
  }

  // ── environments ───────────────────────────────────────────────────────────────────────────────

  async #environments(): Promise<readonly [DemoEnvironment, DemoEnvironment]> {
    heading("Two environments, each an isolated runtime of its own");
    const there = (await this.#readJson("env", "list")) as { environments: { name: string }[] };
    for (const [name, region] of [
      ["dev", "us"],
      ["staging", "eu"],
    ] as const) {
      if (there.environments.some((one) => one.name === name)) fact(`${name} is there since an earlier run`);
      else await this.#perdure("env", "create", name, "--region", region);
    }
    await this.#perdure("env", "list");
    const described = await Promise.all(["dev", "staging"].map((name) => this.#readJson("env", "describe", name)));
    return described as [DemoEnvironment, DemoEnvironment];
  }

  async #useIt({ name }: DemoEnvironment): Promise<void> {
    heading("A profile for it, which both command lines read");
    await this.#perdure("env", "configure", name, "--name", name);
    await this.#perdure("env", "use", name);
    await this.#restate(["whoami"], /Logged in|healthy|Environment ID|Advertised/);
  }

  async #key({ name }: DemoEnvironment): Promise<string> {
    heading("A key for programs: shown once, stored as a hash");
    const { apiKeys } = (await this.#readJson("keys", "list", name)) as { apiKeys: { keyId: string; description?: string }[] };
    const old = apiKeys.filter(({ description }) => description === KEY_DESCRIPTION);
    // Keys of an earlier run: a plan limits their number.
    for (const { keyId } of old) await this.#perdure("keys", "revoke", keyId, name, "--yes");
    const created = (await this.#readJson("keys", "create", name, "--role", "full", "--description", KEY_DESCRIPTION)) as {
      apiKey: string;
    };
    fact(`perdure keys create --role full: ${created.apiKey.slice(0, 12)}…`);
    return created.apiKey;
  }

  // ── a service of this machine ──────────────────────────────────────────────────────────────────

  async #connect({ name }: DemoEnvironment): Promise<void> {
    const { greeter: port, ingressHere } = this.#settings.ports;
    heading("A service on this laptop, reached through a tunnel: nothing listens on the outside");
    const greeter = await startGreeter({ root: ROOT, port });
    this.#group.keep("greeter", "work", greeter);
    await waitFor(
      "starting the greeter",
      () => `the greeter listens on port ${port}, on this machine only`,
      greeterListens(greeter),
    );
    const ports = ["--local-port", String(port), "--remote-port", `8080:${ingressHere}`];
    const args = ["tunnel", "-e", name, "--tunnel-name", "laptop", ...ports];
    const tunnel = await this.#shell.background("perdure", join(ROOT, "perdure"), args, /tunnel:\/\/laptop/);
    this.#group.keep("tunnel", "listener", tunnel);
    await this.#perdure("deployments", "register", `tunnel://laptop:${port}`, "--yes", "--force");
    await this.#restate(["deployments", "list"]);
  }

  async #call({ ingressUrl }: DemoEnvironment, key: string): Promise<void> {
    heading("Durable calls through the gateway, with the key");
    await post(`${ingressUrl}/Greeter/greet`, "Ada", key);
    await post(`${ingressUrl}/Counter/demo/add`, 1, key);
    await this.#restate(["sql", "select target, status from sys_invocation order by created_at desc limit 3"]);
  }

  async #callHere(): Promise<void> {
    heading("The same environment on a port of this laptop: the tunnel brings it here, with Ada's credential");
    await post(`${this.#hereUrl}/Greeter/greet`, "Grace");
  }

  /** Whether requests without the right are refused. */
  async #tryOthers(dev: DemoEnvironment, staging: DemoEnvironment, key: string): Promise<boolean> {
    heading("Requests without a valid key are refused");
    const status = async (url: string, authorization?: string): Promise<number> => {
      const headers = new Headers({ "content-type": "application/json" });
      if (authorization !== undefined) headers.set("authorization", authorization);
      const response = await fetch(`${url}/Greeter/greet`, { method: "POST", headers, body: '"Mallory"' });
      await response.body?.cancel();
      return response.status;
    };
    const tries = [
      ["without a key", await status(dev.ingressUrl), 401],
      ["with a key that was not issued", await status(dev.ingressUrl, "Bearer key_nobody"), 401],
      ["with the key of dev at staging", await status(staging.ingressUrl, `Bearer ${key}`), 403],
    ] as const;
    for (const [who, answer, expected] of tries) fact(`${who.padEnd(32)} ${answer}`, answer === expected ? "✓" : "✗");
    return tries.every(([, answer, expected]) => answer === expected);
  }

  async #usage({ name }: DemoEnvironment): Promise<void> {
    heading("What it used, counted once whatever crashes");
    const counted = async (): Promise<boolean> => {
      for (const deadline = performance.now() + USAGE_MS_MAX; performance.now() < deadline; await delay(POLL_MS)) {
        const { totals } = (await this.#readJson("usage", "--environment", name)) as { totals: { actions: number } };
        if (totals.actions > 0) return true;
      }
      throw new Error(`no actions were counted within ${USAGE_MS_MAX / 1000} s`);
    };
    await waitFor("counters to arrive", () => "the calls are counted", counted());
    await this.#perdure("usage", "--environment", name);
  }

  async #backHome(): Promise<void> {
    heading("And back to a server on this machine");
    await this.#perdure("env", "use", "local");
  }
}

/** Shows the call and its answer. Rejects when it is refused. */
async function post(url: string, body: unknown, key?: string): Promise<void> {
  const shown = key === undefined ? "" : " -H 'authorization: Bearer key_…'";
  line(`  ${paint("cyan", `$ curl ${url}${shown} --json '${JSON.stringify(body)}'`)}`);
  const headers = new Headers({ "content-type": "application/json" });
  if (key !== undefined) headers.set("authorization", `Bearer ${key}`);
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
  const text = await response.text();
  line(paint("gray", `    ${text}`));
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text}`);
}

const codeOf = (search: string): string => new URLSearchParams(search).get("user_code") ?? "";
