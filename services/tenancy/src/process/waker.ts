/** Wakes hibernated runtimes of a cluster from any process of tenancy that receives a request for them; local processes never hibernate. */
import { connectKubernetes } from "@perdure/kubernetes";
import { openRuntimeWaker, type RuntimeWaker } from "@perdure/kubernetes-environments";
import type { ProcessPorts } from "@perdure/process-kit";
import type { TenancySettings } from "./config.js";
import { kubeconfigOf } from "./kubeconfig.js";

/** Undefined where runtimes do not hibernate. Throws OPS0001 when the kubeconfig cannot be read. */
export function wakerOf(
  settings: TenancySettings,
  { clock, random, logger }: ProcessPorts,
): (() => Promise<RuntimeWaker>) | undefined {
  if (settings.provisioner.kind !== "kubernetes") return undefined;
  const kubeconfig = kubeconfigOf(settings);
  return async () =>
    openRuntimeWaker({ client: connectKubernetes(kubeconfig), clock, random, logger: logger.child({ component: "runtimes" }) });
}
