/** Every setting of `perdure server`, with its sentence, unit and default, and the files and addresses that follow from them. */
import { resolve } from "node:path";
import { formatByteSize, formatDuration } from "@perdure/base";
import { workerSettings } from "@perdure/invoker-worker";
import {
  type Alias,
  boolean,
  byteSize,
  type ConfigInputs,
  choice,
  custom,
  duration,
  group,
  inlineTable,
  type LoadedConfig,
  loadConfig,
  optionalInteger,
  optionalText,
  port,
  text,
  textMap,
} from "@perdure/role";
import { SQL_ENGINE_DEFAULTS, type SqlEngineOptions } from "@perdure/sql";
import { z } from "zod";

/** A host without a port: `bind-port` has the port, and the two must not contradict each other. */
const bindAddress = () =>
  custom(
    z
      .string()
      .regex(/^([A-Za-z0-9.-]+|[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)$/, "must be a host name or an IP address")
      .refine((host) => !/^[^:]+:\d+$/.test(host), "must be an address without a port; 'bind-port' sets the port")
      .optional(),
    { sentence: "Address to listen on; every address of the machine when not set.", form: "scalar" },
  );

const url = (sentence: string) =>
  custom(z.url({ protocol: /^https?$/, error: "must be an http or https address" }).optional(), { sentence, form: "scalar" });

/** As in a Kafka client's configuration: any further property is kept as it is. */
const kafkaClusterList = z
  .array(
    z
      .object({ name: z.string().min(1), brokers: z.array(z.string().min(1)).min(1) })
      .catchall(z.union([z.string(), z.number(), z.boolean()])),
  )
  .refine((list) => new Set(list.map((cluster) => cluster.name)).size === list.length, "has two clusters of one name")
  .prefault([]);
type KafkaCluster = z.output<typeof kafkaClusterList>[number];

const SECRET_PROPERTY = /password|secret|passphrase|sasl\.username|sasl\.jaas\.config|token|\.key\.pem|\.key\.location/i;

function showKafkaClusters(clusters: readonly KafkaCluster[]): string {
  const masked = (cluster: KafkaCluster) =>
    Object.entries(cluster).map(([name, value]) => [name, SECRET_PROPERTY.test(name) ? "***" : value] as const);
  return `[${clusters.map((cluster) => inlineTable(masked(cluster))).join(", ")}]`;
}

const ingressSettings = group("The HTTP door for callers of services.", {
  bindAddress: bindAddress(),
  bindPort: port(8080, { sentence: "Port to listen on; 0 takes a free one." }),
  advertisedAddress: url("How callers reach the ingress, for display; http://localhost:<port>/ when not set."),
  requestSizeLimit: byteSize("32MiB", { sentence: "Largest request body (size)." }),
  concurrentApiRequestsLimit: optionalInteger({
    sentence: "Requests at one time, beyond which callers hear 429; unlimited when not set.",
    min: 1,
  }),
  kafkaClusters: custom(kafkaClusterList, {
    sentence: "Kafka clusters that subscriptions may read from: name, brokers, and further properties of the Kafka client.",
    show: showKafkaClusters,
  }),
});

const adminSettings = group("The management API.", {
  bindAddress: bindAddress(),
  bindPort: port(9070, { sentence: "Port to listen on; 0 takes a free one." }),
  advertisedAddress: url("How people and tools reach the API, for display; http://localhost:<port>/ when not set."),
  queryEngine: group("SQL over invocations and services.", {
    memorySize: byteSize(formatByteSize(SQL_ENGINE_DEFAULTS.engineMemoryBytesMax), {
      sentence: "Memory for sorts, joins and results of all queries together (size).",
    }),
    timeout: duration(formatDuration(SQL_ENGINE_DEFAULTS.statementTimeoutMs), {
      sentence: "A query that takes longer is stopped (duration).",
      minMs: 1,
    }),
  }),
});

export const settings = group("Settings of perdure server. Every line can be set here, in the environment, or by a flag.", {
  clusterName: custom(
    z
      .string()
      .regex(/^[\x21-\x7e]+$/, "must be visible ASCII without blanks")
      .prefault("localcluster"),
    {
      sentence: "Name of the cluster; endpoints hear it in the header x-restate-cluster-name.",
      form: "scalar",
    },
  ),
  nodeName: custom(
    z
      .string()
      .regex(/^[A-Za-z0-9_][A-Za-z0-9._-]*$/, "must be a name for a folder: letters, digits, '.', '_', '-'")
      .prefault("node1"),
    {
      sentence: "Name of this node, and of its folder in the base directory.",
      form: "scalar",
    },
  ),
  baseDir: text("perdure-data", { sentence: "Directory for all data; a relative one is below the current directory." }),
  shutdownTimeout: duration("30s", { sentence: "Longest wait for running requests when stopping (duration).", minMs: 1 }),
  logFilter: text("info", {
    sentence: "Which log lines are written: debug, info, warn, error or off, also by component: 'info,invoker=debug'.",
  }),
  logFormat: choice(["auto", "pretty", "json"], "auto", {
    sentence: "How log lines look; auto is pretty on a terminal and JSON elsewhere.",
  }),
  logDisableAnsiCodes: boolean(false, { sentence: "No colours in pretty log lines." }),
  tracingEndpoint: optionalText({
    sentence: "OTLP/HTTP collector for traces, e.g. http://localhost:4318; nothing is traced when not set.",
  }),
  tracingHeaders: textMap({}, { sentence: "Headers sent with every export of traces.", secret: true }),
  disableTelemetry: boolean(true, {
    sentence: "Usage is never reported to anybody; accepted for the sake of existing settings files.",
  }),
  requestIdentityPrivateKeyPemFile: optionalText({
    sentence: "PEM file with the Ed25519 key (PKCS#8) that signs requests to endpoints; they are not signed when not set.",
  }),
  additionalRequestHeaders: textMap(
    {},
    { sentence: "Headers sent with every request to endpoints, beside x-restate-cluster-name.", secret: true },
  ),
  awsAssumeRoleExternalId: optionalText({
    sentence: "External id sent along when a role is assumed to call a Lambda function.",
  }),
  experimentalEnableVqueues: boolean(true, {
    sentence: "Flow control: calls may name a scope and a limit key. Without it they are refused; rules can still be edited.",
  }),
  ingress: ingressSettings,
  admin: adminSettings,
  meta: group("Where deployments, services and subscriptions are remembered.", {
    storagePath: optionalText({ sentence: "Directory; <base-dir>/<node-name>/local-metadata-store when not set." }),
  }),
  worker: workerSettings,
});

export type Settings = z.output<typeof settings>;
export type LoadedSettings = LoadedConfig<typeof settings>;

/** Names under which the reference knows what is kept elsewhere here. */
const ALIASES: readonly Alias[] = [
  { alias: "default-retry-policy", name: "worker.invoker.defaultRetryPolicy" },
  { alias: "max-retry-policy-max-attempts", name: "worker.invoker.maxRetryPolicyMaxAttempts" },
  { alias: "default-journal-retention", name: "worker.defaultJournalRetention" },
  { alias: "max-journal-retention", name: "worker.maxJournalRetention" },
  { alias: "default-num-partitions", name: "worker.numPartitions" },
  { alias: "worker.invoker.additional-request-headers", name: "additionalRequestHeaders" },
];

/**
 * `PERDURE_` variables that are no settings: the launcher's, and those of the command line client and of tunnels, which may well
 * be set where a server is started.
 */
const RESERVED_VARIABLES: ReadonlySet<string> = new Set([
  ...["CONFIG", "NODE", "NODE_OPTIONS", "DEMO_ONCE"],
  ...["ACCOUNT", "ADMIN_URL", "AUTH_TOKEN", "CLI_CONFIG", "CLI_CONFIG_HOME", "ENVIRONMENT", "HOST", "HOST_SCHEME", "INGRESS_URL"],
  ...["ENVIRONMENT_ID", "REGION", "SIGNING_PUBLIC_KEY", "TUNNEL_NAME", "TUNNEL_SERVERS"],
]);

/** `flags` without `--config-file`. Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedSettings {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: ALIASES });
}

/** Absolute directories that follow from the settings. */
export function directoriesOf({ baseDir, nodeName, worker, meta }: Settings): {
  node: string;
  partitions: string;
  metadata: string;
} {
  const node = resolve(baseDir, nodeName);
  return {
    node,
    partitions: worker.storageRocksdb.path === undefined ? resolve(node, "db") : resolve(worker.storageRocksdb.path),
    metadata: meta.storagePath === undefined ? resolve(node, "local-metadata-store") : resolve(meta.storagePath),
  };
}

/** Sent with every request to an endpoint. */
export function requestHeadersOf({ clusterName, additionalRequestHeaders }: Settings): Record<string, string> {
  const own = Object.entries(additionalRequestHeaders).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { "x-restate-cluster-name": clusterName, ...Object.fromEntries(own) };
}

export function sqlOptionsOf({ admin }: Settings): Partial<SqlEngineOptions> {
  return { engineMemoryBytesMax: admin.queryEngine.memorySize, statementTimeoutMs: admin.queryEngine.timeout };
}

/** Kafka clusters by name, in the form of a Kafka client's properties. */
export function kafkaClustersOf({ ingress }: Settings): ReadonlyMap<string, Readonly<Record<string, string>>> {
  return new Map(
    ingress.kafkaClusters.map(({ name, brokers, ...properties }) => [
      name,
      {
        "bootstrap.servers": brokers.join(","),
        ...Object.fromEntries(Object.entries(properties).map(([key, value]) => [key, String(value)])),
      },
    ]),
  );
}
