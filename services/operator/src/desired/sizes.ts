/**
 * Resources by size, so that a spec can say `medium` instead of twelve numbers. The figures are from kubernetes.md §6;
 * docs/operating/sizing.md lists what each supports, from the measured cost of invocations.
 */
import type { EnvironmentResource } from "@perdure/custom-resources";

export interface ResourceAmounts {
  readonly cpu: string;
  readonly memory: string;
}

interface Sizing {
  readonly workers: number;
  readonly worker: ResourceAmounts;
  readonly redis: ResourceAmounts;
  readonly concurrentInvocations: number;
  readonly requestsPerSecond: number;
}

const SIZES: Readonly<Record<EnvironmentResource["spec"]["size"], Sizing>> = {
  free: {
    workers: 1,
    worker: { cpu: "100m", memory: "256Mi" },
    redis: { cpu: "50m", memory: "256Mi" },
    concurrentInvocations: 100,
    requestsPerSecond: 10,
  },
  small: {
    workers: 1,
    worker: { cpu: "250m", memory: "512Mi" },
    redis: { cpu: "100m", memory: "512Mi" },
    concurrentInvocations: 1_000,
    requestsPerSecond: 100,
  },
  medium: {
    workers: 2,
    worker: { cpu: "1", memory: "1Gi" },
    redis: { cpu: "500m", memory: "4Gi" },
    concurrentInvocations: 5_000,
    requestsPerSecond: 1_000,
  },
  large: {
    workers: 4,
    worker: { cpu: "2", memory: "2Gi" },
    redis: { cpu: "2", memory: "16Gi" },
    concurrentInvocations: 20_000,
    requestsPerSecond: 5_000,
  },
  custom: {
    workers: 1,
    worker: { cpu: "250m", memory: "512Mi" },
    redis: { cpu: "500m", memory: "2Gi" },
    concurrentInvocations: 1_000,
    requestsPerSecond: 1_000,
  },
};

/** Resources of each front process, which mostly waits. */
const FRONT: ResourceAmounts = { cpu: "50m", memory: "192Mi" };
/** Memory limit of the management API while SQL statements run, each in a process of its own; these adapt to the limit. */
export const ADMIN_MEMORY_LIMIT = "768Mi";

export function sizingOf({ spec }: EnvironmentResource): Sizing {
  return SIZES[spec.size];
}

/**
 * Number of front pods, suspended or not: one, or two where the size, the spec or an autoscaler may have several workers, so that an update
 * or a drained node interrupts no client.
 */
export function frontsOf(environment: EnvironmentResource): number {
  const { front, workers } = environment.spec;
  const mayBeSeveral = (workers.replicas ?? 0) > 1 || (workers.autoscaling?.max ?? 0) > 1;
  return Math.max(front?.replicas ?? 1, frontsOfSize(environment), mayBeSeveral ? 2 : 1);
}

/** Number of front pods by size alone, without the rest of the spec. */
export function frontsOfSize(environment: EnvironmentResource): number {
  return sizingOf(environment).workers > 1 ? 2 : 1;
}

/** Resource requests of each process of a front pod. */
export function frontRequests({ spec }: EnvironmentResource): ResourceAmounts {
  const { requests, limits } = spec.front?.resources ?? {};
  return {
    cpu: requests?.cpu ?? lesserQuantity(FRONT.cpu, limits?.cpu),
    memory: requests?.memory ?? lesserQuantity(FRONT.memory, limits?.memory),
  };
}

/** Returns the amount, or the limit when that is less: nothing is requested beyond a limit. */
export function lesserQuantity(amount: string, limit: string | undefined): string {
  return limit !== undefined && quantityOf(limit) < quantityOf(amount) ? limit : amount;
}

/** Workers that the spec requests; 0 while suspended. With autoscaling the autoscaler decides the number. */
export function desiredWorkers({ spec }: EnvironmentResource): number {
  if (spec.suspended) return 0;
  return spec.workers.replicas ?? SIZES[spec.size].workers;
}

/** Most workers there can be at one time. */
export function workersMax(environment: EnvironmentResource): number {
  return environment.spec.workers.autoscaling?.max ?? Math.max(1, desiredWorkers(environment));
}

const UNITS: Readonly<Record<string, number>> = {
  "": 1,
  m: 0.001,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
};

/** `500m` → 0.5, `10Gi` → 10737418240. Throws RangeError for what is not a quantity. */
export function quantityOf(text: string): number {
  const [, number = "", unit = ""] = /^([0-9.]+)([a-zA-Z]*)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  if (number === "" || factor === undefined || Number.isNaN(Number(number))) throw new RangeError(`'${text}' is not a quantity`);
  return Number(number) * factor;
}
