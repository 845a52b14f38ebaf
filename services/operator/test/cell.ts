/** The cell of the suites. */
import type { Cell } from "../src/index.js";
import { REMOVAL_ROLE, SECRETS_ROLE } from "./rbac.js";

export const OPERATOR_NAMESPACE = "perdure-system";
/** Has the operator's rights and no others. */
export const OPERATOR_USER = "perdure-operator";

export const cell: Cell = {
  region: "eu",
  domain: "example.org",
  hasCloudGateway: true,
  edge: { scheme: "https", ports: { ingress: 8080, admin: 9070 } },
  clusterDns: "cluster.local",
  imageRegistry: "images.example.org/perdure",
  runtimeDigests: {},
  redisImage: "docker.io/library/redis:7.4",
  imagePullPolicy: undefined,
  imagePullSecrets: [],
  releases: { stable: undefined, fast: undefined, atOnce: 10 },
  keyOverlapMs: 86_400_000,
  keda: "auto",
  prometheusAddress: "http://prometheus.monitoring:9090",
  grpcTls: true,
  namespace: OPERATOR_NAMESPACE,
  postgresSecret: { name: "postgres", key: "url" },
  secretsRole: { clusterRole: SECRETS_ROLE, subject: { kind: "User", name: OPERATOR_USER } },
  removalRole: { clusterRole: REMOVAL_ROLE, subject: { kind: "User", name: OPERATOR_USER } },
  snapshots: "auto",
  snapshotClass: undefined,
  deletionStuckMs: 1_800_000,
  allowPolicyDisable: false,
  database: { cidrs: [], port: 5432 },
  monitoring: { namespaceLabels: {}, podLabels: { "perdure.dev/platform-role": "monitoring" } },
  tracingEndpoint: undefined,
  collector: { namespaceLabels: {}, podLabels: {}, cidrs: [], port: 4318 },
  dns: { namespaceLabels: { "kubernetes.io/metadata.name": "kube-system" }, podLabels: { "k8s-app": "kube-dns" } },
};
