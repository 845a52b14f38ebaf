/**
 * Types of what clients read and send, all from the contract. Responses may have more fields than these types, and values of enumerations
 * may be new: the server may be newer than its clients.
 */
import type {
  BackfillShape,
  BatchResultsShape,
  BatchShape,
  BundleShape,
  ClusterShape,
  CrashedShape,
  DeploymentDetailShape,
  DeploymentSummaryShape,
  DryRunShape,
  EventSubscriptionShape,
  EventSubscriptionWithSecretShape,
  ExplanationShape,
  ForkedShape,
  HandlerShape,
  OperationShape,
  PayloadShape,
  RegistrationShape,
  RuleShape,
  SandboxShape,
  ScheduleShape,
  ServiceShape,
  SubscriptionShape,
  SubscriptionStatusShape,
  TimelineShape,
  Tolerant,
  VerificationShape,
  VersionShape,
} from "@perdure/admin-contract";
import type { CheckDeployment, CreateEventSubscription, ModifyService, PutRules } from "@perdure/admin-contract/requests";
import type { z } from "zod";

export type ServiceMetadata = Tolerant<typeof ServiceShape>;
export type HandlerMetadata = Tolerant<typeof HandlerShape>;
/** Retry policy of a service, or the options that a handler sets itself. `max_attempts` null: unlimited, or as the service has it. */
export type RetryPolicyView = HandlerMetadata["retry_policy"];
/** Options that can change without new code; durations such as `1d 2h`. */
export type ServiceChanges = z.input<typeof ModifyService>;

/** The alternatives of a union as one type: fields that only some of them have are optional. */
type Merged<T> = Pick<T, keyof T> & { [Name in Exclude<FieldOf<T>, keyof T>]?: MemberOf<T, Name> };
type FieldOf<T> = T extends unknown ? keyof T : never;
type MemberOf<T, Name> = T extends unknown ? (Name extends keyof T ? T[Name] : undefined) : never;

/** `uri` of HTTP deployments, `arn` of Lambda functions. */
export type DeploymentSummary = Merged<Tolerant<typeof DeploymentSummaryShape>>;
export type DeploymentDetail = Merged<Tolerant<typeof DeploymentDetailShape>>;
export type RegistrationView = Tolerant<typeof RegistrationShape>;
export type VerificationView = Tolerant<typeof VerificationShape>;
/** Bounds of a deploy check; an absent one has the server's default (docs/deploy-check.md). */
export type DeployCheckBounds = z.input<typeof CheckDeployment>;

export type BatchView = Tolerant<typeof BatchShape>;
/** A change that can be undone for a while. */
export type OperationView = Tolerant<typeof OperationShape>;
export type DryRunView = Tolerant<typeof DryRunShape>;
export type BatchResultView = Tolerant<typeof BatchResultsShape>["results"][number];
/** The stopped attempt, and the number of journal entries stored by then. */
export type CrashedView = Tolerant<typeof CrashedShape>;
/** A fork: its id, its source and where the journal was cut. */
export type ForkedView = Tolerant<typeof ForkedShape>;
/** Journal and outcome of a fork in a sandbox. */
export type SandboxView = Tolerant<typeof SandboxShape>;
export type ExplanationView = Tolerant<typeof ExplanationShape>;
export type BundleView = Tolerant<typeof BundleShape>;
export type TimelineView = Tolerant<typeof TimelineShape>;
export type StepView = TimelineView["steps"][number];
export type PhaseView = TimelineView["phases"][number];
export type AttemptView = TimelineView["attempts"][number];
export type PayloadView = NonNullable<Tolerant<typeof PayloadShape>>;

export type KafkaClusterView = Tolerant<typeof ClusterShape>;
export type SubscriptionView = Tolerant<typeof SubscriptionShape>;
export type SubscriptionStatusView = Tolerant<typeof SubscriptionStatusShape>;
export type BackfillView = Tolerant<typeof BackfillShape>;
export type ScheduleView = Tolerant<typeof ScheduleShape>;
export type EventSubscriptionView = Tolerant<typeof EventSubscriptionShape>;
/** With the secret of a webhook, which is shown once. */
export type EventSubscriptionWithSecretView = Tolerant<typeof EventSubscriptionWithSecretShape>;
export type EventSubscriptionCreation = z.input<typeof CreateEventSubscription>;
export type RuleView = Tolerant<typeof RuleShape>;
/** A change of a rule of flow control; an absent rate, weight or priority stays, null removes it. */
export type RuleUpsert = z.input<typeof PutRules>[number];

export type VersionView = Tolerant<typeof VersionShape>;
