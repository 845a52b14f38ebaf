/** Rows that only workers hold, as messages of `proto/control/v1/workers.proto`, and back. */
import { create } from "@bufbuild/protobuf";
import { parseVqueueId, type VqueueId } from "@perdure/base";
import type {
  FlowBlock,
  FlowBucketRow,
  FlowEntryRow,
  FlowHead,
  FlowLevel,
  FlowLimitRow,
  FlowQueueRow,
  FlowRate,
  FlowStage,
  FlowWait,
  FlowWaitLevel,
} from "@perdure/flow-control";
import type { EndpointAnswer, InvokerStatus, SlotWait } from "@perdure/invoker";
import type { DeploymentUsage } from "@perdure/metadata";
import type { AttemptError } from "@perdure/state-machine";
import type { TrafficCount } from "@perdure/storage";
import type { ConsumerPosition, StuckRecord, SubscriptionStatus } from "@perdure/subscriptions";
import { RuleRateSchema } from "../gen/v1/registry_pb.js";
import * as proto from "../gen/v1/workers_pb.js";
import { given, refuse } from "./checks.js";
import { checkedSubscriptionId } from "./deployment.js";
import {
  checked,
  choice,
  enumeration,
  type FieldCodec,
  flag,
  list,
  message,
  nested,
  number,
  numbers,
  optional,
  optionalEnumeration,
  same,
  text,
  whole,
} from "./form.js";
import { checkedInvocationId } from "./schedules.js";

/** A worker and the partitions that it leads, as it reports them. */
export interface WorkerStatus {
  /** The id in the list of workers and in leases. */
  readonly id: string;
  readonly version: string;
  readonly startedAtMs: number;
  readonly isDraining: boolean;
  readonly leading: readonly LeadershipStatus[];
}

export interface LeadershipStatus {
  readonly partition: number;
  readonly epoch: number;
  /** Time since which the worker has the lease. */
  readonly sinceMs: number;
  /** Time at which the lease ends unless it is renewed; undefined until it has been read. */
  readonly leaseExpiresAtMs: number | undefined;
}

const invocationId = checked(checkedInvocationId);
const partitionKey = same<bigint>();
export const queueId = checked<VqueueId>((id) => {
  const parsed = parseVqueueId(id);
  return parsed.ok ? parsed.value : refuse("the id of a queue", id);
});

// ── attempts ─────────────────────────────────────────────────────────────────────────────────────

const ANSWERS: Readonly<Record<EndpointAnswer, proto.AttemptStatus_EndpointAnswer>> = {
  nothing: proto.AttemptStatus_EndpointAnswer.NOTHING,
  headers: proto.AttemptStatus_EndpointAnswer.HEADERS,
  messages: proto.AttemptStatus_EndpointAnswer.MESSAGES,
};

const attemptError = message<AttemptError, typeof proto.AttemptErrorSchema>(proto.AttemptErrorSchema, {
  errorCode: text,
  code: number,
  message: text,
  stacktrace: optional(text),
  relatedCommandIndex: optional(number),
  relatedCommandName: optional(text),
  relatedCommandType: optional(number),
});

const attemptFields = message<Omit<InvokerStatus, "id">, typeof proto.AttemptStatusSchema>(proto.AttemptStatusSchema, {
  inFlight: flag,
  retryCount: whole,
  lastStartAtMs: optional(whole),
  nextRetryAtMs: optional(number),
  lastAttemptDeploymentId: optional(text),
  lastAttemptServer: optional(text),
  lastFailure: optional(attemptError),
  lastAwaitingJson: optional(text),
  slotWait: optional(
    message<SlotWait, typeof proto.AttemptStatus_SlotWaitSchema>(proto.AttemptStatus_SlotWaitSchema, {
      service: text,
      isContinuation: flag,
      sinceMs: whole,
    }),
  ),
  endpointAnswer: optionalEnumeration(ANSWERS, proto.AttemptStatus_EndpointAnswer.UNSPECIFIED, "the activity of an endpoint"),
});

