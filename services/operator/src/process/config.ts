/** Every setting of the program `perdure-operator`, with its sentence, unit and default. */
import {
  bindPort,
  boolean,
  type ConfigInputs,
  choice,
  custom,
  duration,
  group,
  inlineTable,
  integer,
  type LoadedConfig,
  loadConfig,
  loopbackAddress,
  optionalText,
  port,
  processSettings,
  RESERVED_VARIABLES,
  text,
  textMap,
  tomlValue,
} from "@perdure/process-kit";
import { z } from "zod";
import { PLATFORM_ROLE } from "../desired/network-policies.js";

const regionName = custom(
  z
    .string()
    .regex(/^[a-z][a-z0-9-]{1,30}(\.[a-z0-9-]{1,30})*$/, "must be a name of a region")
    .optional(),
  { sentence: "Region of this cell; environments of other regions are not touched.", form: "scalar" },
);

/** A list in a file, or one line with commas in the environment and in flags. */
const addressRanges = z
  .union([z.array(z.string()), z.string().transform((line) => line.split(",").map((range) => range.trim()))])
  .pipe(z.array(z.string().regex(/^[0-9a-fA-F.:]+\/\d{1,3}$/, "must be like 10.0.0.0/8")))
  .prefault([]);

/** One that a runtime would not start with must not get as far as that. */
const collectorAddress = z.url({ protocol: /^https?$/, error: "must be an address such as http://collector:4318" }).optional();

/** Image with a tag or a digest: the image behind `latest` changes without a change of the spec. */
const imageReference = z
  .string()
  .regex(/^[a-z0-9][a-z0-9.:/_-]*(:[A-Za-z0-9_][A-Za-z0-9_.-]*(@sha256:[a-f0-9]{64})?|@sha256:[a-f0-9]{64})$/, {
    error: "must be like registry.example.org/redis:7.4, with a tag or a digest",
  })
  .refine((reference) => !reference.endsWith(":latest"), { error: "must not be latest" });

