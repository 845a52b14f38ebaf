import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer as createHttp1Server } from "node:http";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { SdkEndpoint, TestListener } from "@perdure/conformance";
import { service } from "@restatedev/restate-sdk";
import { LOST_PROBES_MAX } from "./limits.js";
import { type HandlerEndpoint, type Probed, probe } from "./probe.js";
import { contentOf, installOf, isEmptyFolder, startOf, startText } from "./project.js";
import { isForeign } from "./project-owner.js";
import { changeBetween, sourcesIn } from "./sources.js";
import { templateOf } from "./template.js";
import { Sights } from "./watcher.js";
import { writeTemplate } from "./write-template.js";

const greeter = service({ name: "Greeter", handlers: { greet: async () => "hi" } });
const louder = service({ name: "Louder", handlers: { greet: async () => "HI" } });

describe("a probe of a port", () => {
  const open: AsyncDisposable[] = [];
  afterAll(async () => {
    for (const one of open) await one[Symbol.asyncDispose]();
  });

  test.each(["h2-bidi", "h2-request-response", "h1-request-response"] as const)(
    "finds the published SDK over %s",
    async (kind) => {
      const endpoint = await SdkEndpoint.start({ services: [greeter], kind });
      open.push(endpoint);
      expect(await probe(endpoint.url)).toMatchObject({
        kind: "found",
        usesHttp11: kind === "h1-request-response",
        services: ["Greeter"],
      });
    },
  );

  test("sees when something else is served", async () => {
    const endpoints = await Promise.all(
      [[greeter], [greeter], [greeter, louder]].map((services) => SdkEndpoint.start({ services })),
    );
    open.push(...endpoints);
    const [one, same, other] = (await Promise.all(endpoints.map(({ url }) => probe(url)))) as HandlerEndpoint[];
    expect(one?.fingerprint).toBe(same?.fingerprint);
    expect(one?.fingerprint).not.toBe(other?.fingerprint);
  });

  test("recognises services that require signed requests", async () => {
    const endpoint = await SdkEndpoint.start({
      services: [greeter],
      identityKeys: ["publickeyv1_w7YHemBctH5Ck2nQRQ47iBBqhNHy4FV7t2Usbye2A6f"],
    });
    open.push(endpoint);
    expect(await probe(endpoint.url)).toMatchObject({ kind: "signed" });
  });

  test("distinguishes web pages and other programs, and a port without a program", async () => {
    const page = await TestListener.open(
      createHttp1Server((_request, response) => response.setHeader("content-type", "text/html").end("<h1>Hello</h1>")),
      0,
    );
    const mute = await TestListener.open(
      createServer((socket) => socket.end("?\r\n\r\n")),
      0,
    );
    const gone = await TestListener.open(createServer(), 0);
    await gone.close();
    const probes = await Promise.all([page, mute, gone].map(({ port }) => probe(`http://127.0.0.1:${port}`)));
    expect(probes.map(({ kind }) => kind)).toEqual(["other", "other", "silent"]);
    expect(probes[0]).toMatchObject({ why: "it answers with text/html" });
    await Promise.all([page.close(), mute.close()]);
  });
});

describe("the events of a sequence of polls", () => {
  const endpointProbe = (fingerprint: string): Probed => ({ kind: "found", usesHttp11: false, services: ["A"], fingerprint });
  const silent: Probed = { kind: "silent" };

  test("it appears once, is gone once, comes back, and may serve something else", () => {
    const sights = new Sights();
    const kinds = [
      silent,
      endpointProbe("a"),
      endpointProbe("a"),
      silent,
      silent,
      endpointProbe("a"),
      endpointProbe("b"),
      silent,
      endpointProbe("c"),
    ].map((one) => sights.next(one)?.kind);
    expect(kinds).toEqual([undefined, "appeared", undefined, "gone", undefined, "reloaded", "changed", "gone", "changed"]);
  });

  test("a broken connection is reported as gone after some polls, and once", () => {
    const sights = new Sights();
    sights.next(endpointProbe("a"));
    sights.reloaded();
    const kinds = Array.from({ length: 2 * LOST_PROBES_MAX }, () => sights.next(silent)?.kind);
    expect(kinds.filter((kind) => kind !== undefined)).toEqual(["gone"]);
    expect(kinds[LOST_PROBES_MAX - 1]).toBe("gone");
    expect(sights.next(endpointProbe("a"))?.kind).toBe("reloaded");
  });

  test("a restart between two polls is a reload too", () => {
    const sights = new Sights();
    sights.reloaded();
    expect(sights.next(endpointProbe("a"))?.kind).toBe("appeared");
    sights.reloaded();
    expect(sights.isThere).toBe(false);
    expect(sights.next(endpointProbe("a"))?.kind).toBe("reloaded");
  });
});

