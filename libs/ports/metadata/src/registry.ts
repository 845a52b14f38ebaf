/**
 * The requests of the management API to the registry, in whichever process it runs. Reads return the latest state that this process has
 * and never wait; every change resolves when it is durable and visible to such reads.
 */
import type { DeploymentId, ErrorCode, EventSubscriptionId, OperationId, SubscriptionId } from "@perdure/base";
import type { EventFilter, EventTarget, EventType } from "@perdure/state-machine";
import type { RestoreOutcome } from "./deletions.js";
import type {
  DeploymentRecord,
  EventSubscriptionRecord,
  KafkaClusterRecord,
  RecordPlace,
  RuleRate,
  RuleRecord,
  ServiceOverrides,
  ServiceRevision,
  SubscriptionRecord,
} from "./records.js";
import type { CheckOptions, Verification } from "./verification.js";

/** The requested address of a deployment: not yet normalised, not yet contacted. */
export type RequestedAddress =
  | { readonly kind: "http"; readonly uri: string; readonly useHttp11: boolean }
  | { readonly kind: "lambda"; readonly arn: string; readonly assumeRoleArn: string | undefined };

export interface RegisterRequest {
  readonly address: RequestedAddress;
  readonly additionalHeaders: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Replaces the one deployment at this destination; allows what `breaking` allows. */
  readonly force: boolean;
  /** Allows a new revision to change a service's type and to drop handlers. */
  readonly breaking: boolean;
  /** Discovers and validates, but stores nothing. */
  readonly dryRun: boolean;
  /** Whether, without force, an existing address that still serves what is stored is returned instead of refused. */
  readonly acceptUnchanged: boolean;
  /** The result of `checkRegistration`, to be stored with the deployment. */
  readonly verification?: Verification | undefined;
}

export interface UpdateRequest {
  /** `undefined` keeps the address; an http update may change the HTTP version along with the uri only. */
  readonly address: RequestedAddress | undefined;
  /** Replaces all headers; `undefined` keeps them. */
  readonly additionalHeaders: Readonly<Record<string, string>> | undefined;
  /** Replaces the services by the discovered ones as well. */
  readonly overwrite: boolean;
  readonly dryRun: boolean;
}

export type RegisterOutcome = {
  readonly kind: "created" | "unchanged" | "replaced";
  readonly deployment: DeploymentRecord;
};

/**
 * The new values of a rule. `rate`, `weight` and `priority` keep their values where `undefined`, because older tools do not send them.
 */
export type RuleChange = {
  readonly pattern: string;
  readonly concurrency: number | undefined;
  /** `null`: without limit. */
  readonly rate: RuleRate | null | undefined;
  /** `null`: 1. */
  readonly weight: number | null | undefined;
  /** `null`: none. */
  readonly priority: number | null | undefined;
  readonly description: string | undefined;
  readonly disabled: boolean;
  readonly precondition:
    | { readonly kind: "none" }
    | { readonly kind: "matches"; readonly version: number }
    | { readonly kind: "doesNotExist" };
};

/** An event subscription to be made. */
export interface EventSubscriptionRequest {
  readonly types: readonly EventType[];
  readonly filter: EventFilter;
  /** A handler, or the address of a webhook. */
  readonly destination:
    | { readonly kind: "handler"; readonly target: EventTarget }
    | { readonly kind: "webhook"; readonly url: string };
  readonly description: string | undefined;
}

/** Unfinished invocations of a deployment and its services. */
export interface DeploymentUsage {
  /** Number of unfinished invocations pinned to the deployment. */
  readonly pinned: number;
  /** Number of unfinished invocations by service, pinned or not; services without any may be missing. */
  readonly unfinishedByService: ReadonlyMap<string, number>;
}

/** A warning about a service; the request was granted all the same. */
export interface Notice {
  readonly code: ErrorCode;
  readonly message: string;
}

/** A service's options with every default filled in. Durations in milliseconds. */
export interface EffectiveOptions {
  readonly public: boolean;
  readonly idempotencyRetentionMs: number;
  /** Workflows only. */
  readonly workflowCompletionRetentionMs: number | undefined;
  readonly journalRetentionMs: number;
  readonly inactivityTimeoutMs: number;
  readonly abortTimeoutMs: number;
  /** Time to live of the state of each object; undefined: the state does not expire. */
  readonly stateTtlMs: number | undefined;
  readonly enableLazyState: boolean;
  readonly retry: {
    readonly initialIntervalMs: number;
    readonly factor: number;
    readonly maxIntervalMs: number | undefined;
    /** `undefined` = without end. */
    readonly maxAttempts: number | undefined;
    readonly onMaxAttempts: "pause" | "kill";
  };
  readonly notices: readonly Notice[];
}

/** A revision together with the deployment that serves it. */
export interface LocatedRevision {
  readonly deployment: DeploymentRecord;
  readonly revision: ServiceRevision;
}

/**
 * Every change rejects with `RegistryRefusal` when the request cannot be granted, and with `PerdureError` when the metadata store
 * fails. Aborting `signal` stops a discovery; a write that has begun is still completed.
 */
