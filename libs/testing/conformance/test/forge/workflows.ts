/** Reads the workflows of `.github/workflows`, as far as their test needs them. */
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parse } from "yaml";

export const ROOT = resolve(dirname(fileURLToPath(import.meta.url)), "../../../../..");

type Permissions = Readonly<Record<string, "read" | "write" | "none">>;

interface Step {
  readonly uses?: string;
  readonly run?: string;
  readonly with?: Readonly<Record<string, unknown>>;
}

interface Job {
  readonly "timeout-minutes"?: number | string;
  readonly environment?: string;
  readonly permissions?: Permissions;
  readonly strategy?: { readonly matrix: { readonly include?: readonly Readonly<Record<string, unknown>>[] } };
  readonly steps: readonly Step[];
}

/** The shape that the schema checks. */
interface Workflow {
  readonly permissions?: Permissions;
  readonly jobs: Readonly<Record<string, Job>>;
}

export interface NamedWorkflow {
  readonly name: string;
  readonly workflow: Workflow;
}

const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");

export interface Updates {
  readonly updates: readonly {
    readonly "package-ecosystem": string;
    readonly directory?: string;
    readonly directories?: readonly string[];
  }[];
}

export const updates = parse(read(".github/dependabot.yml")) as Updates;

export const workflows: readonly NamedWorkflow[] = readdirSync(join(ROOT, ".github/workflows")).map((name) => ({
  name,
  workflow: parse(read(`.github/workflows/${name}`)) as Workflow,
}));

/** Targets of the Makefile. */
export const makeTargets: ReadonlySet<string> = new Set(
  [...read("Makefile").matchAll(/^([a-z0-9-]+):/gm)].map(([, target]) => target ?? ""),
);

/** Targets that the shell text of a step makes. */
export function targetsMadeBy(run: string): readonly string[] {
  return [...run.matchAll(/(?:^|[\s;&|])make ([a-z][a-z0-9-]*)/g)].map(([, target]) => target ?? "");
}