const runtimeDigests = z
  .record(
    z.string().regex(/^(worker|registry|gateway|admin):[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$/, "must be like worker:1.4.0"),
    z.string().regex(/^sha256:[a-f0-9]{64}$/, "must be a digest such as sha256:…"),
  )
  .prefault({});

const release = (sentence: string) =>
  custom(
    z
      .string()
      .regex(/^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$/, "must be a version such as 1.4.0")
      .optional(),
    {
      sentence,
      form: "scalar",
    },
  );

export const settings = group("Settings of perdure-operator. Every line can be set here, in the environment, or by a flag.", {
  ...processSettings,
  cell: group("Cell of this operator.", {
    region: regionName,
    domain: optionalText({ sentence: "Hosts of environments are <id>.env.<region>.<domain>." }),
    cloudGateway: boolean(true, {
      sentence: "Whether a cloud gateway serves these hosts; without one the address of an environment is that of its Service.",
    }),
    scheme: choice(["https", "http"], "https", { sentence: "How clients reach the cloud gateway." }),
    ingressPort: port(8080, { sentence: "Port at which clients call an environment through the cloud gateway." }),
    adminPort: port(9070, { sentence: "Port of its management API there." }),
  }),
  probes: group("The HTTP listener for orchestrators: /livez, /readyz, /metrics.", {
    bindAddress: loopbackAddress(),
    bindPort: bindPort(9091),
  }),
  kubernetes: group("The cluster.", {
    kubeconfigFile: optionalText({
      sentence: "A kubeconfig; when not set KUBECONFIG, the home directory or the service account of the pod.",
    }),
    namespace: text("perdure-system", {
      sentence: "Namespace of the operator: Secrets that environments refer to, the lease, notes on retained data.",
    }),
    clusterDns: text("cluster.local", { sentence: "Suffix of names inside the cluster." }),
    dnsNamespaceLabels: textMap(
      { "kubernetes.io/metadata.name": "kube-system" },
      { sentence: "Labels of the namespace of the DNS pods." },
    ),
    dnsPodLabels: textMap({ "k8s-app": "kube-dns" }, { sentence: "Labels of the DNS pods." }),
    secretsRole: optionalText({
      sentence: "ClusterRole that the operator binds in each environment's namespace to access its Secrets; none when not set.",
    }),
    removalRole: optionalText({
      sentence:
        "ClusterRole that the operator binds in the namespace of an environment whose data is to be deleted; none when not set.",
    }),
    serviceAccount: text("perdure-operator", { sentence: "Service account of the operator, to which these roles are bound." }),
  }),
  network: group("Peers that network policies of environments allow; all others are blocked.", {
    postgresCidrs: custom(addressRanges, {
      sentence: "Ranges of addresses of databases that are not pods of the platform's namespace, separated by commas.",
      form: "scalar",
      show: tomlValue,
    }),
    postgresPort: integer(5432, { sentence: "Port of these databases.", min: 1, max: 65_535 }),
    monitoringNamespaceLabels: textMap(
      {},
      { sentence: "Labels of the namespace of the pods that scrape metrics; the operator's namespace when empty." },
    ),
    monitoringPodLabels: textMap({ [PLATFORM_ROLE]: "monitoring" }, { sentence: "Labels of the pods that scrape metrics." }),
    collectorNamespaceLabels: textMap(
      {},
      { sentence: "Labels of the namespace of the trace collector; the operator's namespace when only its pods have labels." },
    ),
    collectorPodLabels: textMap({}, { sentence: "Labels of the collector's pods; all of that namespace when empty." }),
    collectorCidrs: custom(addressRanges, {
      sentence: "Ranges of addresses of collectors that are not pods of the cluster, separated by commas.",
      form: "scalar",
      show: tomlValue,
    }),
    collectorPort: integer(4318, { sentence: "Port on which the collector listens.", min: 1, max: 65_535 }),
  }),
  runtimes: group("Settings of the processes of all environments.", {
    tracingEndpoint: custom(collectorAddress, {
      sentence: "OTLP/HTTP collector for their traces, which network.collector-* must allow; no tracing when not set.",
      form: "scalar",
    }),
  }),
  images: group("Where images come from.", {
    registry: optionalText({ sentence: "Prefix of the names of all images of Perdure, e.g. registry.example.org/perdure." }),
    digests: custom(runtimeDigests, {
      sentence:
        'Digests of images of environments, by program (worker, registry, gateway, admin) and release: {"worker:1.4.0" = "sha256:…"}; the tag alone where there is none.',
      show: (digests) => inlineTable(Object.entries(digests)),
    }),
    redis: custom(imageReference.prefault("docker.io/library/redis:7.4"), {
      sentence: "Image of the Redis that environments get: registry, repository, and a tag or digest.",
      form: "scalar",
      show: tomlValue,
    }),
    pullPolicy: custom(z.enum(["Always", "IfNotPresent", "Never"]).optional(), {
      sentence: "When images of environments are pulled: Always, IfNotPresent or Never; the default of Kubernetes when not set.",
      form: "scalar",
    }),
    pullSecrets: optionalText({
      sentence: "Names of Secrets for pulling in the operator's namespace, separated by commas; copied to each environment's.",
    }),
  }),
  postgres: group("Database of environments whose spec has none.", {
    secretName: optionalText({
      sentence:
        "Secret in the operator's namespace with the URL of a role that may create roles: each environment gets a role of its own.",
    }),
    secretKey: text("url", { sentence: "Key of this Secret that holds the URL." }),
  }),
  snapshots: group("Snapshots of volumes (snapshot.storage.k8s.io/v1), for backups.", {
    use: choice(["auto", "on", "off"], "auto", { sentence: "auto: where the cluster has them." }),
    className: optionalText({ sentence: "VolumeSnapshotClass; the cluster's default when not set." }),
  }),
  reconcile: group("Concurrency and rate of reconciles.", {
    workers: integer(8, { sentence: "Objects reconciled at the same time.", min: 1, max: 64 }),
    perSecond: integer(20, { sentence: "Objects reconciled per second in the long run.", min: 1, max: 1000 }),
    resync: duration("10m", {
      sentence: "Interval at which all objects are reconciled without any change (duration).",
      minMs: 1000,
    }),
  }),
  leadership: group("Leader election: one operator works; the others wait for its lease to end.", {
    lease: duration("15s", { sentence: "How long a leader that does not renew the lease keeps it (duration).", minMs: 1000 }),
    renewWithin: duration("10s", {
      sentence: "A leader that could not renew the lease for this long stops leading; less than the lease (duration).",
      minMs: 500,
    }),
    retry: duration("2s", { sentence: "How often the lease is renewed or requested (duration).", minMs: 100 }),
  }),
  releases: group("Releases to which environments of a channel are upgraded when theirs are older; pinned ones are not.", {
    stable: release("Release of the channel stable; the versions of the specs when not set."),
    fast: release("Release of the channel fast; the versions of the specs when not set."),
    atOnce: integer(10, { sentence: "Environments that are upgraded at the same time.", min: 1, max: 1000 }),
  }),
  keda: group("KEDA (keda.sh/v1alpha1), for environments whose workers it scales.", {
    use: choice(["auto", "on", "off"], "auto", { sentence: "auto: where the cluster has it." }),
    prometheusAddress: optionalText({ sentence: "URL of the Prometheus that scrapes workers, as KEDA reaches it." }),
  }),
  signingKeyOverlap: duration("24h", {
    sentence: "How long a new signing key is published before it signs: configure services with it in this time (duration).",
    minMs: 1000,
  }),
  grpcTls: boolean(true, {
    sentence: "Whether the processes of an environment authenticate each other with certificates, of an authority of its own.",
  }),
  allowPolicyDisable: boolean(false, { sentence: "Whether environments may switch their network policies off." }),
});

export type OperatorSettings = z.output<typeof settings>;

/** Throws PerdureError as `loadConfig` does. */
export function loadSettings(inputs: Pick<ConfigInputs, "file" | "environment" | "flags">): LoadedConfig<typeof settings> {
  return loadConfig(settings, { ...inputs, reservedVariables: RESERVED_VARIABLES, aliases: [] });
}
