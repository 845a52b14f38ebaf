/** Why: users install tarballs, not this tree. Each package manager installs them into an empty project with an empty cache. */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { PROGRAMS } from "@perdure/cli/programs";
import { ROOT } from "@perdure/dev-cluster";
import { RunningCommand } from "@perdure/processes";
import { freePorts } from "@perdure/servers";
import { TIMEOUT_FACTOR } from "@perdure/testkit";
import { expectArchiveStarts, expectDebianPackage, expectFormula } from "./archives.js";
import { expectDurableCall } from "./durable-call.js";
import { type InstalledProject, type ManagerName, OLD_NODE, PackageManagers, run } from "./package-managers.js";
import { type PublishedPackage, type ScopeRegistry, startScopeRegistry, tarballOf, unpackedPlatforms } from "./scope-registry.js";

/** The SQL engine is compressed for a minute when it was not before. */
const PACK_MS_MAX = 15 * 60_000;
const TEST_MS = 10 * 60_000;
/** From an empty folder to the first answer, on a machine that does nothing else. */
const FIRST_CALL_MS_MAX = 60_000;
const INSTALLED_BYTES_MAX = 60_000_000;
const JSON_TYPE = { "content-type": "application/json" };
const PACKAGES = join(ROOT, "dist/packages");

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

let managers: PackageManagers;
let registry: ScopeRegistry;
let version: string;

beforeAll(async () => {
  await promisify(execFile)(process.execPath, ["deploy/packages/build.mjs"], { cwd: ROOT });
  const manifest = await manifestOf("perdure");
  version = manifest.version;
  const packed: PublishedPackage[] = [];
  for (const folder of ["client", "testing", `sql-${process.platform}-${process.arch}`]) {
    const own = await manifestOf(folder);
    packed.push({ manifest: own, tarball: tarballOf(PACKAGES, own.name, version) });
  }
  const names = new Set(packed.map((one) => one.manifest.name));
  const others = Object.keys(manifest.optionalDependencies ?? {}).filter((name) => !names.has(name));
  registry = await startScopeRegistry([...packed, ...unpackedPlatforms(others, version)]);
  managers = await PackageManagers.install();
}, PACK_MS_MAX);
afterAll(async () => {
  await managers?.[Symbol.asyncDispose]();
  await registry?.[Symbol.asyncDispose]();
}, TEST_MS);

async function manifestOf(folder: string): Promise<Manifest> {
  return JSON.parse(await readFile(join(PACKAGES, "stage", folder, "package.json"), "utf8")) as Manifest;
}

function install(manager: ManagerName, others: Readonly<Record<string, string>> = {}): Promise<InstalledProject> {
  return managers.project(manager, { perdure: `file:${tarballOf(PACKAGES, "perdure", version)}`, ...others }, registry.url);
}

test.each(["npm", "pnpm", "yarn", "bun"] as const)(
  "%s installs at most 60 MB, and the server keeps a call through kill -9",
  async (manager) => {
    await using project = await install(manager);
    expect(await project.installedBytes()).toBeLessThan(INSTALLED_BYTES_MAX);
    await expectDurableCall(project.perdure, project.environment());
  },
  TEST_MS,
);

test(
  "an old Node starts the package on a newer one, which it fetches once",
  async () => {
    await using project = await install("npm");
    const environment = project.environment(managers.oldNodeFolder);
    expect((await run("node", ["--version"], project.folder, environment)).stdout.trim()).toBe(`v${OLD_NODE}`);
    const first = await run(project.perdure, ["--version"], project.folder, environment);
    expect(first.stdout.trim()).toBe(`perdure ${version}`);
    expect(first.stderr).toContain("Fetching Node 24");
    expect((await run(project.perdure, ["--version"], project.folder, environment)).stderr).toBe("");
    // The launcher stays as the parent and forwards the signal, which the server has received with its group: the server drains all the same.
    await expectDurableCall(project.perdure, environment);
  },
  TEST_MS,
);

test(
  "without a registry, an old Node ends with what to install",
  async () => {
    await using project = await install("npm");
    const environment = { ...project.environment(managers.oldNodeFolder), NPM_CONFIG_OFFLINE: "true" };
    await expect(run(project.perdure, ["dev"], project.folder, environment)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/Perdure needs Node 24 or later.*fetching Node 24.*failed.*PERDURE_NODE/s),
    });
  },
  TEST_MS,
);

