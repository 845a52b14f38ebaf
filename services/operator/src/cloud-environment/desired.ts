/**
 * The objects of a tunnel as functions of its spec: clients that connect out and serve what arrives, and a network policy around them,
 * because a tunnel that opens ports in the cluster does not authenticate its clients (kubernetes.md §1.3).
 */
import { bareIdOf, type CloudEnvironment, GROUP_VERSION, type OwnerReference } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import { VERSION } from "@perdure/telemetry/version";
import type { Cell, Labels } from "../cell.js";
import { MANAGED_BY } from "../desired/labels.js";
import { PLATFORM_ROLE, PORTS } from "../desired/network-policies.js";
import { containerSecurity, type EnvVariable, imageOf, podSecurity, probesOf, pulled, setting } from "../desired/pods.js";
import { SERVICE_PORT } from "../service-deployment/desired.js";
import { CLOUD_LABEL, proxyLabelOf, tunnelNameOf, tunnelObjectName } from "./names.js";

const CREDENTIAL_FOLDER = "/run/perdure/credential";
/** Running requests continue while a pod ends; the client aborts them itself a little earlier. */
const GRACE_S = 150;
const ZONE = "topology.kubernetes.io/zone";

const selectorOf = ({ metadata }: CloudEnvironment): Labels => ({ [CLOUD_LABEL]: metadata.name });

/** Everything but what is only there with `remoteProxy`. */
export function tunnelObjects(cloud: CloudEnvironment, cell: Cell): KubeObject[] {
  return [tunnelPolicy(cloud, cell), tunnelDeployment(cloud, cell)];
}

/** Undefined where no port is brought here. */
export function proxyService(cloud: CloudEnvironment, cell: Cell): KubeObject | undefined {
  if (!cloud.spec.tunnel.remoteProxy) return undefined;
  const ports = [
    { name: "ingress", port: PORTS.ingress, targetPort: PORTS.ingress, protocol: "TCP" },
    { name: "admin", port: PORTS.admin, targetPort: PORTS.admin, protocol: "TCP" },
  ];
  return childOf(cloud, resources.services, cell.namespace, { spec: { selector: selectorOf(cloud), ports } });
}

function tunnelDeployment(cloud: CloudEnvironment, cell: Cell): KubeObject {
  const { tunnel } = cloud.spec;
  const labels = { ...selectorOf(cloud), "app.kubernetes.io/managed-by": MANAGED_BY, [PLATFORM_ROLE]: "tunnel-client" };
  const spec = {
    replicas: tunnel.replicas,
    selector: { matchLabels: selectorOf(cloud) },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    template: { metadata: { labels }, spec: podOf(cloud, cell) },
  };
  return childOf(cloud, resources.deployments, cell.namespace, { spec });
}

function podOf(cloud: CloudEnvironment, cell: Cell): Readonly<Record<string, unknown>> {
  const { tunnel, authentication } = cloud.spec;
  const { name: secretName, key } = authentication.secretRef;
  const { imagePullSecrets } = cell;
  const volume = { name: "credential", secret: { secretName, items: [{ key, path: "key" }], defaultMode: 0o440 } };
  return {
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    terminationGracePeriodSeconds: GRACE_S,
    securityContext: podSecurity,
    ...(imagePullSecrets.length === 0 ? {} : { imagePullSecrets: imagePullSecrets.map((name) => ({ name })) }),
    ...(isEmpty(tunnel.nodeSelector) ? {} : { nodeSelector: tunnel.nodeSelector }),
    ...(isEmpty(tunnel.tolerations) ? {} : { tolerations: tunnel.tolerations }),
    affinity: isEmpty(tunnel.affinity) ? apartByZone(cloud) : tunnel.affinity,
    volumes: [volume],
    containers: [
      {
        name: "tunnel",
        ...(tunnel.image === undefined ? imageOf(cell, "tunnel-client", VERSION) : pulled(cell, tunnel.image)),
        env: [...variablesOf(cloud, cell), ...(tunnel.env ?? [])],
        ports: portsOf(tunnel.remoteProxy),
        resources: isEmpty(tunnel.resources)
          ? { requests: { cpu: "50m", memory: "96Mi" }, limits: { memory: "256Mi" } }
          : tunnel.resources,
        securityContext: containerSecurity,
        volumeMounts: [{ name: "credential", mountPath: CREDENTIAL_FOLDER, readOnly: true }],
        ...probesOf("probes"),
      },
    ],
  };
}

