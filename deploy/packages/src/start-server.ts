/**
 * The library entry of the package `perdure`: starts a server as a child process, for tests and for programs that bring their own server. A
 * process of its own, because the server ends its process when a write fails, and so that it runs on a Node that is new enough.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { ERROR_LINES_MAX, READY_MS_MAX, STOP_MS_MAX } from "./limits.js";

export interface StartServerOptions {
  /** Directory of the data; it is kept. By default a temporary one, which is removed when the server is closed. */
  readonly baseDir?: string;
  /** Port of the ingress on 127.0.0.1; 0, the default, takes a free one. */
  readonly ingressPort?: number;
  /** Port of the management API on 127.0.0.1; 0, the default, takes a free one. */
  readonly adminPort?: number;
  /** Any other setting by its name, such as `{ "worker.invoker.inactivity-timeout": "1m" }`; `perdure server --print-config` lists them. */
  readonly settings?: Readonly<Record<string, string | number | boolean>>;
  /** Variables of the server besides those of this process. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Receives each line that the server writes; log entries are JSON. */
  readonly onLine?: (line: string) => void;
  /** Stops waiting for the server, and the server. */
  readonly signal?: AbortSignal;
  /** How long the server may take to be ready, in milliseconds: 60,000 unless given. */
  readonly readyTimeoutMs?: number;
}

export interface ServerExit {
  readonly code: number | null;
  readonly signal: string | null;
}

/** A running server. `await using server = await startServer()` closes it at the end of the block. */
export interface PerdureServer {
  /** Base address of calls, without a slash at its end. */
  readonly ingressUrl: string;
  /** Base address of the management API, without a slash at its end. */
  readonly adminUrl: string;
  readonly pid: number;
  readonly baseDir: string;
  /** Resolves when the server has ended, for whatever reason. */
  readonly exited: Promise<ServerExit>;
  /** Stops the server, which drains first, and removes its data when the directory is temporary. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

const LAUNCHER = fileURLToPath(new URL("./bin/perdure.mjs", import.meta.url));

/** Starts a server in a child process. Resolves when ingress and management API accept requests; rejects with its last lines when it ends before. */
export async function startServer(options: StartServerOptions = {}): Promise<PerdureServer> {
  options.signal?.throwIfAborted();
  const isTemporary = options.baseDir === undefined;
  const baseDir = options.baseDir ?? mkdtempSync(join(tmpdir(), "perdure-"));
  const child = spawn(process.execPath, [LAUNCHER, "server", ...flagsOf(options, baseDir)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, PERDURE_LOG_FORMAT: "json", ...options.environment },
  });
  const exited = new Promise<ServerExit>((resolve) => {
    child.once("exit", (code, signal) => resolve({ code, signal }));
    child.once("error", () => resolve({ code: null, signal: null }));
  });
  /** A program that ends without closing its server does not leave it behind. */
  const killAtExit = (): unknown => child.kill("SIGKILL");
  process.once("exit", killAtExit);
  const close = async (): Promise<void> => {
    await stop(child, exited);
    process.removeListener("exit", killAtExit);
    if (isTemporary) rmSync(baseDir, { recursive: true, force: true });
  };
  try {
    const { ingress, admin } = await ready(child, exited, options);
    const urls = { ingressUrl: withoutSlash(ingress), adminUrl: withoutSlash(admin) };
    return { ...urls, pid: child.pid ?? 0, baseDir, exited, close, [Symbol.asyncDispose]: close };
  } catch (cause) {
    await close();
    throw cause;
  }
}

function flagsOf({ ingressPort = 0, adminPort = 0, settings = {} }: StartServerOptions, baseDir: string): string[] {
  const all = {
    "ingress.bind-address": "127.0.0.1",
    "admin.bind-address": "127.0.0.1",
    ...settings,
    "ingress.bind-port": ingressPort,
    "admin.bind-port": adminPort,
    "base-dir": baseDir,
  };
  return Object.entries(all).map(([name, value]) => `--${name}=${value}`);
}

interface ReadyUrls {
  readonly ingress: string;
  readonly admin: string;
}

async function ready(child: ChildProcess, exited: Promise<ServerExit>, options: StartServerOptions): Promise<ReadyUrls> {
  const { signal, onLine, readyTimeoutMs = READY_MS_MAX } = options;
  const lastLines: string[] = [];
  const { promise, resolve, reject } = deferred<ReadyUrls>();
  const onAbort = (): void => reject(signal?.reason);
  const timer = setTimeout(() => reject(new Error(`The server was not ready within ${readyTimeoutMs} ms`)), readyTimeoutMs);
  signal?.addEventListener("abort", onAbort, { once: true });
  child.once("error", (cause) => reject(new Error(`The server cannot be started: ${cause.message}`, { cause })));
  const streams = [child.stdout, child.stderr].map(async (stream) => {
    if (stream === null) return;
    for await (const line of createInterface({ input: stream })) {
      lastLines.push(line);
      if (lastLines.length > ERROR_LINES_MAX) lastLines.shift();
      const urls = readyUrlsIn(line);
      if (urls !== undefined) resolve(urls);
      onLine?.(line);
    }
  });
  exited
    .then(() => Promise.all(streams))
    .then(() => reject(new Error(`The server ended before it was ready:\n${lastLines.join("\n")}`)), reject);
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

function readyUrlsIn(line: string): ReadyUrls | undefined {
  if (!line.startsWith("{")) return undefined;
  try {
    const entry = JSON.parse(line) as { msg?: unknown; ingress?: unknown; admin?: unknown };
    if (entry.msg !== "ready" || typeof entry.ingress !== "string" || typeof entry.admin !== "string") return undefined;
    return { ingress: entry.ingress, admin: entry.admin };
  } catch {
    return undefined; // Not an entry of the log.
  }
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void; reject: (cause: unknown) => void } {
  let resolve: (value: T) => void = () => undefined;
  let reject: (cause: unknown) => void = () => undefined;
  const promise = new Promise<T>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}

async function stop(child: ChildProcess, exited: Promise<ServerExit>): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
  const timer = setTimeout(() => child.kill("SIGKILL"), STOP_MS_MAX);
  child.kill("SIGTERM");
  await exited;
  clearTimeout(timer);
}

const withoutSlash = (url: string): string => url.replace(/\/$/, "");