test(
  "every role starts by its name, other commands are those of the command line, and `dev` is ready for a durable call",
  async () => {
    await using project = await install("npm");
    const perdure = (...args: readonly string[]) => run(project.perdure, args, project.folder, project.environment());
    for (const name of Object.keys(PROGRAMS)) {
      expect((await perdure(name, "--help")).stdout).toContain("Usage: perdure");
      if (name !== "test-server") expect((await perdure(name, "--print-config")).stdout).toContain("log-format");
    }
    const help = (await perdure("--help")).stdout;
    for (const name of Object.keys(PROGRAMS)) expect(help).toMatch(new RegExp(`^  ${name}\\b`, "m"));
    expect((await perdure("relay", "--version")).stdout).toBe(`perdure tunnel-relay ${version}\n`);
    expect((await perdure("errors", "META0003")).stdout).toContain("## What to do");
    await expect(perdure("nonsense")).rejects.toMatchObject({ code: 2, stderr: expect.stringContaining("unknown command") });
    await expectDev(project);
  },
  TEST_MS,
);

test(
  "`npx perdure dev` in an empty folder, with an empty cache, answers the first durable call within a minute",
  async () => {
    await using project = await managers.emptyProject();
    const [port] = await freePorts(1);
    const tarball = `file:${tarballOf(PACKAGES, "perdure", version)}`;
    const flags = ["--yes", "--json", "--ingress-port", "0", "--admin-port", "0", "--port", String(port)];
    // npx does not forward signals, so they go to its group.
    const beganMs = performance.now();
    const args = ["--yes", "--package", tarball, "perdure", "dev", ...flags];
    const env = { ...project.environment(), "npm_config_@perdure:registry": `${registry.url}/` };
    const dev = new RunningCommand("npx", args, { cwd: project.folder, env, timeoutMs: TEST_MS, ownGroup: true });
    try {
      const { ingressUrl } = await registeredIn(dev);
      const body = { method: "POST", headers: JSON_TYPE, body: '"Ada"' };
      expect((await fetch(`${ingressUrl}/Greeter/greet`, body)).status).toBe(200);
      const tookMs = performance.now() - beganMs;
      process.stderr.write(`npx perdure dev: first durable call after ${(tookMs / 1_000).toFixed(1)} s\n`);
      expect(tookMs).toBeLessThan(FIRST_CALL_MS_MAX * TIMEOUT_FACTOR);
    } finally {
      dev.signal("SIGTERM");
      await dev.ended;
    }
  },
  TEST_MS,
);

/** `perdure dev` with a service that is written down, on free ports. */
async function expectDev(project: InstalledProject): Promise<void> {
  const app = join(project.folder, "../app");
  await mkdir(app);
  const [port] = await freePorts(1);
  const args = ["dev", "--yes", "--json", "--ingress-port", "0", "--admin-port", "0", "--port", String(port)];
  const dev = new RunningCommand(project.perdure, args, { cwd: app, env: project.environment(), timeoutMs: TEST_MS });
  try {
    const { ingressUrl } = await registeredIn(dev);
    const answer = await fetch(`${ingressUrl}/Greeter/greet`, { method: "POST", headers: JSON_TYPE, body: '"Ada"' });
    expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining("Ada")]);
  } finally {
    dev.signal("SIGTERM");
    await dev.ended;
  }
}

/** The event that the service is registered. */
async function registeredIn(dev: RunningCommand): Promise<{ readonly ingressUrl?: unknown }> {
  await dev.until(/"event":"registered"[^\n]*\n/);
  const line = dev.stdout.split("\n").find((one) => one.includes('"event":"registered"')) ?? "{}";
  return JSON.parse(line) as { readonly ingressUrl?: unknown };
}

test(
  "the tarball starts in a clean directory, and the formula names it by its digest",
  async () => {
    const archive = join(PACKAGES, `perdure-${version}-${process.platform}-${process.arch}.tar.gz`);
    await expectArchiveStarts(archive);
    await expectFormula(join(PACKAGES, "perdure.rb"), archive);
  },
  TEST_MS,
);

test(
  "the Debian package has a valid unit, and its server keeps a call through kill -9",
  async () => {
    const architecture = process.arch === "arm64" ? "arm64" : "amd64";
    await expectDebianPackage(join(PACKAGES, `perdure_${version}_${architecture}.deb`), version);
  },
  TEST_MS,
);

