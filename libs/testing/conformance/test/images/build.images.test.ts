/**
 * Builds images without an engine, to find missing files. Every step of the Dockerfile is executed in clean directories, and the results
 * are started as a user that owns nothing, on read-only files.
 */

import { execFile } from "node:child_process";
import { chmod, lstat, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { ROOT } from "@perdure/dev-cluster";
import { checkDockerfile } from "@perdure/servers";
import { service } from "@restatedev/restate-sdk";
import { type BuiltImage, buildImages, commandOf } from "../../src/images/image-builder.js";
import { SdkEndpoint } from "../../src/sdk-endpoint.js";
import { Server } from "../../src/server.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const DOCKERFILE = join(ROOT, "deploy/images/Dockerfile");
const ARCH = process.arch === "arm64" ? "arm64" : "amd64";
const OTHER = ARCH === "arm64" ? "amd64" : "arm64";
/** Of an ELF file's header. */
const MACHINES = { amd64: 62, arm64: 183 } as const;
/** What Debian 12 has, which the base image is. */
const GLIBC_MINOR_MAX = 36;
/** MB that an image may add to its base; most of the largest is DuckDB. */
const SIZE_MB_MAX = 110;
const PROGRAMS = [
  "server",
  "worker",
  "registry",
  "gateway",
  "admin",
  "tenancy",
  "tenancy-local",
  "cloud-gateway",
  "tunnel-relay",
  "tunnel-client",
  "operator",
  "cli",
  "example-greeter",
] as const;
const NOT_PROGRAMS = ["build", "base"];
/** Programs that compute no partition keys and store nothing need no native addons. */
const WITHOUT_ADDONS: readonly string[] = ["cloud-gateway", "tunnel-relay", "tunnel-client", "operator", "cli"];
const USER = 10_001;

let directory: string;
let images: ReadonlyMap<string, BuiltImage>;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "perdure-images-"));
  await chmod(directory, 0o755); // The user of the images reads in it.
  images = await buildImages({ dockerfile: DOCKERFILE, context: ROOT, directory, variables: variables(ARCH) });
}, FIRST_MS);
afterAll(() => rm(directory, { recursive: true, force: true }), TEST_MS);

const variables = (arch: string) => ({ TARGETARCH: arch, BUILDARCH: ARCH, BUILDPLATFORM: `linux/${ARCH}` });

function image(name: string): BuiltImage {
  const result = images.get(name);
  if (result === undefined) throw new Error(`there is no image ${name}`);
  return result;
}

/** Runs as an unprivileged user where this process may choose one. */
async function run(name: string, env: Readonly<Record<string, string>>, ...args: readonly string[]): Promise<string> {
  const command = commandOf(image(name), ...args);
  const user = process.getuid?.() === 0 ? { uid: USER, gid: USER } : {};
  const options = { cwd: command.cwd, env: { ...command.env, ...env }, timeout: TEST_MS, ...user };
  return (await promisify(execFile)(command.program, command.args, options)).stdout;
}

async function* filesOf(folder: string): AsyncGenerator<string> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) yield join(entry.parentPath, entry.name);
  }
}

test("the builder's own checks report nothing, and images are what their users may rely on", async () => {
  for (const arch of [ARCH, OTHER]) {
    const checked = await checkDockerfile(DOCKERFILE, variables(arch));
    expect(checked.warnings).toEqual([]);
    expect(checked.stages.map(({ name }) => name).sort()).toEqual([...NOT_PROGRAMS, ...PROGRAMS].sort());
  }
  for (const name of PROGRAMS) {
    const { config } = image(name);
    expect(config).toMatchObject({ User: `${USER}:${USER}`, WorkingDir: "/perdure" });
    expect(config.Entrypoint?.[0]).toBe("node");
    expect(config.Cmd ?? []).toEqual([]);
    expect(config.Env).toContain("NODE_ENV=production");
    expect(config.Labels?.["org.opencontainers.image.description"]).not.toBe("");
    expect(config.Labels).toMatchObject({ "org.opencontainers.image.licenses": "Apache-2.0" });
  }
});

test(
  "every program starts as a user that owns nothing, says its version and takes its settings",
  async () => {
    const manifest = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8")) as { readonly version: string };
    for (const name of PROGRAMS) {
      if (name === "example-greeter") continue; // It is a service, and takes no arguments.
      expect([name, await run(name, {}, "--help")]).toEqual([name, expect.stringContaining("Usage: perdure")]);
      if (name === "server" || name === "cli") continue;
      expect((await run(name, {}, "--version")).trim().split(" ").at(-1)).toBe(manifest.version);
      expect(await run(name, {}, "--print-config")).toContain("log-format");
    }
    expect((await run("cli", {}, "--version")).trim()).toBe(`perdure ${manifest.version}`);
    expect(await run("cli", {}, "errors", "META0003")).toContain("## What to do");
  },
  3 * TEST_MS,
);

