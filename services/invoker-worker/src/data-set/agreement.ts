/**
 * Decides, before any partition is led, whether the partitions are those that the environment was using. PostgreSQL holds a record with
 * the mark of the data set, each partition in Redis has the mark.
 *
 *     record        partitions                        then
 *     none          no mark (new, or older version)   record `creating` ▸ mark the partitions ▸ `established`
 *     none          a mark                            refuse: another database, or another Redis
 *     creating      –                                 continue marking: a process stopped in between, or another one is at it
 *     replacing     –                                 the same, over whatever marks there are
 *     established   the mark everywhere               agreed
 *     established   missing or another                refuse, unless the loss is accepted ▸ record `replacing` with a new mark
 *
 * Every change of the record is a compare-and-set and every mark is written idempotently, so processes that start together complete each
 * other's work; the loser of a race reads again. No window remains in which a crash looks like a loss: marks are written after the
 * record, and compared only after `established`. Two windows remain in which a loss looks like a first start: Redis is emptied while the
 * very first marks are written, or a process that was frozen while it wrote them resumes after Redis was emptied.
 */
import { type Clock, type Logger, PerdureError, type Random } from "@perdure/base";
import {
  type AcceptedLoss,
  type MetadataStore,
  newDataSetId,
  readDataSet,
  type StoredDataSet,
  writeDataSet,
} from "@perdure/metadata";
import { INSTANCE_EPOCHS, type PlacedMarks, type ReplacedData } from "@perdure/redis";
import { AGREEMENT_STEPS_MAX } from "../limits.js";

/** The partitions of the environment, as far as their marks matter. */
export interface MarkedPartitions {
  /** Undefined when the store has no partitions. Writes nothing. */
  count(): Promise<number | undefined>;
  /** Stores the number unless one is stored; resolves with the stored number. */
  agreeOnCount(count: number): Promise<number>;
  marks(count: number): Promise<readonly (string | undefined)[]>;
  place(count: number, mark: string, replaces: ReplacedData | undefined): Promise<PlacedMarks>;
}