export const attempt: FieldCodec<InvokerStatus, proto.AttemptStatus> = {
  to: (status) => Object.assign(attemptFields.to(status), { invocationId: status.id }),
  from: (from) => ({ id: invocationId.from(from.invocationId), ...attemptFields.from(from) }),
};

// ── traffic ──────────────────────────────────────────────────────────────────────────────────────

export const trafficCount = message<TrafficCount, typeof proto.TrafficCountSchema>(proto.TrafficCountSchema, {
  periodMs: whole,
  startsAtMs: whole,
  service: text,
  durationMsMax: optional(whole),
  created: whole,
  completed: whole,
  failed: whole,
});

// ── flow control ─────────────────────────────────────────────────────────────────────────────────

const LEVELS: Readonly<Record<FlowLevel, proto.FlowLevel>> = {
  Scope: proto.FlowLevel.SCOPE,
  Level1: proto.FlowLevel.LEVEL1,
  Level2: proto.FlowLevel.LEVEL2,
};
const level = enumeration(LEVELS, "a level of flow control");
const rate = message<FlowRate, typeof RuleRateSchema>(RuleRateSchema, { limit: number, periodMs: number, burst: number });

const block: FieldCodec<FlowBlock, proto.FlowQueue_Block> = {
  to(by) {
    const blocked = create(proto.FlowQueue_BlockSchema);
    switch (by.kind) {
      case "paused":
        blocked.block = { case: "paused", value: create(proto.FlowQueue_Block_PausedSchema) };
        break;
      case "concurrency": {
        const fields = { level: level.to(by.level), rule: by.rule, limit: BigInt(by.limit) };
        blocked.block = { case: "concurrency", value: create(proto.FlowQueue_Block_ConcurrencySchema, fields) };
        break;
      }
      case "rate": {
        const fields = { level: level.to(by.level), rule: by.rule, untilMs: by.untilMs };
        blocked.block = { case: "rate", value: create(proto.FlowQueue_Block_RateSchema, fields) };
        break;
      }
      case "lock": {
        const fields = { lockName: by.lockName, ...given("holder", by.holder) };
        blocked.block = { case: "lock", value: create(proto.FlowQueue_Block_LockSchema, fields) };
        break;
      }
    }
    return blocked;
  },
  from({ block: by }) {
    switch (by.case) {
      case "paused":
        return { kind: "paused" };
      case "concurrency":
        return { kind: by.case, level: level.from(by.value.level), rule: by.value.rule, limit: Number(by.value.limit) };
      case "rate":
        return { kind: by.case, level: level.from(by.value.level), rule: by.value.rule, untilMs: by.value.untilMs };
      case "lock":
        return { kind: by.case, lockName: by.value.lockName, holder: optional(invocationId).from(by.value.holder) };
      default:
        return refuse("the block of a queue", by.case);
    }
  },
};

export const queue = message<FlowQueueRow, typeof proto.FlowQueueSchema>(proto.FlowQueueSchema, {
  partitionKey,
  id: queueId,
  service: optional(text),
  scope: optional(text),
  limitKey: optional(text),
  lockName: optional(text),
  paused: flag,
  createdAtMs: whole,
  lastEnqueuedAtMs: optional(whole),
  lastStartAtMs: optional(whole),
  inboxCount: whole,
  runningCount: whole,
  suspendedCount: whole,
  pausedCount: whole,
  head: optional(
    message<FlowHead, typeof proto.FlowQueue_HeadSchema>(proto.FlowQueue_HeadSchema, {
      entryId: text,
      blockedOn: optional(block),
      sinceMs: whole,
    }),
  ),
});