test(
  "the image of the server keeps a call through kill -9, and reports to engines that it is alive",
  async () => {
    const { program, args, cwd, env } = commandOf(image("server"));
    // What the suites start is one file; this one is what the engine would do.
    const starter = join(directory, "server.sh");
    const [main = "", ...flags] = args.toReversed().slice(1);
    const quotedArgs = [program, ...flags.toReversed(), main].map((arg) => `'${arg}'`).join(" ");
    await writeFile(starter, `#!/bin/sh\ncd '${cwd}' && exec ${quotedArgs} "$@"\n`, { mode: 0o755 });
    const before = process.env["PERDURE_CONFORMANCE_EXECUTABLE"];
    process.env["PERDURE_CONFORMANCE_EXECUTABLE"] = starter;
    try {
      const { PERDURE_BASE_DIR: _, ...environment } = env as Record<string, string>;
      let hasBegun: () => void = () => {};
      const begun = new Promise<void>((resolve) => {
        hasBegun = resolve;
      });
      let runs = 0;
      const greeter = service({
        name: "Greeter",
        handlers: {
          greet: async (ctx, name: string) => {
            const greeting = await ctx.run("greeting", () => `Hello ${name}, ${++runs}`);
            hasBegun();
            await ctx.sleep(1_500);
            return greeting;
          },
        },
      });
      await using endpoint = await SdkEndpoint.start({ services: [greeter] });
      await using server = await Server.start({ environment });
      const headers = { "content-type": "application/json", "idempotency-key": "once" };
      await fetch(`${server.adminUrl}/deployments`, { method: "POST", headers, body: JSON.stringify({ uri: endpoint.url }) });
      const greet = (): Promise<Response> =>
        fetch(`${server.ingressUrl}/Greeter/greet`, { method: "POST", headers, body: '"Ada"' });
      const lost = greet().catch(() => undefined);
      await begun;
      await server.kill();
      await lost;
      await server.startAgain();
      expect(await (await greet()).json()).toBe("Hello Ada, 1");
      expect(runs).toBe(1);
      // What answers this is native, and outside of the bundle.
      const sql = { query: "SELECT count(*) AS n FROM sys_invocation" };
      const json = { "content-type": "application/json", accept: "application/json" };
      const rows = await fetch(`${server.adminUrl}/query`, { method: "POST", headers: json, body: JSON.stringify(sql) });
      expect(await rows.json()).toEqual({ rows: [{ n: 1 }] });
      const portSettings = { PERDURE_ADMIN__BIND_PORT: new URL(server.adminUrl).port };
      const healthcheck = ["healthcheck.mjs", "PERDURE_ADMIN__BIND_PORT", "9070"];
      const checkHealth = (): Promise<unknown> =>
        promisify(execFile)(program, healthcheck, { cwd, env: { ...environment, ...portSettings } });
      await checkHealth().catch(checkHealth).catch(checkHealth); // As many attempts as an engine makes.
      await server.stop();
      await expect(checkHealth()).rejects.toMatchObject({ code: 1 });
    } finally {
      if (before === undefined) delete process.env["PERDURE_CONFORMANCE_EXECUTABLE"];
      else process.env["PERDURE_CONFORMANCE_EXECUTABLE"] = before;
    }
  },
  TEST_MS,
);

test(
  "images of the other architecture have the native packages that these have, and Debian 12 has what they need",
  async () => {
    const packed = `packed-${OTHER}`;
    const build = join(image("build").root, "build");
    await promisify(execFile)(process.execPath, ["deploy/images/pack.mjs", OTHER, packed], { cwd: build });
    for (const name of PROGRAMS) {
      if (name === "tenancy-local" || name === "example-greeter") continue; // Two of the others; no native packages.
      const ours = await addonsOf(join(build, "packed", name), ARCH);
      expect([name, (await addonsOf(join(build, packed, name), OTHER)).map(withoutArch)]).toEqual([name, ours.map(withoutArch)]);
      expect([name, ours.length === 0]).toEqual([name, WITHOUT_ADDONS.includes(name)]);
    }
  },
  3 * TEST_MS,
);

const checkedFolders = new Set<string>();

/** Native files below a folder, each for the architecture. */
async function addonsOf(folder: string, arch: keyof typeof MACHINES): Promise<string[]> {
  const result: string[] = [];
  for await (const file of filesOf(folder)) {
    if (!/\.(?:node|so)(?:\.\d+)*$/.test(file)) continue;
    const place = file.slice(file.lastIndexOf("/node_modules/"));
    result.push(place);
    if (checkedFolders.has(place)) continue; // The same in another image.
    checkedFolders.add(place);
    const bytes = await readFile(file);
    expect([file, bytes.readUInt16LE(18)]).toEqual([file, MACHINES[arch]]);
    const needed = [...bytes.toString("latin1").matchAll(/GLIBC_2\.(\d+)/g)].map((match) => Number(match[1]));
    expect([file, Math.max(0, ...needed) <= GLIBC_MINOR_MAX]).toEqual([file, true]);
  }
  return result.sort();
}

const withoutArch = (path: string): string => path.replaceAll(/x64|arm64|\.armv8|\.glibc/g, "");

test("images have bundles, packages and nothing of how they were made, and are small", async () => {
  for (const name of PROGRAMS) {
    let bytes = 0;
    for await (const file of filesOf(join(image(name).root, "perdure"))) {
      bytes += (await lstat(file)).size;
      expect(file).not.toMatch(/\.(?:ts|map|pem|key)$|\/\.env|\/(?:esbuild|jest|typescript)\//);
    }
    expect([name, Math.round(bytes / 1e6) <= SIZE_MB_MAX]).toEqual([name, true]);
  }
});