describe("a folder", () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "perdure-dev-"));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));
  const write = (...files: readonly (readonly [path: string, text: string])[]): void => {
    for (const [path, text] of files) {
      mkdirSync(join(folder, path, ".."), { recursive: true });
      writeFileSync(join(folder, path), text);
    }
  };

  test("is empty until there is more than what every new repository has", () => {
    write([".git/HEAD", ""], [".gitignore", ""], ["README.md", ""]);
    expect(isEmptyFolder(folder)).toBe(true);
    write(["main.py", ""]);
    expect([isEmptyFolder(folder), contentOf(folder)]).toEqual([false, "main.py"]);
  });

  test("that does not define a command is not started", () => {
    write(["package.json", "{broken"], ["notes.txt", ""]);
    expect(startOf(folder)).toBeUndefined();
    write(["package.json", '{"scripts":{"build":"x"}}']);
    expect(startOf(folder)).toBeUndefined();
  });

  test("without the packages that it names gets them, by its own package manager", () => {
    write(["package.json", '{"scripts":{"dev":"x"}}']);
    expect(installOf(folder)).toBeUndefined();
    write(["package.json", '{"scripts":{"dev":"x"},"devDependencies":{"a":"1"}}'], ["yarn.lock", ""]);
    expect(installOf(folder)).toEqual({ command: "yarn", args: ["install"] });
    write(["package/package.json", '{"dependencies":{"a":"1"}}'], ["node_modules/a/index.js", ""]);
    expect([installOf(folder), installOf(join(folder, "package"))]).toEqual([undefined, undefined]);
  });

  test("has sources, without those of dependencies, whose changes are detected", () => {
    write(["main.py", "1"], ["pkg/a.py", "1"], ["notes.txt", "1"], [".venv/lib/b.py", "1"], ["__pycache__/c.py", "1"]);
    const before = sourcesIn(folder, [".py"]);
    expect([...before.keys()].sort()).toEqual(["main.py", join("pkg", "a.py")]);
    expect(changeBetween(before, sourcesIn(folder, [".py"]))).toBeUndefined();
    write(["pkg/a.py", "22"], ["notes.txt", "22"]);
    expect(changeBetween(before, sourcesIn(folder, [".py"]))).toBe(join("pkg", "a.py"));
    rmSync(join(folder, "main.py"));
    write(["pkg/a.py", "1"]);
    expect(changeBetween(new Map([["main.py", "x"]]), new Map())).toBe("main.py");
    expect(sourcesIn(join(folder, "none"), [".py"]).size).toBe(0);
  });

  test("gets the template without losing what is in it", () => {
    write([".gitignore", "mine\n"]);
    expect(writeTemplate(folder, 8081)).toEqual(["package.json", "src/service.ts"]);
    expect(readFileSync(join(folder, "src/service.ts"), "utf8")).toContain("curl localhost:8081/Greeter/greet");
    expect(templateOf(folder, 0).get("src/service.ts")).toContain("curl localhost:<ingress port>/Greeter/greet");
    expect(readFileSync(join(folder, ".gitignore"), "utf8")).toBe("mine\n");
    const start = startOf(folder);
    expect(start === undefined ? undefined : startText(start)).toBe("npm run --silent dev");
    expect(JSON.parse(templateOf("/home/ann/My Shop!", 8080).get("package.json") ?? "")).toMatchObject({
      name: "my-shop",
      dependencies: { "@restatedev/restate-sdk": expect.any(String) },
    });
  });
});

describe("a service at a usual port", () => {
  let folder: string;
  beforeAll(() => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "perdure-foreign-")));
    mkdirSync(join(folder, "workspace/app"), { recursive: true });
    mkdirSync(join(folder, "empty"));
    writeFileSync(join(folder, "workspace/app/main.ts"), "");
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  test.each([
    ["workspace/app", "workspace/app", false],
    ["workspace/app/src", "workspace/app", false],
    ["workspace", "workspace/app", false],
    ["elsewhere", "workspace/app", true],
    ["workspace/app2", "workspace/app", true],
    ["", "empty", true],
  ])("of a program in '%s' is foreign to '%s': %p", (its, own, isIt) => {
    const holder = { pid: 1, command: "", folder: join(folder, its) };
    expect(isForeign(holder, join(folder, own))).toBe(isIt);
  });

  test("of an unknown program is foreign to an empty folder alone", () => {
    expect(isForeign(undefined, join(folder, "empty"))).toBe(true);
    expect(isForeign(undefined, join(folder, "workspace/app"))).toBe(false);
    expect(isForeign({ pid: 1, command: "", folder: "/" }, join(folder, "workspace/app"))).toBe(true);
  });
});
