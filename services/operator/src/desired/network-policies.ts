/**
 * Network policies: pods of an environment have only the connections listed here (kubernetes.md §2). In a NetworkPolicy an absent or empty
 * list of peers means all peers, so "no peer" is the absence of a rule, and a test checks that no rule has such a list.
 */
import { bareIdOf, type EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, resources } from "@perdure/kubernetes";
import type { Cell, Labels } from "../cell.js";
import { childOf, selectorOf } from "./labels.js";

type PolicyPeer = Readonly<Record<string, unknown>>;

interface PolicyPort {
  readonly protocol: "TCP" | "UDP";
  readonly port: number;
}

/** Peers of a rule, at least one; `openRule` allows all peers. */
type PolicyPeers = readonly [PolicyPeer, ...PolicyPeer[]];

interface PolicyRules {
  readonly pods: Labels;
  readonly ingress?: readonly Readonly<Record<string, unknown>>[];
  readonly egress?: readonly Readonly<Record<string, unknown>>[];
}

export const PORTS = {
  ingress: 8080,
  admin: 9070,
  grpc: 9090,
  probes: 9091,
  gatewayProbes: 9092,
  redis: 6379,
  postgres: 5432,
} as const;
/** Label of pods in the platform's namespace: what may call runtimes, what watches them. */
export const PLATFORM_ROLE = "perdure.dev/platform-role";
/** Address of the DNS cache that many clusters run on each node. */
const NODE_DNS_CACHE = "169.254.20.10/32";

const tcp = (...ports: readonly number[]): readonly PolicyPort[] => ports.map((port) => ({ protocol: "TCP", port }));
const inNamespace = (name: string, pods: Labels): PolicyPeer => ({
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
  podSelector: { matchLabels: pods },
});
const hereWith = (pods: Labels): PolicyPeer => ({ podSelector: { matchLabels: pods } });
const from = (peers: PolicyPeers, ports: readonly PolicyPort[]) => ({ from: peers, ports });
const to = (peers: PolicyPeers, ports?: readonly PolicyPort[]) => (ports === undefined ? { to: peers } : { to: peers, ports });

/**
 * One policy for all pods, which closes both directions and allows what all pods need, and one for each kind of pod. There are few objects,
 * since each is a request for every environment. The one for all pods comes first, so that no pod ever runs without it.
 */
export function networkPolicies(environment: EnvironmentResource, cell: Cell): KubeObject[] {
  const worker = selectorOf(environment, "worker");
  const front = selectorOf(environment, "front");
  const redis = selectorOf(environment, "redis");
  const { extraIngressPeers = [] } = environment.spec.network;
  const platform = (role: string): PolicyPeer => inNamespace(cell.namespace, { [PLATFORM_ROLE]: role });
  const callers: PolicyPeers = [platform("gateway"), ...extraIngressPeers.map(cleaned)];
  // The operator also registers services, tenancy reads usage, and the management API serves its metrics on its own port.
  const watchers: PolicyPeers = [platform("operator"), monitoringPeer(cell)];
  const peers = [hereWith(worker), hereWith(front)] as const;
  // Of three Redis, the operator reads the state of replication and promotes one when the primary is lost.
  const promoters = environment.spec.redis.bundled?.mode === "replicated" ? [platform("operator")] : [];
  const fromPeers = from(peers, tcp(PORTS.grpc));
  const toUserCode = userEgress(environment);
  const toPeers = [to(peers, tcp(PORTS.grpc)), to([hereWith(redis)], tcp(PORTS.redis)), toUserCode];
  const policies: readonly (readonly [string, PolicyRules])[] = [
    [
      "default",
      {
        pods: {},
        ingress: [
          from(watchers, tcp(PORTS.probes, PORTS.gatewayProbes)),
          from([...watchers, platform("tenancy")], tcp(PORTS.admin)),
        ],
        egress: [
          to([platform("postgres"), platform("tunnel-relay")]),
          dnsRule(cell),
          ...databaseRules(cell),
          ...collectorRules(cell),
        ],
      },
    ],
    ["worker", { pods: worker, ingress: [fromPeers], egress: toPeers }],
    [
      "front",
      {
        pods: front,
        ingress: [from(callers, tcp(PORTS.ingress, PORTS.admin)), from([platform("operator")], tcp(PORTS.ingress)), fromPeers],
        egress: toPeers,
      },
    ],
    [
      "redis",
      {
        pods: redis,
        ingress: [from([...peers, hereWith(redis), ...promoters], tcp(PORTS.redis))],
        egress: [to([hereWith(redis)], tcp(PORTS.redis))],
      },
    ],
  ];
  return policies.map(([name, rules]) => policy(environment, name, rules));
}

