/**
 * Carries out an accepted loss of data. The spec accepts it once, with the mark of exactly these data. Any worker can carry it out, because
 * it has the addresses of Redis and PostgreSQL; the status stores the accepted marks.
 */
import { type Clock, present } from "@perdure/base";
import { type EnvironmentResource, type EnvironmentResourceStatus, objectNameOf } from "@perdure/custom-resources";
import type { EventRecorder, KubernetesClient } from "@perdure/kubernetes";
import { WAIT_LOSS_MS } from "../limits.js";
import type { DataLossClient } from "../worker-client.js";
import { bad, good, type StepOutcome } from "./outcome.js";
import { workerPods } from "./worker-pods.js";

export const LOSS_CONDITION = "DataLossAccepted";

export type AcceptedDataLoss = EnvironmentResourceStatus["acceptedDataLoss"];

interface DataLossPorts extends LossNotePorts {
  readonly client: KubernetesClient;
  readonly workerClient: DataLossClient;
}

interface LossNotePorts {
  readonly clock: Clock;
  readonly events: EventRecorder;
}

interface LossResult {
  readonly outcome: StepOutcome;
  /** The loss that was accepted last. */
  readonly accepted: AcceptedDataLoss;
}

/**
 * For an environment whose spec has a mark. `accepted`: marks that this pass has accepted already, for volumes or a key. Rejects with the
 * API server's error.
 */
export async function dataLossStep(
  environment: EnvironmentResource,
  accepted: AcceptedDataLoss,
  ports: DataLossPorts,
  signal: AbortSignal,
): Promise<LossResult> {
  const { client, workerClient } = ports;
  const { spec, status } = environment;
  const { acceptDataLoss: mark = "" } = spec;
  const before = accepted ?? status?.acceptedDataLoss;
  if (before?.mark === mark) return { outcome: acceptedOutcome(mark), accepted: before };
  const candidates = (await workerPods(environment, client, signal)).filter(
    ({ address, isEnding }) => address !== undefined && !isEnding,
  );
  for (const { address } of candidates) {
    const answer = await workerClient.acceptLoss(present(address), mark, signal);
    if (answer === undefined) continue; // This worker does not respond, or cannot carry it out now; another may.
    if (answer.kind === "refused") {
      return { outcome: bad(LOSS_CONDITION, "DataLossRefused", answer.reason, WAIT_LOSS_MS), accepted: before };
    }
    return { outcome: acceptedOutcome(mark), accepted: await acceptedNow(environment, `the data set ${mark}`, mark, ports) };
  }
  const message = `no worker in ${objectNameOf(spec.environmentId)} answers that could accept the loss of ${mark}`;
  return { outcome: bad(LOSS_CONDITION, "NoWorker", message, WAIT_LOSS_MS), accepted: before };
}

function acceptedOutcome(mark: string): StepOutcome {
  return good(LOSS_CONDITION, "Accepted", `the loss of ${mark} was accepted; acceptDataLoss can be removed from the spec`);
}

/** Entry for the status; writes an event as well. `what`: the lost data as text. */
export async function acceptedNow(
  environment: EnvironmentResource,
  what: string,
  mark: string,
  { clock, events }: LossNotePorts,
): Promise<NonNullable<AcceptedDataLoss>> {
  const time = new Date(clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const note = `the loss of ${what} was accepted; its data is deleted`;
  const event = { type: "Warning", reason: "DataLossAccepted", action: "Accept", note } as const;
  await events.record(environment, event);
  return { mark, time };
}