export const queueEntry = message<FlowEntryRow, typeof proto.FlowEntrySchema>(proto.FlowEntrySchema, {
  partitionKey,
  queueId,
  entryId: text,
  entryKind: choice<FlowEntryRow["entryKind"]>(["invocation", "state-mutation"], "the kind of an entry"),
  stage: choice<FlowStage>(["inbox", "running", "suspended", "paused"], "the stage of an entry"),
  status: choice<FlowEntryRow["status"]>(["new", "scheduled", "started"], "the status of an entry"),
  hasLock: flag,
  runAtMs: optional(whole),
  sequence: number,
  priority: number,
  createdAtMs: whole,
  transitionedAtMs: whole,
  firstStartAtMs: optional(whole),
  runCount: whole,
  deploymentId: optional(text),
});

export const limit = message<FlowLimitRow, typeof proto.FlowLimitSchema>(proto.FlowLimitSchema, {
  partitionKey,
  scope: text,
  l1: optional(text),
  l2: optional(text),
  level,
  usage: whole,
  limit: optional(whole),
  rule: optional(text),
  waiterCount: whole,
});

export const bucket = message<FlowBucketRow, typeof proto.FlowBucketSchema>(proto.FlowBucketSchema, {
  partitionKey,
  scope: text,
  l1: optional(text),
  l2: optional(text),
  rule: text,
  rate: nested(rate, "the rate of a bucket"),
  available: number,
});

export const flowWait = message<FlowWait, typeof proto.FlowWaitSchema>(proto.FlowWaitSchema, {
  scope: text,
  limitKey: optional(text),
  sinceMs: whole,
  levels: list(
    message<FlowWaitLevel, typeof proto.FlowWait_LevelSchema>(proto.FlowWait_LevelSchema, {
      name: text,
      rule: text,
      used: whole,
      limit: optional(whole),
      waiting: whole,
      nextAtMs: optional(number),
      isFull: flag,
    }),
  ),
  isQueuePaused: flag,
  place: whole,
});

// ── workers ──────────────────────────────────────────────────────────────────────────────────────

export const worker = message<WorkerStatus, typeof proto.WorkerStatusSchema>(proto.WorkerStatusSchema, {
  id: text,
  version: text,
  startedAtMs: whole,
  isDraining: flag,
  leading: list(
    message<LeadershipStatus, typeof proto.WorkerStatus_LeadershipSchema>(proto.WorkerStatus_LeadershipSchema, {
      partition: number,
      epoch: whole,
      sinceMs: whole,
      leaseExpiresAtMs: optional(whole),
    }),
  ),
});

const STATES: Readonly<Record<SubscriptionStatus["state"], proto.SubscriptionStatus_State>> = {
  starting: proto.SubscriptionStatus_State.STARTING,
  consuming: proto.SubscriptionStatus_State.CONSUMING,
  backingOff: proto.SubscriptionStatus_State.BACKING_OFF,
  paused: proto.SubscriptionStatus_State.PAUSED,
  noCluster: proto.SubscriptionStatus_State.NO_CLUSTER,
};

export const subscriptionStatus = message<SubscriptionStatus, typeof proto.SubscriptionStatusSchema>(
  proto.SubscriptionStatusSchema,
  {
    id: checked(checkedSubscriptionId),
    state: enumeration(STATES, "the state of a subscription"),
    assigned: numbers,
    positions: list(
      message<ConsumerPosition, typeof proto.SubscriptionStatus_PositionSchema>(proto.SubscriptionStatus_PositionSchema, {
        partition: number,
        next: whole,
        lag: whole,
      }),
    ),
    stuck: optional(
      message<StuckRecord, typeof proto.SubscriptionStatus_StuckSchema>(proto.SubscriptionStatus_StuckSchema, {
        partition: number,
        offset: whole,
        reason: text,
      }),
    ),
    lastFailure: optional(text),
    nextRetryAtMs: optional(number),
    handledCount: whole,
  },
);

export const usage = message<DeploymentUsage, typeof proto.CountUsageResponseSchema>(proto.CountUsageResponseSchema, {
  pinned: whole,
  unfinishedByService: {
    to: (counts) => Object.fromEntries([...counts].map(([service, count]) => [service, BigInt(count)])),
    from: (counts) => new Map(Object.entries(counts).map(([service, count]) => [service, Number(count)])),
  },
});
