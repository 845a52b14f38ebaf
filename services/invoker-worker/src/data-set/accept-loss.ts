/**
 * Accepts the loss of the data in Redis, an operator's decision that is made once and for all workers. No worker needs a restart: running
 * ones read the record in PostgreSQL and follow within seconds.
 */
import { PerdureError, present } from "@perdure/base";
import { readDataSet } from "@perdure/metadata";
import { type AgreementPorts, agreeOnDataSet } from "./agreement.js";

/** `accepted`: the partitions have the new `mark`. `acceptedBefore`: this loss was accepted earlier, and nothing was changed. */
export interface LossAcceptance {
  readonly kind: "accepted" | "acceptedBefore";
  readonly mark: string;
}

/**
 * Gives the partitions in Redis a new mark, and epochs beyond all earlier ones, when `lost` is the missing mark of the environment.
 * Rejects with STO0005 when another mark is missing, OPS0001 when nothing is missing, STO0001 when PostgreSQL or Redis is unreachable.
 */
export async function acceptLoss(ports: AgreementPorts, lost: string): Promise<LossAcceptance> {
  const { metadata, partitions } = ports;
  const before = await readDataSet(metadata);
  const count = await partitions.count();
  if (before === undefined && count === undefined)
    throw new PerdureError("OPS0001", "neither PostgreSQL nor Redis has a data set of this environment; nothing was changed");
  // Workers create the record of a new environment, or of data of an earlier version.
  const partitionCount = before?.partitionCount ?? present(count);
  const isUnmarked = before === undefined && (await partitions.marks(partitionCount)).every((mark) => mark === undefined);
  if (isUnmarked) throw new PerdureError("OPS0001", "the environment has no mark of a data set yet; nothing was changed");

  const outcome = await agreeOnDataSet(ports, { partitionCount, incarnation: undefined, acceptDataLoss: lost });
  if (outcome.kind === "mismatch")
    throw new PerdureError(
      "STO0005",
      `${outcome.detail} The mark of what is lost is ${outcome.mark}, not ${lost}. Nothing was changed.`,
    );
  const after = await readDataSet(metadata);
  const isAccepted = after?.accepted.some(({ lostId }) => lostId === lost) === true || before === undefined;
  if (!isAccepted)
    throw new PerdureError(
      "OPS0001",
      `Redis holds the data set ${outcome.id}: there is no loss to accept, and nothing was changed`,
    );
  return { kind: outcome.id === before?.id ? "acceptedBefore" : "accepted", mark: outcome.id };
}