export interface Registry {
  register(request: RegisterRequest, signal: AbortSignal): Promise<RegisterOutcome>;
  /**
   * Discovers, validates, and replays the journals of existing invocations against the endpoint; stores nothing. Rejects with
   * `RegistryRefusal` wherever `register` would.
   */
  checkRegistration(request: RegisterRequest, options: CheckOptions, signal: AbortSignal): Promise<Verification>;
  /** Replays the invocations that could be resumed on the deployment (suspended, paused), and stores the result with it. */
  checkDeployment(id: DeploymentId, options: CheckOptions, signal: AbortSignal): Promise<Verification>;
  update(id: DeploymentId, request: UpdateRequest, signal: AbortSignal): Promise<DeploymentRecord>;
  /** Removes the deployment: with `force` always; without, only when no invocation or service needs it (409 otherwise). */
  remove(id: DeploymentId, force: boolean, undo?: OperationId): Promise<void>;
  deployment(id: DeploymentId): DeploymentRecord | undefined;
  /** Oldest first. */
  deployments(): readonly DeploymentRecord[];
  /** The latest revision. */
  service(name: string): LocatedRevision | undefined;
  /** Latest revisions, by name. */
  services(): readonly LocatedRevision[];
  /** Returns the options of a revision, from its own settings and the server's. */
  effective(located: LocatedRevision): EffectiveOptions;
  /** Changes the latest revision; fields that are `undefined` stay. */
  modifyService(name: string, changes: ServiceOverrides): Promise<LocatedRevision>;

  kafkaCluster(name: string): KafkaClusterRecord | undefined;
  kafkaClusters(): readonly KafkaClusterRecord[];
  createKafkaCluster(name: string, properties: Readonly<Record<string, string>>): Promise<KafkaClusterRecord>;
  updateKafkaCluster(name: string, properties: Readonly<Record<string, string>>): Promise<KafkaClusterRecord>;
  /** Without `force` rejects while subscriptions read from the cluster. */
  removeKafkaCluster(name: string, force: boolean, undo?: OperationId): Promise<void>;

  subscription(id: SubscriptionId): SubscriptionRecord | undefined;
  subscriptions(): readonly SubscriptionRecord[];
  createSubscription(source: string, sink: string, options: Readonly<Record<string, string>>): Promise<SubscriptionRecord>;
  removeSubscription(id: SubscriptionId, undo?: OperationId): Promise<void>;
  pauseSubscription(id: SubscriptionId, paused: boolean): Promise<SubscriptionRecord>;
  /** Skips the record when a consumer reaches it. */
  skipRecord(id: SubscriptionId, place: RecordPlace): Promise<SubscriptionRecord>;

  /** Oldest first. */
  eventSubscriptions(): readonly EventSubscriptionRecord[];
  /** Rejects with META0103 when the target cannot receive events. The record has the secret of a webhook, which is not shown again. */
  createEventSubscription(request: EventSubscriptionRequest): Promise<EventSubscriptionRecord>;
  removeEventSubscription(id: EventSubscriptionId, undo?: OperationId): Promise<void>;
  /** Signs with a new secret, and with the present one until the next rotation. */
  rotateEventSecret(id: EventSubscriptionId): Promise<EventSubscriptionRecord>;
  /** Ends the validity of the secret before the present one at once; without one nothing changes. */
  revokeOldEventSecret(id: EventSubscriptionId): Promise<EventSubscriptionRecord>;

  rules(): readonly RuleRecord[];
  /** Changes all rules or none; returns them in the order of the changes. */
  putRules(changes: readonly RuleChange[]): Promise<readonly RuleRecord[]>;
  /** Deletes all rules or none; returns the patterns that existed. */
  deleteRules(
    deletions: readonly { readonly pattern: string; readonly expectedVersion: number | undefined }[],
    undo?: OperationId,
  ): Promise<readonly string[]>;
  /**
   * Restores what `remove`, `removeKafkaCluster`, `removeSubscription`, `removeEventSubscription` or `deleteRules` deleted under this id. Rejects with `RegistryRefusal` 409 when something
   * newer is in the way.
   */
  restoreDeleted(operation: OperationId): Promise<RestoreOutcome>;

  /** Calls `listener` after every change, when reads show it. Returns a function that removes the listener. */
  onChange(listener: () => void): () => void;
}

/** Why a change was not granted: `status` is the HTTP status of the management API, `code` is missing where the catalogue has none. */
export class RegistryRefusal extends Error {
  override readonly name = "RegistryRefusal";
  readonly status: 400 | 403 | 404 | 409 | 422 | 429 | 500;
  readonly code: ErrorCode | undefined;

  /** `detail` is for the client; the message has the code in front of it. */
  constructor(status: RegistryRefusal["status"], code: ErrorCode | undefined, detail: string, options?: { cause?: unknown }) {
    super(code === undefined ? detail : `[${code}] ${detail}`, options);
    this.status = status;
    this.code = code;
  }
}
