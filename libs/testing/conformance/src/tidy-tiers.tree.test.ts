/**
 * Why: the suffix of a suite says what the suite needs, and `make test` runs on a machine with Node alone. Both hold only when every suite
 * that starts a process, a server or a browser carries the suffix of it.
 */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { suffixesOf, TIERS, tierOf } from "@perdure/testkit";
import { StartedPrograms } from "./tree/starts.js";
import { workspacePackages } from "./tree/workspace.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOT_OURS: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", "testdata"]);

function suitesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : suitesBelow(path);
    return entry.name.endsWith(".test.ts") ? [path] : [];
  });
}

const suites = ["libs", "services", "deploy"].flatMap(suitesBelow);

/** What a suffix says beyond itself. Later tiers need everything of the databases' tier, too. */
const DATABASES = ["redis", "postgres", "cluster", "debian", "server"];
const COVERS: Readonly<Record<string, readonly string[]>> = {
  server: ["server"],
  redis: ["redis", "server"],
  postgres: ["postgres", "server"],
  cluster: ["cluster", "redis", "postgres", "server"],
  debian: ["debian", "server"],
  namespace: ["namespace", "server"],
  kafka: ["kafka", ...DATABASES],
  browser: ["browser", ...DATABASES],
  k8s: ["k8s", ...DATABASES],
  images: ["images", "k8s", ...DATABASES],
  sdks: ["sdks", "server"],
  packages: ["packages", "server"],
};

/** Suites that start a program whose own code starts what their suffix says; imports do not lead there. */
const STARTED_BY_A_PROGRAM: Readonly<Record<string, string>> = {
  "deploy/cloud/test/cloud.postgres.test.ts": "the demo of the platform starts PostgreSQL",
  "deploy/cluster/test/cluster.kafka.test.ts": "the demo of the cluster starts Kafka",
  "deploy/examples/patterns/test/languages.sdks.test.ts": "the demo builds the endpoints with the tools of their languages",
  "deploy/packages/test/install.packages.test.ts": "package managers install what is published",
  "services/cli/test/dev-languages.sdks.test.ts": "perdure dev builds and starts projects with the tools of their languages",
  "services/tunnel-relay/test/official-cli.namespace.test.ts": "unshare makes the network",
};

const starts = new StartedPrograms(ROOT, workspacePackages(ROOT));
/** All sources are parsed once: some seconds of processor time. */
const WHOLE_TREE_MS = 180_000;

test("every suffix of a suite belongs to a tier, and every tier has suites", () => {
  const tiers = new Set(suites.map((path) => tierOf(path).name));
  expect([...tiers].sort()).toEqual(TIERS.map(({ name }) => name).sort());
});

test(
  "a suite that starts a process, a server or a browser carries the suffix of it",
  () => {
    const wrong = suites.flatMap((path) => {
      const covered = new Set((suffixesOf(path) ?? []).flatMap((suffix) => COVERS[suffix] ?? []));
      return [...starts.of(path)].filter(([suffix]) => !covered.has(suffix)).map(([suffix, chain]) => `${suffix}: ${chain}`);
    });
    expect(wrong).toEqual([]);
  },
  WHOLE_TREE_MS,
);

test(
  "no suite carries a suffix of something that it does not start",
  () => {
    const wrong = suites
      .filter((path) => STARTED_BY_A_PROGRAM[path] === undefined)
      .flatMap((path) => {
        const started = new Set(starts.of(path).keys());
        if (started.has("redis") && started.has("postgres")) started.add("cluster");
        if (started.size > 0) started.add("server");
        started.add("tree"); // Says that the suite reads every source, which nothing starts.
        return (suffixesOf(path) ?? []).filter((suffix) => !started.has(suffix)).map((suffix) => `${path}: ${suffix}`);
      });
    expect(wrong).toEqual([]);
    expect(Object.keys(STARTED_BY_A_PROGRAM).filter((path) => !suites.includes(path))).toEqual([]);
  },
  WHOLE_TREE_MS,
);

test("every tier has its target in the Makefile, which runs that tier", () => {
  const makefile = readFileSync(join(ROOT, "Makefile"), "utf8");
  for (const { name, target } of TIERS) {
    const recipe = new RegExp(`^${target}:.*\\n(?:\\t.*\\n)*?\\t@\\$\\(TIERS\\) ([a-z0-9]+) \\$\\(PATTERNS\\)$`, "m").exec(
      makefile,
    );
    expect([target, recipe?.[1]]).toEqual([target, name]);
  }
});

describe("following imports", () => {
  test("leads through barrels to the one declaration that starts something, and not to its neighbours", () => {
    const chain = starts.of("libs/adapters/redis/test/contract.redis.test.ts").get("redis");
    expect(chain).toMatch(/libs\/testing\/servers\/src\/redis\.ts#startRedis$/);
    // Imports the same barrel of servers' neighbours, for ports alone.
    expect([...starts.of("libs/testing/servers/src/free-port.test.ts").keys()]).toEqual([]);
  });

  test("a world that is one process needs no database, although worlds can be clusters", () => {
    expect([...starts.of("libs/testing/conformance/test/ingress.server.test.ts").keys()]).toEqual(["server"]);
    expect([...starts.of("libs/testing/conformance/test/cluster/ingress.cluster.test.ts").keys()].sort()).toContain("cluster");
  });
});