export interface AgreementPorts {
  readonly metadata: Pick<MetadataStore, "get" | "write">;
  readonly partitions: MarkedPartitions;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export interface AgreementOptions {
  /** Number of partitions of a new environment. */
  readonly partitionCount: number;
  /** `worker.incarnation`: other data are accepted once for each value. */
  readonly incarnation: string | undefined;
  /** Mark of the data set whose loss is accepted (`worker.accept-data-loss`, or the command `accept-data-loss`). */
  readonly acceptDataLoss: string | undefined;
}

export interface DataSetMismatch {
  readonly kind: "mismatch";
  /** The mark that `accept-data-loss` must name: the mark in the record; without a record the one in Redis. */
  readonly mark: string;
  readonly detail: string;
}

export interface AgreedDataSet {
  readonly kind: "agreed";
  readonly id: string;
  readonly partitionCount: number;
  /** Incarnation that the partitions must begin before they are led (`beginIncarnation`); undefined: none. */
  readonly incarnation: string | undefined;
}

/** Rejects with STO0001 when PostgreSQL or Redis is unreachable, STO0003 when the record is malformed. */
export async function agreeOnDataSet(ports: AgreementPorts, options: AgreementOptions): Promise<AgreedDataSet | DataSetMismatch> {
  for (let step = 0; step < AGREEMENT_STEPS_MAX; step++) {
    const record = await readDataSet(ports.metadata);
    const outcome = await nextStep(record, ports, options);
    if (outcome !== undefined) return outcome;
  }
  throw new PerdureError("STO0001", "other processes keep changing the record of the data set");
}

/** Undefined: this or another process changed the record; read it again. */
function nextStep(record: StoredDataSet | undefined, ports: AgreementPorts, options: AgreementOptions) {
  if (record === undefined) return create(ports, options);
  return record.state === "established" ? compare(record, ports, options) : place(record, ports, options);
}

async function create(ports: AgreementPorts, options: AgreementOptions): Promise<DataSetMismatch | undefined> {
  const { partitions, metadata, random, logger } = ports;
  const partitionCount = (await partitions.count()) ?? options.partitionCount;
  const present = (await partitions.marks(partitionCount)).find((mark) => mark !== undefined);
  const blank = { partitionCount, epochBase: 0, incarnations: [], accepted: [], version: 0 };
  if (present !== undefined) {
    const empty = { ...blank, id: present, state: "creating" } as const;
    const detail = `PostgreSQL has no record of a data set, and partitions in Redis carry the mark ${present} of one. Check 'metadata.postgres-url' and 'redis.url'.`;
    return acceptOr({ kind: "mismatch", mark: present, detail }, empty, undefined, ports, options);
  }
  const { incarnation } = options;
  const incarnations = incarnation === undefined ? [] : [incarnation];
  const id = newDataSetId(random);
  if (await writeDataSet(metadata, { ...blank, id, state: "creating", incarnations }))
    logger.info({ mark: id, partitions: partitionCount }, "recorded a new data set");
  return undefined;
}

async function place(
  record: StoredDataSet,
  ports: AgreementPorts,
  options: AgreementOptions,
): Promise<DataSetMismatch | undefined> {
  const { id, partitionCount, epochBase } = record;
  const { partitions, metadata } = ports;
  // A data set that replaces another counts from zero, so it has an incarnation of its own even where none is set.
  const incarnation = incarnationOf(record) ?? id;
  const replaces = record.state === "replacing" ? { epochBase, instance: incarnation } : undefined;
  const placed = await partitions.place(partitionCount, id, replaces);
  if (placed.kind === "foreign") {
    const detail = `the data set ${id} was being created, and partitions in Redis carry the mark ${placed.mark} of another one. Check 'redis.url'.`;
    return acceptOr({ kind: "mismatch", mark: id, detail }, record, id, ports, options);
  }
  await partitions.agreeOnCount(partitionCount);
  await writeDataSet(metadata, { ...record, state: "established", epochBase: Math.max(epochBase, placed.epochMax) });
  return undefined;
}

async function compare(
  record: StoredDataSet,
  ports: AgreementPorts,
  options: AgreementOptions,
): Promise<AgreedDataSet | DataSetMismatch | undefined> {
  const { id, partitionCount, incarnations, epochBase } = record;
  const { partitions, metadata } = ports;
  const [count, marks] = await Promise.all([partitions.count(), partitions.marks(partitionCount)]);
  const problem = problemWith(record, count, marks);
  if (problem !== undefined) {
    const detail = `${problem}. Point 'redis.url' to the right Redis or bring its data back.`;
    return acceptOr({ kind: "mismatch", mark: id, detail }, record, id, ports, options);
  }
  const { incarnation } = options;
  if (incarnation !== undefined && !incarnations.includes(incarnation)) {
    // The partitions are about to skip epochs (`beginIncarnation`), and a later replacement must begin beyond those.
    const next = { incarnations: [...incarnations, incarnation], epochBase: epochBase + INSTANCE_EPOCHS };
    await writeDataSet(metadata, { ...record, ...next });
    return undefined;
  }
  await partitions.agreeOnCount(partitionCount);
  return { kind: "agreed", id, partitionCount, incarnation: incarnationOf(record) };
}

function problemWith(
  { id, partitionCount }: StoredDataSet,
  count: number | undefined,
  marks: readonly (string | undefined)[],
): string | undefined {
  const other = marks.filter((mark) => mark !== id);
  if (other.length > 0) {
    const otherMark = other.find((mark) => mark !== undefined);
    const instead = otherMark === undefined ? "they carry none" : `one carries ${otherMark}`;
    return `${other.length} of ${partitionCount} partitions in Redis do not carry the mark ${id} of this environment's data set; ${instead}`;
  }
  if (count !== undefined && count !== partitionCount)
    return `Redis has ${count} partitions and PostgreSQL records ${partitionCount}`;
  return undefined;
}

/**
 * The recorded incarnation, which is the same for all workers, whichever settings each was started with. A data set that replaced another
 * must not reuse a name that its partitions had before.
 */
function incarnationOf({ accepted, incarnations, id }: StoredDataSet): string | undefined {
  const incarnation = incarnations.at(-1);
  if (accepted.length === 0) return incarnation;
  return incarnation === undefined ? id : `${incarnation}.${id}`;
}

/** The mismatch, unless the operator has accepted it: then the record states what replaces the data, and undefined is returned. */
async function acceptOr(
  mismatch: DataSetMismatch,
  record: StoredDataSet,
  lostId: string | undefined,
  { partitions, metadata, clock, random, logger }: AgreementPorts,
  { incarnation, acceptDataLoss }: AgreementOptions,
): Promise<DataSetMismatch | undefined> {
  const isRestored = incarnation !== undefined && !record.incarnations.includes(incarnation);
  if (!isRestored && acceptDataLoss !== mismatch.mark) return mismatch;
  const reason = isRestored ? `incarnation ${incarnation}` : "accept-data-loss";
  const loss: AcceptedLoss = { lostId, reason, atMs: clock.nowMs() };
  const id = newDataSetId(random);
  const isWritten = await writeDataSet(metadata, {
    ...record,
    id,
    state: "replacing",
    // The present data were divided among the number of partitions that they state.
    partitionCount: (await partitions.count()) ?? record.partitionCount,
    incarnations: isRestored ? [...record.incarnations, incarnation] : record.incarnations,
    accepted: [...record.accepted, loss],
  });
  if (isWritten) logger.warn({ lost: mismatch.mark, mark: id, reason }, "the loss of a data set was accepted");
  return undefined;
}
