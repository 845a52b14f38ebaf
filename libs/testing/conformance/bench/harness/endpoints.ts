/** Starts the endpoints that the servers drive. Both have the same services (`endpoints/`); the cheap one is the one that counts. */
import { type ChildProcess, spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@perdure/servers";
import { build } from "../../src/sdks/build.js";
import { ownedChild } from "./children.js";
import type { EndpointKind } from "./kinds.js";

const FOLDER = join(import.meta.dirname, "../endpoints");

const isolatedTarget = (output: string) => ({ CARGO_TARGET_DIR: join(output, "target"), CARGO_BUILD_JOBS: "1" });
const RUST = {
  name: "bench-rust",
  sources: join(FOLDER, "rust"),
  build: (output: string) => [
    { command: "cargo", args: ["build", "--quiet", "--locked", "--release"], env: isolatedTarget(output) },
  ],
};

export class Endpoint implements Disposable {
  readonly uri: string;
  readonly pid: number;
  readonly #process: ChildProcess;

  private constructor(child: ChildProcess, uri: string) {
    this.#process = child;
    this.pid = child.pid as number;
    this.uri = uri;
  }

  /** Resolves when it listens. The Rust one is compiled into the cache first, when its sources have changed. */
  static async start(kind: EndpointKind): Promise<Endpoint> {
    const [port] = (await freePorts(1)) as [number];
    const [command, ...args] = kind === "rust" ? [await rustProgram()] : [process.execPath, join(FOLDER, "typescript.mjs")];
    const env = { ...process.env, PORT: String(port) };
    const child = ownedChild(spawn(command as string, args, { stdio: ["ignore", "pipe", "inherit"], env }));
    await new Promise<void>((done, failed) => {
      child.stdout.once("data", () => done());
      child.once("error", failed);
      child.once("exit", (code) => failed(new Error(`the ${kind} endpoint ended with ${code}`)));
    });
    return new Endpoint(child, `http://127.0.0.1:${port}`);
  }

  [Symbol.dispose](): void {
    this.#process.kill("SIGKILL");
  }
}

async function rustProgram(): Promise<string> {
  console.error("compiling the Rust endpoint, unless the cache has it …");
  const { output } = await build(RUST);
  return join(output, "target/release/perdure-bench-endpoint");
}

/** Versions of the SDKs, as the lock files and the installation have them. */
export function sdkVersions(): Readonly<Record<EndpointKind, string>> {
  const lock = readFileSync(join(FOLDER, "rust/Cargo.lock"), "utf8");
  const manifest = join(import.meta.dirname, "../../node_modules/@restatedev/restate-sdk/package.json");
  const { version } = JSON.parse(readFileSync(manifest, "utf8")) as { readonly version: string };
  return { rust: /name = "restate-sdk"\nversion = "([^"]+)"/.exec(lock)?.[1] ?? "unknown", typescript: version };
}
