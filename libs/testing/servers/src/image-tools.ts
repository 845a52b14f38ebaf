/** Building images and running containers needs an engine; reading and checking their files does not. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { builtPrograms, type OnPackageBuilt } from "./go-programs.js";
import { HELM_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";

const SOURCES = join(dirname(fileURLToPath(import.meta.url)), "image-program");

/** One instruction, variables expanded. `other` kinds change an image's metadata, not its files. */
export type ImageStep =
  | { readonly kind: "workdir"; readonly path: string }
  | {
      readonly kind: "copy";
      /** A stage; empty for the files of the build context. */
      readonly from: string;
      readonly sources: readonly string[];
      readonly target: string;
      readonly owner: string;
    }
  | {
      readonly kind: "run";
      readonly command: readonly string[];
      /** Whether a shell reads it. */
      readonly shell: boolean;
      /** Directories that are kept from one build to the next; `mounts` counts all mounts. */
      readonly caches: readonly string[];
      readonly mounts: number;
    }
  | { readonly kind: string };

export interface ImageStage {
  readonly name: string;
  /** A stage before it, or an image of another project. */
  readonly base: string;
  readonly platform: string;
  readonly steps: readonly ImageStep[];
}

/** Configuration of an image, including what it inherits from its base. */
export interface ImageConfig {
  readonly User?: string;
  readonly WorkingDir?: string;
  readonly Entrypoint?: readonly string[];
  readonly Cmd?: readonly string[];
  readonly Env?: readonly string[];
  readonly Labels?: Readonly<Record<string, string>>;
  readonly ExposedPorts?: Readonly<Record<string, object>>;
  readonly Volumes?: Readonly<Record<string, object>>;
}

export interface CheckedDockerfile {
  /** Warnings of BuildKit's own checks. */
  readonly warnings: readonly { readonly rule: string; readonly detail: string; readonly line: number }[];
  readonly stages: readonly ImageStage[];
  /** Configurations by stage. */
  readonly images: Readonly<Record<string, ImageConfig>>;
}

/** A Dockerfile as BuildKit parses it; rejects with its error. `variables`: of the build, such as `TARGETARCH`. */
export async function checkDockerfile(file: string, variables: Readonly<Record<string, string>>): Promise<CheckedDockerfile> {
  const pairs = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  return JSON.parse(await runImageTools("dockerfile", file, ...pairs)) as CheckedDockerfile;
}

/** Names of the files of a build context: those that its `.dockerignore` leaves. */
export async function buildContextOf(directory: string): Promise<readonly string[]> {
  return JSON.parse(await runImageTools("context", directory)) as readonly string[];
}

/**
 * The project as Compose parses it; rejects with the error of Compose. `profiles`: services of these profiles are included, besides those
 * without a profile.
 */
export async function loadComposeFile(file: string, profiles: readonly string[]): Promise<unknown> {
  return JSON.parse(await runImageTools("compose", file, ...profiles));
}

/** Rejects when kind would not read the file. */
export async function checkKindConfig(file: string): Promise<void> {
  await runImageTools("kind", file);
}

let program: Promise<string> | undefined;

async function runImageTools(...args: readonly string[]): Promise<string> {
  const path = await imageTools();
  try {
    const options = { timeout: HELM_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX };
    return (await promisify(execFile)(path, args, options)).stdout;
  } catch (cause) {
    throw new Error(`${args[0]}: ${(cause as { readonly stderr?: string }).stderr ?? ""}`, { cause });
  }
}

/** The program. */
export function imageTools(onPackage?: OnPackageBuilt): Promise<string> {
  program ??= build(onPackage);
  return program;
}

/** The digest of its sources is its key in the cache. */
async function build(onPackage: OnPackageBuilt | undefined): Promise<string> {
  const version = createHash("sha256");
  for (const file of ["go.mod", "go.sum", "main.go"]) version.update(readFileSync(join(SOURCES, file)));
  const name = `image-tools-${version.digest("hex").slice(0, 12)}`;
  const packages = ["perdure.dev/image-tools"];
  const goPrograms = { name, modules: SOURCES, sources: ["main.go"], packages };
  return join(await builtPrograms(goPrograms, onPackage), "image-tools");
}
