/** Operators use kubectl, so tests do too; it is compiled from the same modules as the control plane. */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { builtPrograms, type OnPackageBuilt } from "./go-programs.js";
import { KUBERNETES_VERSION, MODULES } from "./kube-programs.js";
import { KUBECTL_MS_MAX, TOOL_OUTPUT_BYTES_MAX } from "./limits.js";

let program: Promise<string> | undefined;

/** The directory with the program. */
export function kubectlProgram(onPackage?: OnPackageBuilt): Promise<string> {
  const goPrograms = {
    name: `kubectl-${KUBERNETES_VERSION}`,
    modules: MODULES,
    packages: ["k8s.io/kubernetes/cmd/kubectl"],
    linkerFlags: [`-X=k8s.io/component-base/version.gitVersion=v${KUBERNETES_VERSION}`],
  };
  program ??= builtPrograms(goPrograms, onPackage);
  return program;
}

/**
 * Runs kubectl as the user of the kubeconfig file and resolves with its output; rejects with its error output. The first call on a machine
 * compiles for a minute.
 */
export async function runKubectl(kubeconfigFile: string, ...args: readonly string[]): Promise<string> {
  const path = join(await kubectlProgram(), "kubectl");
  const options = { timeout: KUBECTL_MS_MAX, maxBuffer: TOOL_OUTPUT_BYTES_MAX };
  try {
    return (await promisify(execFile)(path, ["--kubeconfig", kubeconfigFile, ...args], options)).stdout;
  } catch (cause) {
    throw new Error(`kubectl ${args[0]}: ${(cause as { readonly stderr?: string }).stderr ?? ""}`, { cause });
  }
}