test(
  "the library starts a server, the clients call it, and the declarations satisfy a strict compiler",
  async () => {
    await using project = await install("npm", { "@perdure/client": version });
    await writeFile(join(project.folder, "main.ts"), LIBRARY_PROGRAM);
    await writeFile(join(project.folder, "tsconfig.json"), JSON.stringify(STRICT));
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    await run(process.execPath, [tsc, "-p", "."], project.folder, project.environment());
    const newer = await run("node", ["main.js"], project.folder, project.environment());
    expect(newer.stdout).toContain('closed {"code":0,"signal":null}');
    const older = await run("node", ["main.js"], project.folder, project.environment(managers.oldNodeFolder));
    expect(older.stdout).toContain('rows [{"n":0}]');
    expect(older.stdout).toContain('closed {"code":0,"signal":null}');
  },
  TEST_MS,
);

test(
  "the engine runs in a test of an empty project, and its declarations satisfy a strict compiler",
  async () => {
    const { peerDependencies = {} } = await manifestOf("testing");
    await using project = await managers.project("npm", { "@perdure/testing": version, ...peerDependencies }, registry.url);
    // Declarations of the SDK do not stand exact optional properties.
    const withSdk = { ...STRICT, compilerOptions: { ...STRICT.compilerOptions, exactOptionalPropertyTypes: false } };
    await writeFile(join(project.folder, "main.ts"), TESTING_PROGRAM);
    await writeFile(join(project.folder, "tsconfig.json"), JSON.stringify(withSdk));
    const tsc = join(ROOT, "node_modules/typescript/bin/tsc");
    await run(process.execPath, [tsc, "-p", "."], project.folder, project.environment());
    const { stdout } = await run("node", ["main.js"], project.folder, project.environment());
    expect(stdout).toBe("3 after 3 days: reserve, sleep 3d\n");
  },
  TEST_MS,
);

const TESTING_PROGRAM = `import { workflow, type WorkflowContext } from '@restatedev/restate-sdk';
import { type Journal, TestEnvironment } from '@perdure/testing';

const orders = workflow({
  name: "Orders",
  handlers: {
    run: async (ctx: WorkflowContext, items: number) => {
      await ctx.run("reserve", () => undefined);
      await ctx.sleep({ days: 3 });
      return items;
    },
  },
});
const env = await TestEnvironment.start({ services: [orders] });
const before = env.now();
const order = env.client().workflowClient(orders, "o-1");
await order.workflowSubmit(3);
const items: number = await order.workflowAttach();
const journal: Journal = await env.journal(order);
const days = Math.round((env.now().getTime() - before.getTime()) / 86_400_000);
console.log(\`\${items} after \${days} days: \${journal.steps.map((step) => step.label).join(", ")}\`);
await env[Symbol.asyncDispose]();
`;

const STRICT = {
  compilerOptions: {
    ...{ target: "es2022", module: "nodenext", strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true },
    ...{
      lib: ["es2024", "dom", "esnext.disposable"],
      skipLibCheck: false,
      types: ["node"],
      typeRoots: [join(ROOT, "node_modules/@types")],
    },
  },
  files: ["main.ts"],
};

const LIBRARY_PROGRAM = `import { type PerdureServer, startServer } from 'perdure';
import { AdminClient } from '@perdure/client';
import { type CloudClientOptions, CloudClient, Secret } from '@perdure/client/cloud';
import { nodeTransport } from '@perdure/client/node';

const cloud: CloudClientOptions = { baseUrl: "http://localhost", accessToken: () => new Secret("none") };
if (new CloudClient(cloud) === undefined) throw new Error("no client");
const lines: string[] = [];
const server: PerdureServer = await startServer({ onLine: (line) => lines.push(line), settings: { "log-filter": "info" } });
try {
  using transport = nodeTransport();
  const admin = new AdminClient({ baseUrl: server.adminUrl, transport: transport.send });
  console.log("deployments", JSON.stringify(await admin.deployments.list()));
  console.log("rows", JSON.stringify(await admin.sql.query("SELECT count(*) AS n FROM sys_invocation")));
  console.log("logged", lines.length > 0);
} finally {
  await server.close();
}
console.log("closed", JSON.stringify(await server.exited));
await startServer({ settings: { "no-such-setting": true } }).catch((cause: Error) => console.log("refused", cause.message.includes("no-such-setting")));
`;