const isEmpty = (value: object | undefined): boolean => value === undefined || Object.keys(value).length === 0;

function portsOf(hasProxy: boolean): readonly Readonly<Record<string, unknown>>[] {
  const probes = { name: "probes", containerPort: PORTS.probes, protocol: "TCP" };
  if (!hasProxy) return [probes];
  const open = (["ingress", "admin"] as const).map((name) => ({ name, containerPort: PORTS[name], protocol: "TCP" }));
  return [probes, ...open];
}

/** Settings of `perdure-tunnel-client`. */
function variablesOf(cloud: CloudEnvironment, { clusterDns, domain }: Cell): readonly EnvVariable[] {
  const { environmentId, region, signingPublicKey, tunnel } = cloud.spec;
  const host = `https://${bareIdOf(environmentId)}.env.${region}.${domain}`;
  return [
    { name: "PERDURE_NODE_NAME", valueFrom: { fieldRef: { apiVersion: "v1", fieldPath: "metadata.name" } } },
    setting("log-format", "json"),
    setting("tunnel.environment-id", environmentId),
    setting("tunnel.name", tunnelNameOf(cloud)),
    setting("tunnel.signing-public-keys", signingPublicKey),
    setting("tunnel.credential-file", `${CREDENTIAL_FOLDER}/key`),
    setting("tunnel.srv", `tunnel.${region}.${domain}`),
    setting("tunnel.allow", `http://*.svc.${clusterDns}:${SERVICE_PORT}`),
    setting("remote-proxy.enabled", String(tunnel.remoteProxy)),
    setting("remote-proxy.ingress-url", `${host}:${PORTS.ingress}`),
    setting("remote-proxy.admin-url", `${host}:${PORTS.admin}`),
  ];
}

function apartByZone(cloud: CloudEnvironment): Readonly<Record<string, unknown>> {
  const term = { topologyKey: ZONE, labelSelector: { matchLabels: selectorOf(cloud) } };
  return { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }] } };
}

/** Monitoring may reach the probes, and pods with the environment's label may use the ports of the tunnel; all other ingress is closed. */
function tunnelPolicy(cloud: CloudEnvironment, cell: Cell): KubeObject {
  const watching = { podSelector: { matchLabels: { [PLATFORM_ROLE]: "monitoring" } } };
  const using = { namespaceSelector: {}, podSelector: { matchLabels: { [proxyLabelOf(cloud)]: "true" } } };
  const tcp = (...ports: readonly number[]) => ports.map((port) => ({ protocol: "TCP", port }));
  const ingress = [
    { from: [watching], ports: tcp(PORTS.probes) },
    ...(cloud.spec.tunnel.remoteProxy ? [{ from: [using], ports: tcp(PORTS.ingress, PORTS.admin) }] : []),
  ];
  const spec = { podSelector: { matchLabels: selectorOf(cloud) }, policyTypes: ["Ingress"], ingress };
  return childOf(cloud, resources.networkPolicies, cell.namespace, { spec });
}

function childOf(
  { metadata }: CloudEnvironment,
  { apiVersion, kind }: Pick<KubeObject, "apiVersion" | "kind">,
  namespace: string,
  content: Readonly<Record<string, unknown>>,
): KubeObject {
  const { name, uid = "" } = metadata;
  const owner: OwnerReference = {
    apiVersion: GROUP_VERSION,
    kind: "CloudEnvironment",
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
  const labels = { "app.kubernetes.io/managed-by": MANAGED_BY, [CLOUD_LABEL]: name };
  const own = { name: tunnelObjectName(name), namespace, labels, ownerReferences: [owner] };
  return { apiVersion, kind, metadata: own, ...content };
}
