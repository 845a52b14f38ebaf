#!/usr/bin/env node
/**
 * The command `perdure` of the npm package: starts a program by name, or the command line. It runs on Node 20, so it uses nothing newer.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { constants } from "node:os";
import { fileURLToPath, pathToFileURL } from "node:url";
import { ALIASES, PROGRAMS } from "@perdure/cli/programs";
import { cacheFolder } from "./cache.js";
import { findNode, installWithNpm } from "./node-runtime.js";

/** The version of Node that the tests run with; the build writes it. */
declare const PERDURE_NODE_VERSION: string;

const CANNOT_START = 1;

interface Start {
  readonly node: string;
  readonly options: readonly string[];
  readonly main: string;
  readonly args: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
}

const programFile = (name: string): string => fileURLToPath(new URL(`../dist/programs/${name}.mjs`, import.meta.url));
const optionsOf = (environment: NodeJS.ProcessEnv): readonly string[] =>
  (environment["PERDURE_NODE_OPTIONS"] ?? "").split(/\s+/).filter((option) => option !== "");

function programStart(name: string, args: readonly string[], node: string): Start | undefined {
  const programName = ALIASES[name] ?? name;
  const entry = Object.hasOwn(PROGRAMS, programName) ? PROGRAMS[programName] : undefined;
  if (entry === undefined) return undefined;
  return {
    node,
    options: [...entry.nodeOptions, ...optionsOf(process.env)],
    main: programFile(programName),
    args: entry.expectsName ? [programName, ...args] : args,
    // Buffers from 1 MiB go back to the system as soon as they are freed; by itself glibc keeps up to 32 MiB of each size.
    environment: { MALLOC_MMAP_THRESHOLD_: "1048576", MALLOC_TRIM_THRESHOLD_: "8388608", ...process.env },
  };
}

function commandLineStart(args: readonly string[], node: string): Start {
  const certificates = process.env["NODE_EXTRA_CA_CERTS"] ?? process.env["SSL_CERT_FILE"];
  const environment = certificates === undefined ? process.env : { ...process.env, NODE_EXTRA_CA_CERTS: certificates };
  return { node, options: optionsOf(process.env), main: programFile("cli"), args, environment };
}

/** Whether this process can be the program: no option, and nothing that Node reads only when it starts. */
function fitsThisProcess({ node, options, environment }: Start): boolean {
  return (
    node === process.execPath && options.length === 0 && environment["NODE_EXTRA_CA_CERTS"] === process.env["NODE_EXTRA_CA_CERTS"]
  );
}

/** Becomes the program where the system can replace a process, so that signals and exit codes are the program's own; starts a child otherwise. */
function become({ node, options, main, args, environment }: Start): void {
  const { execve } = process;
  if (execve !== undefined && process.platform !== "win32") {
    const variables = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== undefined));
    execve.call(process, node, [node, ...options, main, ...args], variables as Record<string, string>);
  }
  const child = spawn(node, [...options, main, ...args], { stdio: "inherit", env: environment });
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  // A terminal, and a service manager that signals the process group, send the signal to the program too: the program ignores the copy.
  for (const signal of signals) process.on(signal, () => child.kill(signal));
  child.once("error", (cause) => {
    process.stderr.write(`perdure: ${node} cannot be started: ${cause.message}\n`);
    process.exit(CANNOT_START);
  });
  child.once("exit", (code, signal) => process.exit(signal === null ? (code ?? CANNOT_START) : 128 + constants.signals[signal]));
}

function findRuntime(): string {
  return findNode({
    environment: process.env,
    cache: cacheFolder(process.env),
    current: { version: process.versions.node, path: process.execPath },
    platform: process.platform,
    arch: process.arch,
    fetchedVersion: PERDURE_NODE_VERSION,
    besides: fileURLToPath(import.meta.url),
    install: installWithNpm,
    report: (line) => process.stderr.write(`${line}\n`),
  });
}

async function main([name = "", ...rest]: readonly string[]): Promise<void> {
  const node = findRuntime();
  const program = programStart(name, rest, node);
  if (program !== undefined) return become(program);
  const start = commandLineStart(process.argv.slice(2), node);
  if (!existsSync(start.main)) throw new Error(`the package is incomplete: ${start.main} is missing. Install it again.`);
  if (!fitsThisProcess(start)) return become(start);
  await import(pathToFileURL(start.main).href);
}

try {
  await main(process.argv.slice(2));
} catch (cause) {
  process.stderr.write(`perdure: ${cause instanceof Error ? cause.message : String(cause)}\n`);
  process.exitCode = CANNOT_START;
}
