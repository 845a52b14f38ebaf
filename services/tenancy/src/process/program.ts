/** The program `perdure-tenancy`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { type OpenProvisioner, startTenancy } from "./composition.js";
import { loadSettings, settings } from "./config.js";
import { runMigrate } from "./migrate.js";
import { provisionerOf } from "./provisioner.js";

/** `migrate` as the first argument only migrates the database. Resolves with the exit code. */
export function runTenancy(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  openProvisioner?: OpenProvisioner,
): Promise<number> {
  if (args[0] === "migrate") return runMigrate(args.slice(1), environment);
  const spec: ProcessSpec<typeof settings> = {
    program: "perdure tenancy",
    service: "tenancy",
    schema: settings,
    load: loadSettings,
    isEdge: true,
    start: (values, ports) => startTenancy(values, ports, openProvisioner ?? provisionerOf(values, ports)),
  };
  return runProgram(spec, "keeps accounts, environments, keys and usage of the cloud", args, environment);
}
