/**
 * Checks that the directories `db` (partitions) and `local-metadata-store` (registered data, and the number of partitions) belong
 * together. When one of them is lost or exchanged the other looks like a first start: counters begin at 0 beside the old deployments, or
 * ids lead to wrong partitions. So the metadata record the mark of the partitions, and a server refuses to start on a pair that does not
 * match.
 *
 *     metadata            partitions           then
 *     none                none                 a new start: record `creating` ▸ database with that mark ▸ `established`
 *     none, or empty      data                 refuse: the metadata are lost
 *     older version's     data                 their mark is recorded
 *     older version's     none                 refuse: the partitions are lost
 *     record              none, or other mark  refuse: the partitions are lost or exchanged
 *
 * `creating` is written before the database is made, so the next start completes one that crashed in between. A refusal changes nothing.
 */
import { type Clock, type Logger, PerdureError, type Random } from "@perdure/base";
import { randomBase62 } from "@perdure/cloud";
import { holdsDatabase } from "@perdure/leveldb";
import { type AcceptedLoss, type MetadataStore, readDataSet, type StoredDataSet, writeDataSet } from "@perdure/metadata";
import { countAcceptedLoss, type KeyValue, type StoredPartitions } from "@perdure/storage";
import { PARTITIONS_KEY, partitionCountOf, writePartitionCount } from "./partition-count.js";

/** Characters of a random mark: no two data sets have the same mark. */
const MARK_CHARS = 22;
/** Accepts the loss of data that an older version made without a mark. */
const UNMARKED = "unmarked";

interface DirectoryDataSetOptions {
  readonly directories: { readonly partitions: string; readonly metadata: string };
  readonly numPartitions: number;
  /** `worker.accept-data-loss`. */
  readonly acceptDataLoss: string | undefined;
}

interface DataSetPorts {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class LocalDataSet {
  readonly #options: DirectoryDataSetOptions;
  readonly #ports: DataSetPorts;
  #hadPartitions = false;
  #record: StoredDataSet | undefined;
  /** Mark of the partitions that are present, or of missing metadata. */
  #acceptedLoss: AcceptedLoss | undefined;

  constructor(options: DirectoryDataSetOptions, ports: DataSetPorts) {
    this.#options = options;
    this.#ports = ports;
  }

