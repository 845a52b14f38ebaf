/**
 * Opens the data set: a starting worker must lead nothing before it is certain that Redis holds the data of its environment. Until then
 * the worker waits, is not ready, and reports the reason; the expected data, or an accepted loss, let it continue without a restart.
 */
import { PerdureError, pause } from "@perdure/base";
import { type MetadataStore, readDataSet } from "@perdure/metadata";
import { type ProcessPorts, untilAvailable } from "@perdure/process-kit";
import type { RedisConnections } from "@perdure/redis";
import { MISMATCH_CHECK_MS, MISMATCH_LOG_MS } from "../limits.js";
import {
  type AgreedDataSet,
  type AgreementOptions,
  agreeOnDataSet,
  type DataSetMismatch,
  type MarkedPartitions,
} from "./agreement.js";
import { DataSetGuard } from "./guard.js";
import { markedPartitions } from "./marked-partitions.js";

interface OpenDataSet extends Omit<AgreedDataSet, "kind"> {
  readonly guard: DataSetGuard;
}

/** Environment name and settings of the agreement. */
interface WorkerDataSetOptions extends AgreementOptions {
  readonly environment: string;
}

/** Name of the part in `/readyz` while the data are not the expected ones. */
const PART = "data set";

/**
 * Resolves when the partitions in Redis are those of the environment; the guard, a part of the lifecycle, then watches that they stay so.
 * Rejects with OPS0004 when the process is stopped before.
 */
export async function openDataSet(
  redis: RedisConnections,
  metadata: Pick<MetadataStore, "get" | "write">,
  options: WorkerDataSetOptions,
  ports: ProcessPorts,
): Promise<OpenDataSet> {
  const { lifecycle, clock, random, logger: processLogger } = ports;
  const logger = processLogger.child({ component: "data set" });
  const mismatched = dataSetMetric(ports);
  const partitions = markedPartitions(redis, options.environment);
  const agreementPorts = { metadata, partitions, clock, random, logger };
  const agree = () => agreeOrTrust(() => agreeOnDataSet(agreementPorts, options), partitions, options);
  const agreed = await lifecycle.awaitPart(PART, () => untilAgreed(agree, mismatched, ports));
  let matched = Promise.withResolvers<void>();
  const changed = (isMismatched: boolean): void => {
    mismatched.set(isMismatched ? 1 : 0);
    if (isMismatched) {
      matched = Promise.withResolvers<void>();
      // The guard never rejects, and the health of the process depends on it.
      void lifecycle.awaitPart(PART, () => matched.promise).catch(() => undefined);
    } else matched.resolve();
  };
  const guard = await lifecycle.start("guard of the data set", async () => {
    const readRecord = () => readDataSet(metadata);
    const guardPorts = { readRecord, clock, random, logger };
    const watching = new DataSetGuard(guardPorts, agreed.partitionCount, agreed.id, agreed.isRecorded);
    watching.onChange(changed);
    return watching;
  });
  return { id: agreed.id, partitionCount: agreed.partitionCount, incarnation: agreed.incarnation, guard };
}

type Trusted = AgreedDataSet & { readonly isRecorded: boolean };

/**
 * While PostgreSQL is unreachable, a Redis whose partitions all have one mark is trusted: an empty one has none. The guard compares it
 * with the record later. A restored environment waits for the record, which shows whether its incarnation began.
 */
async function agreeOrTrust(
  agree: () => Promise<AgreedDataSet | DataSetMismatch>,
  partitions: MarkedPartitions,
  { incarnation }: AgreementOptions,
): Promise<Trusted | DataSetMismatch> {
  try {
    const agreement = await agree();
    return agreement.kind === "mismatch" ? agreement : { ...agreement, isRecorded: true };
  } catch (cause) {
    if (incarnation !== undefined || !(cause instanceof PerdureError) || cause.code !== "STO0001") throw cause;
    const partitionCount = await partitions.count();
    const marks = partitionCount === undefined ? [] : await partitions.marks(partitionCount);
    const [id] = marks;
    if (partitionCount === undefined || id === undefined || marks.some((mark) => mark !== id)) throw cause;
    return { kind: "agreed", id, partitionCount, incarnation: undefined, isRecorded: false };
  }
}

async function untilAgreed(
  agree: () => Promise<Trusted | DataSetMismatch>,
  mismatched: { set(value: number): void },
  ports: ProcessPorts,
): Promise<Trusted> {
  const { lifecycle, clock, random, logger } = ports;
  const { stopping } = lifecycle;
  for (let loggedAtMs = Number.NEGATIVE_INFINITY; ; ) {
    const outcome = await untilAvailable("Redis or PostgreSQL", agree, ports, stopping);
    mismatched.set(outcome.kind === "mismatch" ? 1 : 0);
    if (outcome.kind === "agreed") return outcome;
    const nowMs = clock.monotonicMs();
    if (nowMs - loggedAtMs >= MISMATCH_LOG_MS) {
      loggedAtMs = nowMs;
      const { mark, detail } = outcome;
      const accept = `perdure worker accept-data-loss ${mark}`;
      logger.error(
        { code: "STO0005", mark, detail, accept },
        "partition data are not those of the environment; no partition is led",
      );
    }
    await pause(clock, MISMATCH_CHECK_MS * (0.5 + random.float() / 2), stopping);
  }
}

function dataSetMetric({ metrics }: ProcessPorts) {
  return metrics.gauge({
    name: "perdure_worker_data_set_mismatch",
    help: "1 when the partitions in Redis are not those of the environment, so that none is led, else 0",
  });
}
