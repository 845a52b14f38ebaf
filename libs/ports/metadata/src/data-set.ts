/**
 * The identity of an environment's data: a random name (the mark) in the metadata that the partition store carries too. A store without
 * the mark, or with another one, is empty, foreign or out of date, and must not be mistaken for a new environment.
 *
 *     (nothing) ── creating ──▶ established ── replacing ──▶ established …
 *
 * The document is written before the store is marked, and `established` after all of it is marked, so that a crash in between is not
 * taken for a loss: the process that starts next finishes `creating` and `replacing`. No partition is led before `established`.
 */
import { jsonFields, PerdureError, type Random } from "@perdure/base";
import { ACCEPTED_LOSSES_KEPT, INCARNATIONS_KEPT } from "./limits.js";
import type { Json, MetadataStore } from "./store.js";

const KEY = "cluster/data-set";
const STATES = ["creating", "replacing", "established"] as const;
const MARK_BYTES = 16;

/** An operator's decision to continue with other data than before. Kept for audits. */
export interface AcceptedLoss {
  /** Mark of the data set that was given up; undefined: the metadata had none. */
  readonly lostId: string | undefined;
  /** `incarnation <name>` or `accept-data-loss`. */
  readonly reason: string;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

interface DataSet {
  readonly id: string;
  /** `creating`: partitions without a mark get it. `replacing`: all partitions get it. */
  readonly state: (typeof STATES)[number];
  readonly partitionCount: number;
  /** Epochs start above this number, which is above every epoch of former data sets. */
  readonly epochBase: number;
  /** Values of `worker.incarnation` for which other data were accepted already, newest last. */
  readonly incarnations: readonly string[];
  readonly accepted: readonly AcceptedLoss[];
}

/** The stored data set; `version` is the version that a write expects, 0 for a first one. */
export interface StoredDataSet extends DataSet {
  readonly version: number;
}

/** Returns a unique mark: 128 random bits as 32 hexadecimal digits. */
export function newDataSetId(random: Random): string {
  const bytes = new Uint8Array(MARK_BYTES);
  random.bytes(bytes);
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Undefined when there is none. Rejects with STO0003 when it cannot be parsed, STO0001 when the store does not respond. */
export async function readDataSet(store: Pick<MetadataStore, "get">): Promise<StoredDataSet | undefined> {
  const document = await store.get(KEY);
  if (document === undefined) return undefined;
  const fields = jsonFields(document.value) ?? {};
  const { id, partitionCount, epochBase, incarnations } = fields;
  const state = STATES.find((one) => one === fields["state"]);
  const accepted = Array.isArray(fields["accepted"]) ? fields["accepted"].map(acceptedLossOf) : [undefined];
  if (
    typeof id !== "string" ||
    id === "" ||
    state === undefined ||
    !isCount(partitionCount, 1) ||
    !isCount(epochBase, 0) ||
    !isTexts(incarnations) ||
    !accepted.every((one) => one !== undefined)
  )
    throw new PerdureError("STO0003", `the metadata document '${KEY}' cannot be read`);
  return { id, state, partitionCount, epochBase, incarnations, accepted, version: document.version };
}

/**
 * Writes the data set over the version that was read, or as the first one with version 0. False: another process wrote first; read
 * again.
 */
export async function writeDataSet(store: Pick<MetadataStore, "write">, dataSet: StoredDataSet): Promise<boolean> {
  const { id, state, partitionCount, epochBase, version } = dataSet;
  const incarnations = dataSet.incarnations.slice(-INCARNATIONS_KEPT);
  const accepted = dataSet.accepted.slice(-ACCEPTED_LOSSES_KEPT).map(({ lostId, reason, atMs }) => ({
    ...(lostId === undefined ? {} : { lostId }),
    reason,
    atMs,
  }));
  const value: Json = { id, state, partitionCount, epochBase, incarnations, accepted };
  const outcome = await store.write([{ kind: "put", key: KEY, value, expectedVersion: version }]);
  return outcome.kind === "written";
}

function isCount(value: unknown, least: number): value is number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= least;
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === "string");
}

function acceptedLossOf(value: unknown): AcceptedLoss | undefined {
  const { lostId, reason, atMs } = jsonFields(value) ?? {};
  if ((lostId !== undefined && typeof lostId !== "string") || typeof reason !== "string" || typeof atMs !== "number")
    return undefined;
  return { lostId, reason, atMs };
}
