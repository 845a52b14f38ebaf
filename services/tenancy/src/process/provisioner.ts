/** Chooses the provisioner of runtimes by the settings; a process without one leaves environments to other processes. */
import { PerdureError } from "@perdure/base";
import { required } from "@perdure/cluster-kit";
import { connectKubernetes } from "@perdure/kubernetes";
import { openKubernetesProvisioner } from "@perdure/kubernetes-environments";
import { openProcessProvisioner } from "@perdure/os-process";
import type { ProcessPorts } from "@perdure/process-kit";
import type { OpenProvisioner } from "./composition.js";
import type { TenancySettings } from "./config.js";
import { kubeconfigOf } from "./kubeconfig.js";

/** Undefined for processes without `provisioner.directory`. Throws OPS0001 when the settings do not fit together. */
export function provisionerOf(settings: TenancySettings, ports: ProcessPorts): OpenProvisioner | undefined {
  return settings.provisioner.kind === "kubernetes" ? ofCluster(settings, ports) : ofMachine(settings, ports);
}

const HIBERNATE_AFTER_MS_MIN = 300_000;

function ofCluster(settings: TenancySettings, { clock, random, logger }: ProcessPorts): OpenProvisioner {
  const { namespace, clusterDns, runtimeVersion, size, hibernateAfter } = settings.provisioner;
  const version = required("provisioner.runtime-version", runtimeVersion);
  if (hibernateAfter !== 0 && hibernateAfter < HIBERNATE_AFTER_MS_MIN)
    throw new PerdureError("OPS0001", "'provisioner.hibernate-after' must be 0s or at least 5m");
  const kubeconfig = kubeconfigOf(settings);
  const template = { version, size, hibernateAfterSeconds: Math.floor(hibernateAfter / 1_000) };
  const ports = { clock, random, logger: logger.child({ component: "runtimes" }) };
  return async () => {
    const client = connectKubernetes(kubeconfig);
    return openKubernetesProvisioner({ ...ports, client }, { namespace, clusterDns, template });
  };
}

function ofMachine(
  { cloud: { domain }, provisioner }: TenancySettings,
  { clock, random, logger }: ProcessPorts,
): OpenProvisioner | undefined {
  const { directory, program, configFile, egress, tracingEndpoint, onStop, cgroup, uidRange, portsFirst, portsLast } =
    provisioner;
  if (directory === undefined) return undefined;
  const options = {
    directory,
    program: required("provisioner.program", program),
    configFile,
    egress,
    tracingEndpoint,
    ownDomains: [domain],
    onDispose: onStop,
    cgroup,
    uidRange,
    ports: { first: portsFirst, last: portsLast },
  };
  if (portsFirst < 1 || portsLast <= portsFirst)
    throw new PerdureError("OPS0001", "'provisioner.ports-last' must be above 'provisioner.ports-first', and neither is 0");
  const ports = { clock, random, logger: logger.child({ component: "runtimes" }) };
  return async () => openProcessProvisioner(ports, options);
}
