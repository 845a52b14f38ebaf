/** Makes the monitor of hibernated environments where a cell is a Kubernetes cluster. */
import type { HibernationMonitor } from "@perdure/environments";
import { connectKubernetes, Reflector, resources } from "@perdure/kubernetes";
import type { ProcessPorts } from "@perdure/process-kit";
import type { TenancySettings } from "./config.js";
import { kubeconfigOf } from "./kubeconfig.js";
import { KubernetesHibernationMonitor } from "./kubernetes-hibernation-monitor.js";

/** Undefined where runtimes do not hibernate. Throws OPS0001 when the kubeconfig cannot be read. */
export function hibernationMonitorOf(
  settings: TenancySettings,
  ports: ProcessPorts,
): (() => HibernationMonitor & AsyncDisposable) | undefined {
  if (settings.provisioner.kind !== "kubernetes") return undefined;
  const kubeconfig = kubeconfigOf(settings);
  return () => {
    const { clock, random, logger } = ports;
    const client = connectKubernetes(kubeconfig);
    const resource = resources.environments;
    const watchPorts = { client, clock, random, logger: logger.child({ component: "runtimes" }) };
    return new KubernetesHibernationMonitor(new Reflector({ resource }, watchPorts), client);
  };
}
