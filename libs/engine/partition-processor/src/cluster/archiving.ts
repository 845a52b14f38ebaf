/** Runs one archiver for each partition that a worker leads; all share one archive. */
import type { Clock, Logger } from "@perdure/base";
import type { ArchivableStore, Archive } from "@perdure/storage";
import { Archiver, type ArchiverOptions } from "../archive/archiver.js";
import type { Processor } from "../processor.js";

export interface ArchivingPorts {
  readonly store: ArchivableStore;
  readonly archive: Archive;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The part of the archiver that leadership uses. */
export interface Archiving {
  readonly archive: Archive;
  /** Archives the partitions of the processor, from now until the result is disposed, which must happen before the processor is. */
  begin(processor: Processor): Archiver;
  /** Number of invocations that this process moved to the archive; rises only. */
  archivedCount(): number;
}

export function createArchiving(ports: ArchivingPorts, options: ArchiverOptions): Archiving {
  let archivedCount = 0;
  const onArchived = (count: number): void => {
    archivedCount += count;
  };
  return {
    archive: ports.archive,
    begin: (processor) => new Archiver({ ...ports, processor, onArchived }, options),
    archivedCount: () => archivedCount,
  };
}
