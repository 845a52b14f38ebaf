/** The world of a seed: number of leaders, faults, and kinds of services. */
import type { ProtocolVersion } from "@perdure/service-protocol";
import type { SeededRandom } from "@perdure/testkit";
import type { AttachSettings } from "./attach/settings.js";
import type { CrowdSettings } from "./crowd/settings.js";
import type { DebounceSettings } from "./debounce/settings.js";
import type { FlowSettings } from "./flow/settings.js";
import type { StateTtlSettings } from "./state-ttl/settings.js";
import type { ThreadsSettings } from "./threads/settings.js";
import type { ThrottleSettings } from "./throttle/settings.js";
import type { UndoSettings } from "./undo/settings.js";
import type { SimulatedClusterSettings } from "./workers/settings.js";

/** Chances are per opportunity; mean times are of exponential distributions; undefined: never. */
export interface Weather {
  /** Mean time between crashes of a leader. */
  readonly crashEveryMs: number | undefined;
  /** Chance that a leader crashes at a given commit: before it is durable, or after and before its effects. */
  readonly crashAtCommit: number;
  /** Mean time between take-overs of a group whose leader runs and is not notified. */
  readonly takeOverEveryMs: number | undefined;
  /** Mean time between jumps of a leader's wall clock. */
  readonly clockJumpEveryMs: number | undefined;
  /** Chance that a commit fails with an unknown result; chance that a read fails. */
  readonly storeFailure: number;
  readonly messageLoss: number;
  readonly messageRepeated: number;
  /** Chance that an attempt meets a faulty endpoint. */
  readonly badAttempt: number;
}

export interface SimulationSettings {
  readonly partitionCount: number;
  /** Partitions led together, each group by its own processor. Empty in a world of threads and in a large cluster. */
  readonly groups: readonly (readonly number[])[];
  readonly weather: Weather;
  /** Typical time of a write, half a read, a message between leaders, a chunk to or from an endpoint. */
  readonly commitMs: number;
  readonly readMs: number;
  readonly networkMs: number;
  readonly endpointMs: number;
  readonly protocolVersionMax: ProtocolVersion;
  readonly concurrentInvocationsMax: number;
  readonly eagerStateBytesMax: number;
  /** Number of keys of the object service; with one key all callers conflict. */
  readonly objects: number;
  readonly callers: number;
  readonly operatorActions: number;
  /** Time at which the last caller starts and faults stop. */
  readonly stormMs: number;
  readonly retentionMs: number;
  readonly cleanupIntervalMs: number;
  /** Undefined: a world without scopes. */
  readonly flow: FlowSettings | undefined;
  /** Undefined: a world without crowds. */
  readonly crowd: CrowdSettings | undefined;
  /** Undefined: a world whose invocations have no attachments but those of their callers. */
  readonly attach: AttachSettings | undefined;
  /** Undefined: a world without debounced requests. */
  readonly debounce: DebounceSettings | undefined;
  /** Undefined: a world without throttled requests. */
  readonly throttle: ThrottleSettings | undefined;
  /** Undefined: a world in which state does not expire. */
  readonly stateTtl: StateTtlSettings | undefined;
  /** Undefined: a world without changes that can be undone. */
  readonly undo: UndoSettings | undefined;
  /** Undefined: leaders that are replaced when they are gone, over a store that returns reads at once. */
  readonly cluster: SimulatedClusterSettings | undefined;
  /** Undefined: not the threads of one process. */
  readonly threads: ThreadsSettings | undefined;
}

export const FAIR_WEATHER: Weather = {
  crashEveryMs: undefined,
  crashAtCommit: 0,
  takeOverEveryMs: undefined,
  clockJumpEveryMs: undefined,
  storeFailure: 0,
  messageLoss: 0,
  messageRepeated: 0,
  badAttempt: 0,
};

export function drawSettings(random: SeededRandom): SimulationSettings {
  const partitionCount = random.pick([1, 2, 4, 6]);
  const retentionMs = random.pick([40, 90, 240]) * 60_000;
  return {
    partitionCount,
    groups: drawGroups(random, partitionCount),
    weather: random.chance(0.1) ? FAIR_WEATHER : drawWeather(random),
    commitMs: random.pick([0.3, 2, 40]),
    readMs: random.pick([0.1, 1, 40]),
    networkMs: random.pick([0.5, 5, 100]),
    endpointMs: random.pick([0.2, 3, 60]),
    protocolVersionMax: random.pick([5, 6, 7, 7] as const),
    concurrentInvocationsMax: random.chance(0.2) ? 1 + random.below(4) : 1_000,
    eagerStateBytesMax: random.pick([0, 12, 40, 1 << 20, 1 << 20]),
    objects: random.pick([1, 2, 4]),
    callers: 3 + random.below(6),
    operatorActions: random.chance(0.4) ? 0 : random.below(14),
    stormMs: random.pick([2_000, 20_000, 120_000]),
    retentionMs,
    cleanupIntervalMs: random.pick([7, 30]) * 60_000,
    flow: undefined,
    crowd: undefined,
    attach: undefined,
    debounce: undefined,
    throttle: undefined,
    stateTtl: undefined,
    undo: undefined,
    cluster: undefined,
    threads: undefined,
  };
}

/** Draws groups: all partitions in one process, each alone, or a mix. */
function drawGroups(random: SeededRandom, partitionCount: number): number[][] {
  const groupCount = random.pick([1, 1, partitionCount, Math.ceil(partitionCount / 2)]);
  const groups: number[][] = Array.from({ length: groupCount }, () => []);
  for (let partition = 0; partition < partitionCount; partition++) groups[partition % groupCount]?.push(partition);
  return groups;
}

function drawWeather(random: SeededRandom): Weather {
  const sometimes = <T>(value: T, otherwise: T): T => (random.chance(0.5) ? value : otherwise);
  return {
    crashEveryMs: sometimes<number | undefined>(random.pick([300, 3_000, 20_000]), undefined),
    crashAtCommit: sometimes(random.pick([0.002, 0.02, 0.08]), 0),
    takeOverEveryMs: sometimes<number | undefined>(random.pick([500, 5_000, 30_000]), undefined),
    clockJumpEveryMs: sometimes<number | undefined>(random.pick([1_000, 10_000]), undefined),
    storeFailure: sometimes(0.003, 0),
    messageLoss: sometimes(random.pick([0.02, 0.2]), 0),
    messageRepeated: sometimes(0.1, 0),
    badAttempt: sometimes(random.pick([0.05, 0.3]), 0),
  };
}
