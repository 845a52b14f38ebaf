/** Why: whoever of us speaks with the cell's API server does so as the settings say, or as the pod that we are. */
import { readSettingFile } from "@perdure/role";
import type { TenancySettings } from "./config.js";

/** Undefined: what `connectKubernetes` finds by itself. Throws OPS0001 when the file cannot be read. */
export function kubeconfigOf({ provisioner: { kubeconfigFile } }: TenancySettings): string | undefined {
  return kubeconfigFile === undefined ? undefined : readSettingFile("provisioner.kubeconfig-file", kubeconfigFile);
}
