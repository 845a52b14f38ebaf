/**
 * Verifies with each read that the partition is still led. A deposed leader, or one whose store lost its data, must not use what it
 * reads as the state of its partition: a handler would begin without the state that was lost. So each read returns, in the same round
 * trip, the mark and the epoch that the partition has at that moment.
 */
import { PerdureError } from "@perdure/base";

/** The mark and epoch under which a leader reads and writes. */
export interface LeadToken {
  /** Mark of the data set that the partition was claimed in; '' for any. */
  readonly mark: string;
  readonly epoch: number;
}

/** The mark and epoch of the partition at the time of the read; undefined: there is none. */
export interface StoredLead {
  readonly mark: string | undefined;
  readonly epoch: number | undefined;
}

/** Throws STO0005 when the partition is of another data set or of none, STO0002 when a newer leader has it. */
export function requireLead(partition: number, lead: LeadToken, stored: StoredLead): void {
  if (lead.mark !== "" && stored.mark !== lead.mark)
    throw new PerdureError("STO0005", `partition ${partition} does not carry the mark ${lead.mark} of the data set`);
  if (stored.epoch !== lead.epoch)
    throw new PerdureError("STO0002", `partition ${partition} is at epoch ${stored.epoch ?? "0"}, and ours is ${lead.epoch}`);
}

/** Whether a read was refused because this process does not lead the partition any more. */
export function isLeadLost(cause: unknown): boolean {
  return cause instanceof PerdureError && (cause.code === "STO0002" || cause.code === "STO0005");
}
