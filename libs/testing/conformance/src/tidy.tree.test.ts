/**
 * Checks rules of the project that no compiler knows on the tree itself: which package may import which, what a pure core may touch, a
 * page for every error code, imports that are declared, and nothing of a developer's machine in the files.
 */
import { readdirSync, readFileSync } from "node:fs";
import { builtinModules } from "node:module";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "@jest/globals";
import { catalogue } from "@perdure/base";
import { workspacePackages } from "./tree/workspace.js";

const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../..");
const NOT_OURS: ReadonlySet<string> = new Set(["node_modules", "dist", "gen", ".git", "perdure-data", "coverage", ".cache"]);

/** Paths below a folder, relative to the root. */
function filesBelow(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(path);
    return entry.isFile() ? [path] : [];
  });
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
}

interface Package {
  readonly folder: string;
  readonly manifest: Manifest;
  readonly sources: readonly Source[];
}

interface Source {
  readonly path: string;
  /** Tests, their builders, measurements, and how things are built: they may lean on more. */
  readonly isTest: boolean;
  /** Specifiers of imports and re-exports, types included. */
  readonly imports: readonly string[];
}

const IMPORT = /^\s*(?:import|export)\s[^;]*?\sfrom\s+"([^"]+)"|^\s*import\s+"([^"]+)"|\bimport\("([^"]+)"\)/gm;

function readSource(path: string): Source {
  const imports = [...read(path).matchAll(IMPORT)].map((match) => match[1] ?? match[2] ?? match[3] ?? "");
  return { path, isTest: /\.test\.ts$|\/(test|testing|bench)\/|\.config\.ts$/.test(path), imports };
}

const packages: readonly Package[] = [...workspacePackages(ROOT).values()].map((folder) => ({
  folder,
  manifest: JSON.parse(read(join(folder, "package.json"))) as Manifest,
  sources: filesBelow(folder)
    .filter((path) => path.endsWith(".ts"))
    .map(readSource),
}));

/** `@perdure/storage/testing` → `@perdure/storage`, `zod/v4` → `zod`. */
function packageOf(specifier: string): string {
  return specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
}

const isBare = (specifier: string): boolean =>
  !specifier.startsWith(".") &&
  !specifier.startsWith("#") &&
  !specifier.startsWith("node:") &&
  !builtinModules.includes(specifier);

/** Packages that only tests and local clusters use. */
const FOR_TESTS: ReadonlySet<string> = new Set([
  "libs/testing/testkit",
  "libs/testing/simulator",
  "libs/testing/servers",
  "libs/testing/dev-cluster",
  "libs/testing/conformance",
]);

/** Services that compose the roles of the others in one process. */
const COMPOSITIONS: ReadonlySet<string> = new Set(["services/standalone", "services/test-environment"]);

/** What runs in production. */
const runtimeSources = (sources: readonly Source[]): readonly Source[] => sources.filter(({ isTest }) => !isTest);

// ── who may import whom ──────────────────────────────────────────────────────────────────────────

/**
 * The wings of `libs`, and the packages of each. A package imports only from wings above its own, and from packages above it in its own wing.
 * Packages on one line do not import each other.
 */
const WINGS: Readonly<Record<string, readonly (readonly string[])[]>> = {
  core: [
    ["base"],
    ["service-protocol", "flow-control", "egress", "custom-resources"],
    ["state-machine"],
    ["manifest", "recurrence"],
  ],
  ports: [["storage", "metadata", "control", "cloud"], ["endpoint-transport"]],
  engine: [
    ["introspection", "schedules", "subscriptions"],
    ["diagnostics", "environment-events"],
    ["invoker"],
    ["bundles", "partition-processor"],
  ],
  adapters: [["leveldb", "redis", "postgres", "kafka", "kubernetes", "grpc", "http-client", "lambda", "os-process"]],
  platform: [["http-server", "telemetry"], ["tunnel"], ["process-kit"], ["cluster-kit"], ["console-host"]],
  clients: [["admin-contract"], ["admin-client", "cloud-client"]],
  cloud: [
    ["cloud-requests", "credentials", "kubernetes-environments"],
    ["mail"],
    ["environments"],
    ["identity"],
    ["cloud-api"],
    ["sign-in"],
    ["console-proxy"],
  ],
  testing: [["testkit", "processes"], ["servers"], ["dev-cluster"], ["simulator"], ["conformance"]],
};

/** Rank of each library by its folder, `libs/<wing>/<name>`: a lower one may be imported. */
const RANKS: ReadonlyMap<string, number> = new Map(
  Object.entries(WINGS)
    .flatMap(([wing, lines]) => lines.map((names) => names.map((name) => `libs/${wing}/${name}`)))
    .flatMap((folders, rank) => folders.map((folder) => [folder, rank] as const)),
);

describe("imports", () => {
  const libraries = packages.filter(({ folder }) => folder.startsWith("libs/"));

  test("every library stands in a wing, and has its folder's name", () => {
    expect(libraries.map(({ folder }) => folder).sort()).toEqual([...RANKS.keys()].sort());
    const misnamed = libraries.filter(({ folder, manifest }) => manifest.name !== `@perdure/${folder.split("/").at(-1)}`);
    expect(misnamed.map(({ folder }) => folder)).toEqual([]);
  });

  test("a library imports only from wings and packages above it", () => {
    const folderOf = new Map(libraries.map(({ folder, manifest }) => [manifest.name, folder]));
    const wrong: string[] = [];
    for (const { folder, sources } of libraries) {
      for (const { path, imports } of runtimeSources(sources)) {
        for (const specifier of imports.filter((one) => one.startsWith("@perdure/"))) {
          const other = folderOf.get(packageOf(specifier)) ?? "";
          if (other !== folder && (RANKS.get(other) ?? Infinity) >= (RANKS.get(folder) ?? -1))
            wrong.push(`${path}: ${specifier}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test("services know nothing of each other; only standalone and the environment of tests put them together", () => {
    const services = new Set(
      packages.filter(({ folder }) => folder.startsWith("services/")).map(({ manifest }) => manifest.name),
    );
    const wrong = packages
      .filter(({ folder }) => folder.startsWith("services/") && !COMPOSITIONS.has(folder))
      .flatMap(({ manifest, sources }) =>
        runtimeSources(sources).flatMap(({ path, imports }) =>
          imports
            .map(packageOf)
            .filter((name) => services.has(name) && name !== manifest.name)
            .map((name) => `${path}: ${name}`),
        ),
      );
    expect(wrong).toEqual([]);
  });

  test("only tests import the testkit and other packages' test builders", () => {
    const isForTests = (specifier: string): boolean =>
      packageOf(specifier) === "@perdure/testkit" || /^@perdure\/[^/]+\/testing$/.test(specifier);
    const wrong = packages
      .filter(({ folder }) => !FOR_TESTS.has(folder))
      .flatMap(({ sources }) =>
        runtimeSources(sources).flatMap(({ path, imports }) => imports.filter(isForTests).map((name) => `${path}: ${name}`)),
      );
    expect(wrong).toEqual([]);
  });

  test("every package declares what it imports, and at run time it needs no development dependency", () => {
    const ofRoot = Object.keys((JSON.parse(read("package.json")) as Manifest).devDependencies ?? {});
    const wrong: string[] = [];
    for (const { folder, manifest, sources } of packages) {
      const runtime = new Set(Object.keys(manifest.dependencies ?? {}));
      const development = new Set([...runtime, ...Object.keys(manifest.devDependencies ?? {}), ...ofRoot]);
      for (const { path, isTest, imports } of sources) {
        for (const name of imports.filter(isBare).map(packageOf)) {
          if (name !== manifest.name && !(isTest || FOR_TESTS.has(folder) ? development : runtime).has(name))
            wrong.push(`${path}: ${name}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });
});

// ── pure cores ───────────────────────────────────────────────────────────────────────────────────

const IMPURE =
  /\bDate\.now\b|\bnew Date\(\)|\bMath\.random\b|\b(set|clear)(Timeout|Interval|Immediate)\b|\bperformance\.|\bprocess\.|\bfetch\(|\bqueueMicrotask\b|\brandomUUID\b|"node:(fs|net|http|http2|https|tls|dns|child_process|worker_threads|timers)/;

test.each([
  "core/service-protocol",
  "core/flow-control",
  "core/egress",
  "core/state-machine",
  "core/manifest",
  "engine/schedules",
])("the pure package %s touches no clock, chance, timer, file or socket", (name) => {
  const wrong = filesBelow(`libs/${name}/src`)
    .filter((path) => path.endsWith(".ts") && !readSource(path).isTest)
    .flatMap((path) =>
      read(path)
        .split("\n")
        .map((line, i) => `${path}:${i + 1}: ${line.trim()}`)
        .filter((line) => IMPURE.test(withoutComment(line))),
    );
  expect(wrong).toEqual([]);
});

function withoutComment(line: string): string {
  return line.replace(/\s\/\/.*$|:\s\/?\*.*$/, "");
}

// ── documents ────────────────────────────────────────────────────────────────────────────────────

test("every error code has its page, and every page its code", () => {
  const pages = readdirSync(join(ROOT, "docs/errors"))
    .filter((name) => /^[A-Z]+\d+\.md$/.test(name))
    .map((name) => name.slice(0, -".md".length));
  expect(pages.sort()).toEqual(Object.keys(catalogue).sort());
});

const markdown = [
  "README.md",
  "CONTRIBUTING.md",
  "ARCHITECTURE.md",
  "CHANGELOG.md",
  ...filesBelow("docs").filter((path) => path.endsWith(".md")),
];

test("every make target that a document names exists", () => {
  const targets = new Set([...read("Makefile").matchAll(/^([a-z0-9-]+):/gm)].map((match) => match[1]));
  const named = markdown.flatMap((path) =>
    [...read(path).matchAll(/(?:^|`)make ([a-z0-9-]+)/gm)].map((match) => `${path}: ${match[1]}`),
  );
  expect(named.length).toBeGreaterThan(0);
  expect(named.filter((one) => !targets.has(one.split(": ")[1]))).toEqual([]);
});

test("the version that the program reports is the package's", () => {
  const { version } = JSON.parse(read("package.json")) as Manifest;
  expect(read("libs/platform/telemetry/src/version.ts")).toContain(`VERSION = "${version}"`);
});

// ── no paths of one machine ─────────────────────────────────────────────────────────────────

/** Put together from pieces, so that this file does not find itself. */
const MACHINE = new RegExp(
  [
    `(^|[^a-zA-Z.])/(${["work", "farm"].join("|")})/`,
    ["registry", "npmjs"].join("\\."),
    `"resolved": *"http`,
    `registry *= *http`,
  ].join("|"),
  "m",
);

test("no file names folders of one machine or a package registry", () => {
  const all = readdirSync(ROOT, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesBelow(entry.name);
    return entry.isFile() ? [entry.name] : [];
  });
  const texts = all.filter((path) => /\.(ts|mjs|js|json|ya?ml|md|toml|sh|txt|proto|tpl)$|^[^.]+$|^\.[^/]+(\/[^.]+)?$/.test(path));
  expect(texts.length).toBeGreaterThan(100);
  expect(texts.filter((path) => MACHINE.test(read(path)))).toEqual([]);
});

test("no module takes something from a suite, whose tests would run once more", () => {
  const sources = ["libs", "services", "deploy"].flatMap(filesBelow).filter((path) => path.endsWith(".ts"));
  expect(sources.length).toBeGreaterThan(1_000);
  expect(sources.filter((path) => /^(?:import|export) .*\.test\.js";$/m.test(read(path)))).toEqual([]);
});

test("suites that have the machine to themselves are there, and so are those that are not run a second time", () => {
  const patterns = [...read("deploy/testing/beside-then-alone.mjs").matchAll(/^ {2}\/(.+)\/,$/gm)].map(
    ([, pattern]) => new RegExp(pattern ?? ""),
  );
  const suites = ["libs", "services", "deploy"].flatMap(filesBelow).filter((path) => path.endsWith(".test.ts"));
  expect(patterns.length).toBeGreaterThan(5);
  expect(patterns.filter((pattern) => !suites.some((path) => pattern.test(path)))).toEqual([]);
  const [, byChance] = /^const BREAKS_BY_CHANCE = \/(.+)\/;$/m.exec(read("deploy/testing/second-look.mjs")) ?? [];
  expect(byChance).toBeDefined();
  const withoutRetry = suites.filter((path) => new RegExp(byChance ?? "").test(path));
  expect(withoutRetry.length).toBeGreaterThan(5);
});

test("every decision has a number of its own", () => {
  const numbers = readdirSync(join(ROOT, "docs/decisions")).map((name) => name.slice(0, 4));
  expect(numbers.length).toBeGreaterThan(10);
  expect(numbers.filter((number, index) => !/^\d{4}$/.test(number) || numbers.indexOf(number) !== index)).toEqual([]);
});
