/**
 * The normalised definition of an endpoint's services. Values that the manifest leaves open stay `undefined`; the ingress fills them from
 * defaults of the service and the server. These types are plain JSON, because revisions are stored in this form.
 */

export type ServiceKind = "service" | "virtualObject" | "workflow";

/** `exclusive` runs one at a time per key, `workflow` is the run of a workflow, everything else is `shared`. */
export type HandlerKind = "exclusive" | "shared" | "workflow";

/** Rules for the input of a handler. */
export interface InputDefinition {
  /** Neither body nor content type is allowed; the other fields are ignored then. */
  readonly none: boolean;
  /** An empty body is refused. */
  readonly required: boolean;
  /** `type/subtype`, `type/*` or any type. */
  readonly contentType: string;
  readonly jsonSchema: unknown;
}

/** The output of a handler. */
export interface OutputDefinition {
  /** `undefined`: the handler declares no output type. */
  readonly contentType: string | undefined;
  readonly setContentTypeIfEmpty: boolean;
  readonly jsonSchema: unknown;
}

/** Options a manifest may set on a service, a handler, or both. Durations are milliseconds. */
export interface ManifestOptions {
  readonly inactivityTimeoutMs: number | undefined;
  readonly abortTimeoutMs: number | undefined;
  readonly journalRetentionMs: number | undefined;
  readonly idempotencyRetentionMs: number | undefined;
  readonly enableLazyState: boolean | undefined;
  readonly ingressPrivate: boolean | undefined;
  readonly retry: RetryOptions;
}

export interface RetryOptions {
  readonly initialIntervalMs: number | undefined;
  readonly factor: number | undefined;
  readonly maxIntervalMs: number | undefined;
  /** Includes the first attempt; at least 1. */
  readonly maxAttempts: number | undefined;
  readonly onMaxAttempts: "pause" | "kill" | undefined;
}

export interface HandlerDefinition {
  readonly name: string;
  readonly kind: HandlerKind;
  readonly documentation: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly input: InputDefinition;
  readonly output: OutputDefinition;
  readonly options: ManifestOptions;
  /** Retention of a workflow's completion; only on the `run` handler of a workflow. */
  readonly workflowCompletionRetentionMs: number | undefined;
}

export interface ServiceDefinition {
  readonly name: string;
  readonly kind: ServiceKind;
  readonly documentation: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
  readonly options: ManifestOptions;
  /** Handlers in the order of the manifest, with unique names. */
  readonly handlers: readonly HandlerDefinition[];
}

/** A whole manifest. */
export interface Manifest {
  readonly protocolMode: "bidiStream" | "requestResponse";
  readonly minProtocolVersion: number;
  readonly maxProtocolVersion: number;
  readonly lambdaCompression: "zstd" | undefined;
  /** Services in the order of the manifest, with unique names. */
  readonly services: readonly ServiceDefinition[];
}

/** Service protocol versions this server speaks, both ends included (service-protocol.md §2.6). */
export const PROTOCOL_VERSIONS = { min: 5, max: 7 } as const;
