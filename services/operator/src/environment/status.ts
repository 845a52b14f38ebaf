/** The status of an environment from the findings of a pass; what a pass does not observe stays. Pure. */
import type { EnvironmentResource, EnvironmentResourceStatus } from "@perdure/custom-resources";
import { podOf } from "../redis-failover/record.js";
import type { AcceptedDataLoss } from "./data-loss-step.js";
import type { DataResult } from "./data-step.js";
import type { Draining } from "./draining.js";
import type { HibernationDecision } from "./hibernation.js";
import { fingerprintOf } from "./key-loss.js";
import type { Rollout } from "./observe.js";
import type { VolumesResult } from "./volumes-step.js";

interface StatusFacts
  extends Required<
    Pick<EnvironmentResourceStatus, "phase" | "observedGeneration" | "conditions" | "namespace" | "host" | "endpoints">
  > {
  readonly redisAuth: EnvironmentResourceStatus["redisAuth"] | undefined;
  readonly set: Rollout | undefined;
  readonly isReady: boolean;
  readonly publicKeys: readonly string[] | undefined;
  readonly rest: HibernationDecision | undefined;
  readonly draining: Draining | undefined;
  readonly autoscaler: "hpa" | "keda" | undefined;
  readonly data: DataResult | undefined;
  readonly volumes: VolumesResult | undefined;
  readonly acceptedLoss: AcceptedDataLoss;
}

const VERSIONS_MAX = 5;

function redisPrimaryOf(data: DataResult | undefined): Pick<NonNullable<EnvironmentResourceStatus["data"]>, "redisPrimary"> {
  const record = data?.failover?.record;
  if (record?.since === undefined) return {};
  return { redisPrimary: { pod: podOf(record), promotions: record.promotions, since: record.since } };
}

function dataFieldsOf(data: DataResult | undefined): EnvironmentResourceStatus["data"] {
  const { lastSnapshotId, lastSnapshotTime } = data?.backup ?? {};
  const snapshot = lastSnapshotId === undefined || lastSnapshotTime === undefined ? {} : { lastSnapshotId, lastSnapshotTime };
  return data?.usedBytes === undefined ? snapshot : { ...snapshot, usedBytes: data.usedBytes };
}

/** Volumes are recorded while there are data on them; lost volumes stay recorded until the loss is accepted. */
function volumesOf(
  before: EnvironmentResourceStatus | undefined,
  result: VolumesResult | undefined,
  isReady: boolean,
): Pick<NonNullable<EnvironmentResourceStatus["data"]>, "present" | "volumes" | "acceptedLoss"> {
  const recorded = before?.data?.volumes;
  const present = isReady || (before?.data?.present === true && result?.isLost !== true);
  const acceptedLoss =
    result?.isLost === true && result.accepted !== undefined ? result.accepted.mark : before?.data?.acceptedLoss;
  const isNew = result !== undefined && (present || result.isLost);
  const volumes = isNew ? result.records : (recorded ?? []);
  return { present, volumes: volumes.length === 0 ? undefined : [...volumes], acceptedLoss };
}

/** Fields that this pass did not observe keep their previous value. */
export function statusOf(environment: EnvironmentResource, facts: StatusFacts): EnvironmentResourceStatus {
  const { set, isReady, publicKeys, rest: resting, draining, autoscaler, data, volumes, acceptedLoss, ...rest } = facts;
  const { status: before, spec } = environment;
  const current = isReady ? spec.version : before?.version?.current;
  const history = before?.version?.history ?? [];
  const isNew = current !== undefined && history[0] !== current;
  const replicas = set?.status?.replicas ?? 0;
  const ready = set?.status?.readyReplicas ?? 0;
  const requested = set?.spec?.replicas ?? 0;
  const volumeSize = spec.redis.bundled?.size;
  return JSON.parse(
    JSON.stringify({
      ...rest,
      version: {
        current,
        target: spec.version,
        history: isNew ? [current, ...history].slice(0, VERSIONS_MAX) : history.length > 0 ? history : undefined,
        featureMarkers: before?.version?.featureMarkers,
      },
      workers: {
        replicas,
        ready,
        updated: set?.status?.updatedReplicas ?? 0,
        summary: `${ready}/${requested}`,
        selector: `perdure.dev/environment=${spec.environmentId.slice("env_".length)},app.kubernetes.io/component=worker`,
        drainingOrdinal: draining?.ordinal,
        drainingSince: draining?.since,
        autoscaler,
      },
      data: {
        ...before?.data,
        ...dataFieldsOf(data),
        ...redisPrimaryOf(data),
        ...volumesOf(before, volumes, isReady),
        volumeSize,
      },
      signingKey: publicKeys === undefined ? before?.signingKey : { publicKeys, fingerprint: fingerprintOf(publicKeys) },
      acceptedDataLoss: acceptedLoss ?? before?.acceptedDataLoss,
      // A pass that was interrupted before this decision does not change it.
      hibernation: (resting ?? before)?.hibernation,
      nextWakeTime: (resting ?? before)?.nextWakeTime,
      lastActivityTime: (resting ?? before)?.lastActivityTime,
    }),
  ) as EnvironmentResourceStatus;
}
