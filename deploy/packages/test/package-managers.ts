/** npm, pnpm, Yarn and Bun, each with an empty cache, in projects of their own. The last three come from npm's registry, as packages. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";

export const INSTALL_MS_MAX = 300_000;
const PNPM = "pnpm@10.34.8";
const YARN = "@yarnpkg/cli-dist@4.18.1";
const BUN = `@oven/bun-${process.platform}-${process.arch === "arm64" ? "aarch64" : process.arch}@1.4.5`;
/** An old Node that starts the package. */
export const OLD_NODE = "20.20.2";
const OLD_NODE_PACKAGE = `node-${process.platform}-${process.arch}`;

export type ManagerName = "npm" | "pnpm" | "yarn" | "bun";

/** The programs, installed once for all tests. */
export class PackageManagers implements AsyncDisposable {
  readonly folder: string;
  readonly #registryUrl: string;

  private constructor(folder: string, registryUrl: string) {
    this.folder = folder;
    this.#registryUrl = registryUrl;
  }

  static async install(): Promise<PackageManagers> {
    const folder = await mkdtemp(join(tmpdir(), "perdure-managers-"));
    await writeFile(join(folder, "package.json"), '{"private":true}');
    const specifiers = [PNPM, YARN, BUN, `${OLD_NODE_PACKAGE}@${OLD_NODE}`];
    await run("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", ...specifiers], folder, npmSettings());
    const { stdout } = await run("npm", ["config", "get", "registry"], folder, npmSettings());
    return new PackageManagers(folder, stdout.trim());
  }

  /** Directory with the executable `node` of an old version. */
  get oldNodeFolder(): string {
    return join(this.folder, "node_modules", OLD_NODE_PACKAGE, "bin");
  }

  /** An empty project in which `dependencies` are installed; `scopeUrl` is the registry of `@perdure`. */
  async project(
    manager: ManagerName,
    dependencies: Readonly<Record<string, string>>,
    scopeUrl: string,
  ): Promise<InstalledProject> {
    const home = await mkdtemp(join(tmpdir(), `perdure-${manager}-`));
    const folder = join(home, "project");
    await mkdir(folder);
    await writeFile(join(folder, "package.json"), JSON.stringify({ name: "empty", private: true, type: "module", dependencies }));
    await writeFile(join(folder, ".npmrc"), `@perdure:registry=${scopeUrl}/\n`);
    const yarn = [
      "nodeLinker: node-modules",
      "enableGlobalCache: false",
      "enableTelemetry: false",
      "enableImmutableInstalls: false",
      `npmRegistryServer: ${JSON.stringify(this.#registryUrl)}`,
      "unsafeHttpWhitelist: [127.0.0.1]",
      `npmScopes: { perdure: { npmRegistryServer: ${JSON.stringify(scopeUrl)} } }`,
    ];
    if (manager === "yarn") await writeFile(join(folder, ".yarnrc.yml"), `${yarn.join("\n")}\n`);
    const [program, ...args] = this.#command(manager, join(home, "cache"));
    const environment = { BUN_INSTALL_CACHE_DIR: join(home, "cache"), YARN_GLOBAL_FOLDER: join(home, "cache") };
    const project = new InstalledProject(home, folder);
    try {
      await run(program, args, folder, { ...npmSettings(), ...environment });
    } catch (cause) {
      await project[Symbol.asyncDispose]();
      throw cause;
    }
    return project;
  }

  /** An empty folder with an empty home directory, where nothing is installed. */
  async emptyProject(): Promise<InstalledProject> {
    const home = await mkdtemp(join(tmpdir(), "perdure-empty-"));
    const folder = join(home, "project");
    await mkdir(folder);
    return new InstalledProject(home, folder);
  }

  #command(manager: ManagerName, cache: string): [string, ...string[]] {
    const modules = join(this.folder, "node_modules");
    switch (manager) {
      case "npm":
        return ["npm", "install", "--no-audit", "--no-fund", "--cache", cache];
      case "pnpm":
        return [process.execPath, join(modules, "pnpm/bin/pnpm.cjs"), "install", "--store-dir", cache, "--cache-dir", cache];
      case "yarn":
        return [process.execPath, join(modules, "@yarnpkg/cli-dist/bin/yarn.js"), "install"];
      case "bun":
        return [join(modules, BUN.slice(0, BUN.lastIndexOf("@")), "bin/bun"), "install", "--no-progress"];
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}

/** A project with a home directory of its own. */
export class InstalledProject implements AsyncDisposable {
  readonly #home: string;
  readonly folder: string;

  constructor(home: string, folder: string) {
    this.#home = home;
    this.folder = folder;
  }

  get perdure(): string {
    return join(this.folder, "node_modules/.bin/perdure");
  }

  /** Bytes on disk of what was installed, as `du -s node_modules` counts. */
  async installedBytes(): Promise<number> {
    const { stdout } = await promisify(execFile)("du", ["-sk", join(this.folder, "node_modules")]);
    return Number(stdout.split("\t")[0]) * 1024;
  }

  /** Variables for programs of the project: an empty cache directory, and `nodeFolder` first on the path. */
  environment(nodeFolder: string = dirname(process.execPath)): Record<string, string> {
    return {
      ...npmSettings(),
      PATH: [nodeFolder, process.env["PATH"] ?? ""].join(delimiter),
      HOME: this.#home,
      XDG_CACHE_HOME: join(this.#home, "xdg"),
      NPM_CONFIG_CACHE: join(this.#home, "npm-cache"),
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await rm(this.#home, { recursive: true, force: true });
  }
}

/** npm as it is configured on this machine: registry, proxy and certificates. */
function npmSettings(): Record<string, string> {
  const own = Object.entries(process.env).filter(
    (entry): entry is [string, string] =>
      /^(?:npm_config_|NODE_EXTRA_CA_CERTS|SSL_CERT_)/i.test(entry[0]) && entry[1] !== undefined,
  );
  return { NPM_CONFIG_USERCONFIG: join(homedir(), ".npmrc"), ...Object.fromEntries(own) };
}

export async function run(
  program: string,
  args: readonly string[],
  folder: string,
  environment: Readonly<Record<string, string>>,
): Promise<{ stdout: string; stderr: string }> {
  const path = [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  const env = { PATH: path, HOME: homedir(), ...environment };
  return await promisify(execFile)(program, [...args], { cwd: folder, env, timeout: INSTALL_MS_MAX });
}