function monitoringPeer({ namespace, monitoring: { namespaceLabels, podLabels } }: Cell): PolicyPeer {
  if (Object.keys(namespaceLabels).length === 0) return inNamespace(namespace, podLabels);
  return { namespaceSelector: { matchLabels: namespaceLabels }, podSelector: { matchLabels: podLabels } };
}

/** A database outside the cell: allowed by its addresses, where they are configured. */
function databaseRules({ database: { cidrs, port } }: Cell) {
  const [first, ...more] = cidrs.map((cidr): PolicyPeer => ({ ipBlock: { cidr } }));
  return first === undefined ? [] : [to([first, ...more], tcp(port))];
}

/**
 * Returns rules for the trace collector, only where tracing is configured. Peers are listed, because users choose the addresses that
 * workers send attempts to.
 */
function collectorRules(cell: Cell) {
  const { tracingEndpoint, collector } = cell;
  if (tracingEndpoint === undefined) return [];
  const [first, ...more] = [...collectorPods(cell), ...collector.cidrs.map((cidr): PolicyPeer => ({ ipBlock: { cidr } }))];
  return first === undefined ? [] : [to([first, ...more], tcp(collector.port))];
}

function collectorPods({ namespace, collector: { namespaceLabels, podLabels } }: Cell): readonly PolicyPeer[] {
  const hasPods = Object.keys(podLabels).length > 0;
  if (Object.keys(namespaceLabels).length === 0) return hasPods ? [inNamespace(namespace, podLabels)] : [];
  const place = { namespaceSelector: { matchLabels: namespaceLabels } };
  return [hasPods ? { ...place, podSelector: { matchLabels: podLabels } } : place];
}

function dnsRule({ dns }: Cell) {
  const pods = { namespaceSelector: { matchLabels: dns.namespaceLabels }, podSelector: { matchLabels: dns.podLabels } };
  const ports: PolicyPort[] = [
    { protocol: "UDP", port: 53 },
    { protocol: "TCP", port: 53 },
  ];
  return to([pods, { ipBlock: { cidr: NODE_DNS_CACHE } }], ports);
}

// ── out to user code ─────────────────────────────────────────────────────────────────────────────

/** The internet in halves: some networks treat a whole one as a rule of their own. Private and metadata addresses are not the internet. */
const PUBLIC: PolicyPeers = [
  { ipBlock: { cidr: "0.0.0.0/1", except: ["10.0.0.0/8", "100.64.0.0/10"] } },
  { ipBlock: { cidr: "128.0.0.0/1", except: ["169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"] } },
  { ipBlock: { cidr: "::/1" } },
  { ipBlock: { cidr: "8000::/1", except: ["fc00::/7", "fe80::/10"] } },
];

function userEgress(environment: EnvironmentResource): Readonly<Record<string, unknown>> {
  const { mode, cidrs = [], allow = [] } = environment.spec.network.egress;
  const label = `perdure.dev/allow-${bareIdOf(environment.spec.environmentId)}`;
  // Pods of any namespace whose own label allows calls from this environment.
  const invited: PolicyPeer = { namespaceSelector: {}, podSelector: { matchLabels: { [label]: "true" } } };
  const listed: PolicyPeers = [invited, ...cidrs.map((cidr): PolicyPeer => ({ ipBlock: { cidr } })), ...allow.map(cleaned)];
  return mode === "open" ? {} : to(mode === "public" ? [...PUBLIC, ...listed] : listed);
}

/** Returns a peer without empty parts, which an API server drops. */
function cleaned(peer: Readonly<Record<string, unknown>>): PolicyPeer {
  return JSON.parse(JSON.stringify(peer)) as PolicyPeer;
}

function policy(environment: EnvironmentResource, name: string, { pods, ingress, egress }: PolicyRules): KubeObject {
  const policyTypes = [...(ingress === undefined ? [] : ["Ingress"]), ...(egress === undefined ? [] : ["Egress"])];
  const podSelector = Object.keys(pods).length === 0 ? {} : { matchLabels: pods };
  const spec = {
    podSelector,
    policyTypes,
    ...(ingress === undefined ? {} : { ingress }),
    ...(egress === undefined ? {} : { egress }),
  };
  return childOf(environment, { ...resources.networkPolicies, name }, { spec });
}
