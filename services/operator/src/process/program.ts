/** The program `perdure-operator`. */
import { type ProcessSpec, runProgram } from "@perdure/process-kit";
import { startOperatorProcess } from "./composition.js";
import { loadSettings, settings } from "./config.js";
import { runLeftoverCheck } from "./leftovers.js";

const spec: ProcessSpec<typeof settings> = {
  program: "perdure operator",
  service: "operator",
  schema: settings,
  load: loadSettings,
  start: startOperatorProcess,
};

/**
 * Runs the operator. With `check-leftovers` as the first argument, only checks for objects that need an operator. Resolves with the exit
 * code.
 */
export function runOperator(args: readonly string[], environment: NodeJS.ProcessEnv): Promise<number> {
  if (args[0] === "check-leftovers") return runLeftoverCheck(args.slice(1), environment);
  return runProgram(spec, "reconciles environments in a Kubernetes cluster with their custom resources", args, environment);
}