  /** Called before the directory of the metadata is made. `look` reads existing partitions. Throws STO0005 when the metadata are lost. */
  async checkDirectories(readPartitions: () => Promise<StoredPartitions>): Promise<void> {
    const { partitions, metadata } = this.#options.directories;
    this.#hadPartitions = await holdsDatabase(partitions);
    if (!this.#hadPartitions || (await holdsDatabase(metadata))) return;
    this.#refuseLostMetadata(await readPartitions(), "is not there");
  }

  /** Called before the directory of the partitions is made; resolves with the mark for a new one. Throws STO0005 when they are lost. */
  async beforePartitions(metadata: MetadataStore): Promise<string> {
    const { numPartitions, directories } = this.#options;
    const record = await readDataSet(metadata);
    const newMark = randomBase62(MARK_CHARS, this.#ports.random);
    if (record?.state === "creating") {
      this.#record = record;
      return record.id;
    }
    if (this.#hadPartitions) {
      this.#record = record;
      return newMark; // For data of a version that wrote no marks.
    }
    const blank = { partitionCount: numPartitions, epochBase: 0, incarnations: [], accepted: [], version: 0 };
    const isNew = record === undefined && (await metadata.get(PARTITIONS_KEY)) === undefined;
    const lost = record?.id ?? UNMARKED;
    if (!isNew && !this.#accepts(lost))
      throw refusal(
        lost,
        `the storage directory ${directories.partitions} is empty, and ${directories.metadata} belongs to data`,
      );
    const accepted = isNew ? [] : [...(record?.accepted ?? []), this.#loss(lost)];
    await writeDataSet(metadata, { ...(record ?? blank), id: newMark, state: "creating", accepted });
    this.#record = await readDataSet(metadata);
    return newMark;
  }

  /**
   * Called with the partitions open, before anything is written to them: `stored` is the state of the partitions, and `newMark` is their
   * mark when they have none. Throws STO0005 when they are other partitions.
   */
  async check(metadata: MetadataStore, stored: StoredPartitions, newMark: string): Promise<void> {
    const { partitions, metadata: path } = this.#options.directories;
    const record = this.#record;
    if (record === undefined) {
      if ((await metadata.get(PARTITIONS_KEY)) !== undefined || stored.partitionCount === 0) return;
      this.#refuseLostMetadata(stored, "is empty");
      this.#acceptedLoss = this.#loss(stored.mark ?? UNMARKED);
      return;
    }
    const mark = stored.mark ?? newMark;
    if (record.id === mark) return;
    if (!this.#accepts(record.id))
      throw refusal(record.id, `the storage directory ${partitions} holds another data set, and ${path} belongs to ${record.id}`);
    this.#acceptedLoss = this.#loss(record.id);
  }

  /**
   * Called with the mark durable in the partitions; resolves with their number. A setting that accepts the loss of these metadata is used
   * up with that, also when nothing was lost: if it is not removed, it must not accept a later loss.
   */
  async finish(
    metadata: MetadataStore,
    {
      mark,
      stored,
      level,
    }: { readonly mark: string; readonly stored: StoredPartitions; readonly level: Pick<KeyValue, "write"> },
  ): Promise<number> {
    const partitionCount = await this.#establish(metadata, mark, stored);
    if (stored.partitionCount > 0 && this.#accepts(lostMetadata(stored))) await countAcceptedLoss(level, stored);
    return partitionCount;
  }

  async #establish(metadata: MetadataStore, mark: string, stored: StoredPartitions): Promise<number> {
    const record = this.#record;
    const loss = this.#acceptedLoss;
    // Whatever the metadata state, ids were divided among as many partitions as the data have.
    if (loss !== undefined && stored.partitionCount > 0) await writePartitionCount(metadata, stored.partitionCount);
    const partitionCount = await partitionCountOf(metadata, this.#options.numPartitions, this.#ports.logger);
    if (record?.id === mark && record.state === "established") return partitionCount;
    const blank = { epochBase: 0, incarnations: [], accepted: [], version: 0 };
    const accepted = [...(record?.accepted ?? []), ...(loss === undefined ? [] : [loss])];
    await writeDataSet(metadata, { ...blank, ...record, id: mark, state: "established", partitionCount, accepted });
    return partitionCount;
  }

  #refuseLostMetadata(stored: StoredPartitions, what: string): void {
    const { partitions, metadata } = this.#options.directories;
    const lost = lostMetadata(stored);
    // Without any partition it is a first start that was interrupted.
    if (stored.partitionCount === 0 || this.#accepts(lost)) return;
    throw refusal(
      lost,
      `the metadata directory ${metadata} ${what}, and ${partitions} holds the data set ${stored.mark ?? UNMARKED}`,
    );
  }

  #accepts(mark: string): boolean {
    return this.#options.acceptDataLoss === mark;
  }

  #loss(lostId: string): AcceptedLoss {
    const { clock, logger } = this.#ports;
    logger.warn({ lost: lostId }, "the loss of a data set was accepted; remove the setting worker.accept-data-loss");
    return { lostId, reason: "accept-data-loss", atMs: clock.nowMs() };
  }
}

/** Accepts that the metadata of these partitions are lost; the text differs after each use, because the partitions keep their mark. */
function lostMetadata({ mark = UNMARKED, acceptedLossCount }: StoredPartitions): string {
  return acceptedLossCount === 0 ? mark : `${mark}.${acceptedLossCount}`;
}

function refusal(mark: string, detail: string): PerdureError {
  return new PerdureError(
    "STO0005",
    `${detail}. Bring back the directory that belongs to the other one, or correct its setting. To continue with the data that is present, start with --worker.accept-data-loss=${mark}. Nothing was changed.`,
  );
}
