/**
 * What is the same for all environments of a cell, set once where the operator is composed and passed to the functions that derive objects.
 */

/** Subject of an RBAC binding: a user, or a service account of a namespace. */
interface AccessSubject {
  readonly kind: "User" | "ServiceAccount";
  readonly name: string;
  readonly namespace?: string;
}

export interface Cell {
  readonly region: string;
  /** Hosts are `<id>.env.<region>.<domain>`. */
  readonly domain: string;
  /** Whether a cloud gateway serves these hosts; else an environment is called at its Service, inside the cluster. */
  readonly hasCloudGateway: boolean;
  /** How clients reach that gateway. */
  readonly edge: { readonly scheme: "https" | "http"; readonly ports: { readonly ingress: number; readonly admin: number } };
  /** Suffix of names inside: `cluster.local`. */
  readonly clusterDns: string;
  /** Prefix of all image names, without a slash at the end. */
  readonly imageRegistry: string;
  /** Digests of images of runtimes, by program and release (`worker:1.4.0`); where one is missing the tag alone counts. */
  readonly runtimeDigests: Readonly<Record<string, string>>;
  /** Image of the bundled Redis: registry, repository, tag or digest. */
  readonly redisImage: string;
  /** Pull policy of all containers; undefined: the default of Kubernetes. */
  readonly imagePullPolicy: "Always" | "IfNotPresent" | "Never" | undefined;
  /** Secrets of `namespace` that are copied to where pods are. */
  readonly imagePullSecrets: readonly string[];
  /** Releases of the channels, and how many environments go to one at a time. */
  readonly releases: { readonly stable: string | undefined; readonly fast: string | undefined; readonly atOnce: number };
  /** Milliseconds for which a new signing key is published before it signs. */
  readonly keyOverlapMs: number;
  /**
   * Whether KEDA may scale workers: `auto` uses it where it is installed. `prometheusAddress`: the Prometheus that KEDA queries; without it
   * KEDA is not used.
   */
  readonly keda: "auto" | "on" | "off";
  readonly prometheusAddress: string | undefined;
  /** Whether processes of an environment show each other certificates. */
  readonly grpcTls: boolean;
  /** The operator's own: where referenced Secrets, leases and tombstones are. */
  readonly namespace: string;
  /** Secret in `namespace` (`name`, `key`) with the database in which environments that name none get a role; its URL is the operator's alone. */
  readonly postgresSecret: { readonly name: string; readonly key: string } | undefined;
  /**
   * Role that the operator binds in each namespace of an environment to read Secrets there; undefined: the operator's user has that right
   * already.
   */
  readonly secretsRole: { readonly clusterRole: string; readonly subject: AccessSubject } | undefined;
  /** Role that the operator binds to delete a namespace with its volumes when an environment requests that; undefined as above. */
  readonly removalRole: { readonly clusterRole: string; readonly subject: AccessSubject } | undefined;
  /** Whether volumes can be snapshotted: `auto` where the API is served. `snapshotClass`: the cluster's default when undefined. */
  readonly snapshots: "auto" | "on" | "off";
  readonly snapshotClass: string | undefined;
  /** A deletion that takes longer (milliseconds) is reported as stuck. */
  readonly deletionStuckMs: number;
  readonly allowPolicyDisable: boolean;
  /** Addresses of databases outside the platform's pods: ranges, and a port. */
  readonly database: { readonly cidrs: readonly string[]; readonly port: number };
  /** Labels of the pods that scrape, and of their namespace; ours when there are none. */
  readonly monitoring: { readonly namespaceLabels: Labels; readonly podLabels: Labels };
  /** Address that runtimes send traces to; undefined: no tracing. */
  readonly tracingEndpoint: string | undefined;
  /**
   * Receivers of traces for the network policy: pods by their labels and those of their namespace, in the platform's namespace when only
   * pod labels are given; and ranges of addresses. No rule when all are empty.
   */
  readonly collector: {
    readonly namespaceLabels: Labels;
    readonly podLabels: Labels;
    readonly cidrs: readonly string[];
    readonly port: number;
  };
  /** Labels of the pods that answer DNS, and of their namespace. */
  readonly dns: { readonly namespaceLabels: Labels; readonly podLabels: Labels };
}

export type Labels = Readonly<Record<string, string>>;
