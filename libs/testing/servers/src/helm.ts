/** Charts are rendered in tests by the program that users install them with, compiled from its published modules. */
import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { builtPrograms, type OnPackageBuilt } from "./go-programs.js";
import { HELM_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";

/** The release that `helm-program/go.mod` requires. */
const HELM_VERSION = "3.18.6";
const MODULES = join(dirname(fileURLToPath(import.meta.url)), "helm-program");

let program: Promise<string> | undefined;

/** The directory with the program. */
export function helmProgram(onPackage?: OnPackageBuilt): Promise<string> {
  program ??= builtPrograms(
    { name: `helm-${HELM_VERSION}`, modules: MODULES, packages: ["helm.sh/helm/v3/cmd/helm"] },
    onPackage,
  );
  return program;
}

/** Runs helm and resolves with its output; rejects with its error output. The first call on a machine compiles for minutes. */
export async function runHelm(...args: readonly string[]): Promise<string> {
  const path = join(await helmProgram(), "helm");
  try {
    return (await promisify(execFile)(path, args, { timeout: HELM_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX })).stdout;
  } catch (cause) {
    throw new Error(`helm ${args[0]}: ${(cause as { readonly stderr?: string }).stderr ?? ""}`, { cause });
  }
}
