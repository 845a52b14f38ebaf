/** The kubeconfig for the cell's API server: from settings, or that of the pod. */
import { readSettingFile } from "@perdure/process-kit";
import type { TenancySettings } from "./config.js";

/** Undefined: what `connectKubernetes` finds by itself. Throws OPS0001 when the file cannot be read. */
export function kubeconfigOf({ provisioner: { kubeconfigFile } }: TenancySettings): string | undefined {
  return kubeconfigFile === undefined ? undefined : readSettingFile("provisioner.kubeconfig-file", kubeconfigFile);
}
