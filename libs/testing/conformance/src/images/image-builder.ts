/**
 * Builds images without a container engine: each stage of a Dockerfile is a directory, in which its instructions are executed as
 * BuildKit's parser reads them. The base image is this machine with the Node of the lock file, so this does not prove that the real base
 * image exists and has the expected contents.
 */
import { spawn } from "node:child_process";
import { cp, mkdir, rm, stat, symlink } from "node:fs/promises";
import { delimiter, dirname, isAbsolute, join } from "node:path";
import {
  buildContextOf,
  type CheckedDockerfile,
  cacheDirectory,
  checkDockerfile,
  type ImageConfig,
  type ImageStage,
  type ImageStep,
} from "@perdure/servers";
import { BUILD_STEP_MS_MAX } from "../limits.js";

export interface BuiltImage {
  /** The directory that is `/` in the image. */
  readonly root: string;
  readonly config: ImageConfig;
}

export interface ImageBuild {
  readonly dockerfile: string;
  /** The build context. */
  readonly context: string;
  /** Parent of the directories of stages. */
  readonly directory: string;
  readonly variables: Readonly<Record<string, string>>;
}

/** All stages by name. Rejects with the output of the step that failed. */
export async function buildImages(build: ImageBuild): Promise<ReadonlyMap<string, BuiltImage>> {
  const checked = await checkDockerfile(build.dockerfile, build.variables);
  const builder = new Builder(build, checked, await buildContextOf(build.context));
  for (const stage of checked.stages) await builder.build(stage);
  return builder.built;
}

/** Environment in which a command runs in an image: replacements for `node` and `/`, and the image's environment. */
export function commandOf(image: BuiltImage, ...args: readonly string[]) {
  const { Entrypoint = [], Env = [], WorkingDir = "/" } = image.config;
  const [program, ...fixed] = Entrypoint;
  if (program !== "node") throw new Error(`'${program}' is not what images start with`);
  const own = Object.fromEntries(
    Env.map((one) => [one.slice(0, one.indexOf("=")), inside(image.root, one.slice(one.indexOf("=") + 1))]),
  );
  return {
    program: process.execPath,
    args: [...fixed, ...args],
    cwd: join(image.root, WorkingDir),
    env: { ...own, PATH: dirname(process.execPath) },
  };
}

/** Maps absolute paths of an image to paths below its root directory. */
const inside = (root: string, value: string): string => (isAbsolute(value) ? join(root, value) : value);

class Builder {
  readonly built = new Map<string, BuiltImage>();
  readonly #build: ImageBuild;
  readonly #checked: CheckedDockerfile;
  readonly #context: readonly string[];

  constructor(build: ImageBuild, checked: CheckedDockerfile, context: readonly string[]) {
    this.#build = build;
    this.#checked = checked;
    this.#context = context;
  }

  async build({ name, base, steps }: ImageStage): Promise<void> {
    const root = join(this.#build.directory, name);
    await mkdir(root, { recursive: true });
    const parent = this.built.get(base);
    if (parent !== undefined) await cp(parent.root, root, { recursive: true, verbatimSymlinks: true });
    let workdir = parent?.config.WorkingDir ?? "/";
    for (const step of steps) {
      if (isStep(step, "workdir")) {
        workdir = step.path;
        await mkdir(join(root, workdir), { recursive: true });
      } else if (isStep(step, "copy")) await this.#copy(step, root, workdir);
      else if (isStep(step, "run")) await this.#run(step, root, workdir);
    }
    this.built.set(name, { root, config: this.#checked.images[name] ?? {} });
  }

  /** Copies the contents of a directory, as COPY does. */
  async #copy({ from, sources, target }: StepOf<"copy">, root: string, workdir: string): Promise<void> {
    const to = join(root, isAbsolute(target) ? target : join(workdir, target));
    for (const source of sources) {
      if (from === "") {
        if (source !== ".") throw new Error(`COPY ${source}: only the whole context is copied here`);
        for (const file of this.#context) await cp(join(this.#build.context, file), join(to, file), { verbatimSymlinks: true });
        continue;
      }
      const path = join(this.#rootOf(from), source);
      const target = (await stat(path)).isDirectory() ? to : join(to, source);
      await cp(path, target, { recursive: true, verbatimSymlinks: true });
    }
  }

  #rootOf(stage: string): string {
    const builtStage = this.built.get(stage);
    if (builtStage === undefined) throw new Error(`there is no stage '${stage}' before it`);
    return builtStage.root;
  }

  async #run({ command, shell, caches, mounts }: StepOf<"run">, root: string, workdir: string): Promise<void> {
    if (caches.length !== mounts) throw new Error(`${command}: only caches are mounted here`);
    if (command.some((argument) => /(?:^|[\s="'])\//.test(argument)))
      throw new Error(`${command}: paths of images are not those of this machine`);
    const mounted = [];
    for (const cache of caches) mounted.push(await mountCache(join(root, cache)));
    const [program = "", ...args] = shell ? ["/bin/sh", "-c", ...command] : command;
    const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
    const env = { ...withoutOurs(process.env), ...this.#build.variables, PATH: path, CI: "1" };
    await finish(program, args, { cwd: join(root, workdir), env });
    for (const path of mounted) await rm(path);
  }
}

type StepOf<K extends "workdir" | "copy" | "run"> = Extract<ImageStep, { readonly kind: K }>;

const isStep = <K extends "workdir" | "copy" | "run">(step: ImageStep, kind: K): step is StepOf<K> => step.kind === kind;

/** Caches of builds are kept in the project's cache, by the last part of their path. */
async function mountCache(path: string): Promise<string> {
  const kept = join(cacheDirectory(), "image-builds", path.slice(path.lastIndexOf("/") + 1));
  await mkdir(kept, { recursive: true });
  await symlink(kept, path);
  return path;
}

/** Removes variables for tests from the environment of build steps. */
function withoutOurs(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(environment).filter(([name]) => !/^(?:PERDURE_|NODE_OPTIONS$|NODE_ENV$|npm_)/.test(name)),
  );
}

/** Resolves when the program succeeds; rejects with the end of its output. */
async function finish(program: string, args: readonly string[], options: { cwd: string; env: NodeJS.ProcessEnv }): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ["ignore", "pipe", "pipe"], timeout: BUILD_STEP_MS_MAX });
  let written = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => (written = (written + chunk).slice(-4_000)));
  const [code] = await new Promise<[number | null]>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", (code) => resolve([code]));
  });
  if (code !== 0) throw new Error(`${args.at(-1)}: ended with ${code}\n${written}`);
}
