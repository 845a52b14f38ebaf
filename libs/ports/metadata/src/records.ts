/**
 * Records of an environment besides its invocations: deployments with the revisions they serve, Kafka clusters, subscriptions and
 * concurrency rules. These records are stored as they are, and the management API and introspection show them.
 */
import type { DeploymentId, SubscriptionId } from "@perdure/base";
import type { ServiceDefinition } from "@perdure/manifest";
import type { EventRoute } from "@perdure/state-machine";
import type { Verification } from "./verification.js";

/** The address of a deployment. `uri` is absolute and normalised: lower-case host, `/` as the shortest path, no fragment. */
export type DeploymentAddress =
  | { readonly kind: "http"; readonly uri: string; readonly httpVersion: "HTTP/1.1" | "HTTP/2.0" }
  | {
      readonly kind: "lambda";
      readonly arn: string;
      readonly assumeRoleArn: string | undefined;
      readonly compression: "zstd" | undefined;
    };

/** Changes to a revision made through the management API; `undefined` = as in the manifest. Durations in milliseconds. */
export interface ServiceOverrides {
  readonly public: boolean | undefined;
  readonly idempotencyRetentionMs: number | undefined;
  readonly workflowCompletionRetentionMs: number | undefined;
  readonly journalRetentionMs: number | undefined;
  readonly inactivityTimeoutMs: number | undefined;
  readonly abortTimeoutMs: number | undefined;
  /** Virtual objects only; 0: the state does not expire. No manifest can name it, so later registrations keep it. */
  readonly stateTtlMs: number | undefined;
  /**
   * Rules by handler, in the form of the headers of the ingress; a change with `off` removes one. A handler has at most one of the two.
   * No manifest can name them, so later registrations keep them.
   */
  readonly debounce?: HandlerRules | undefined;
  readonly throttle?: HandlerRules | undefined;
}

type HandlerRules = Readonly<Record<string, string>>;

/** One revision of a service, as one deployment serves it. */
export interface ServiceRevision {
  readonly definition: ServiceDefinition;
  /** Revision from 1; it rises with every registration of the service. */
  readonly revision: number;
  readonly overrides: ServiceOverrides;
}

export interface DeploymentRecord {
  readonly id: DeploymentId;
  readonly address: DeploymentAddress;
  /** Lower-case names; sent with every request to the deployment. */
  readonly additionalHeaders: Readonly<Record<string, string>>;
  readonly metadata: Readonly<Record<string, string>>;
  /** Time of the registration, or of the last replacement by force (ms since 1970). */
  readonly createdAtMs: number;
  readonly protocolType: "bidiStream" | "requestResponse";
  readonly minProtocolVersion: number;
  readonly maxProtocolVersion: number;
  /** SDK name and version that the endpoint reported at discovery. */
  readonly sdkVersion: string | undefined;
  /** Services in the order of the manifest. */
  readonly services: readonly ServiceRevision[];
  /** Result of the latest check against existing invocations; undefined when this code was not checked. */
  readonly verification?: Verification | undefined;
}

export interface KafkaClusterRecord {
  readonly name: string;
  /** Client properties with their secrets; code that shows them must redact them. */
  readonly properties: Readonly<Record<string, string>>;
  readonly createdAtMs: number;
}

export interface SubscriptionRecord {
  readonly id: SubscriptionId;
  /** `kafka://<cluster>/<topic>`. */
  readonly source: string;
  /** `service://<service>/<handler>`. */
  readonly sink: string;
  /** Consumer options, `group.id` always among them. */
  readonly options: Readonly<Record<string, string>>;
  /** Whether no process consumes; the group's offsets stay where they are. */
  readonly paused: boolean;
  /** Records that an operator decided to skip, newest last. */
  readonly skipped: readonly RecordPlace[];
}

/** A record of the subscription's topic. */
export interface RecordPlace {
  readonly partition: number;
  readonly offset: number;
}

/** Allows at most `limit` starts in `periodMs`, evenly spread, after up to `burst` at once. */
export interface RuleRate {
  readonly limit: number;
  readonly periodMs: number;
  readonly burst: number;
}

/** A subscription to events of the environment, with the secrets of its webhook. */
export interface EventSubscriptionRecord extends EventRoute {
  readonly description: string | undefined;
  readonly createdAtMs: number;
}

/** Weight of a rule that gives none. */
export const RULE_WEIGHT_DEFAULT = 1;

/** A rule of flow control for scopes and limit keys. */
export interface RuleRecord {
  /** One to three components separated by `/`, each `*` or a name. */
  readonly pattern: string;
  /** Maximum number of running invocations; `undefined` = without limit. */
  readonly concurrency: number | undefined;
  /** `undefined` = without limit. */
  readonly rate: RuleRate | undefined;
  /** Share of a limit key among its siblings when there is not enough capacity for all; 1 unless set. */
  readonly weight: number;
  /** 1 (first) to 5 (last), for invocations that name none. */
  readonly priority: number | undefined;
  readonly description: string | undefined;
  readonly disabled: boolean;
  readonly version: number;
  readonly lastModifiedMs: number;
}
