/**
 * Why: a pass that an error of the API server breaks off (a webhook that does not answer, a storage that is down) writes no status, so that an environment
 * looked as if nothing was wrong with it. The failure is a condition of its own: it does not change `Ready`, since what runs goes on running.
 */
import { type Environment, observed } from "@perdure/custom-resources";
import { ApiError, type KubeObject } from "@perdure/driver-kubernetes";
import { type EnvironmentPorts, type Reconciled, reconcileEnvironment, STATUS_MANAGER } from "./reconcile.js";

export const FAILURE_CONDITION = "ReconcileFailed";
const REASON = "ApiServerError";

type Reconcile = (name: string, ports: EnvironmentPorts, signal: AbortSignal) => Promise<Reconciled>;

/**
 * One pass as `reconcileEnvironment` does it. When the API server answers with a 5xx the condition `ReconcileFailed` has the request and the
 * answer before this rejects with it; the next pass that ends removes the condition.
 */
export async function reconcileReporting(
  name: string,
  ports: EnvironmentPorts,
  signal: AbortSignal,
  reconcile: Reconcile = reconcileEnvironment,
): Promise<Reconciled> {
  try {
    return await reconcile(name, ports, signal);
  } catch (cause) {
    if (cause instanceof ApiError && cause.status >= 500 && !signal.aborted) await reportFailure(name, cause, ports, signal);
    throw cause;
  }
}

/** Never rejects: an API server in trouble may refuse this, too, and the pass is tried again anyway. */
async function reportFailure(name: string, failure: ApiError, ports: EnvironmentPorts, signal: AbortSignal): Promise<void> {
  try {
    const cached = ports.caches.environments.get(name);
    const environment = cached === undefined ? undefined : ports.writes.fresh(cached);
    if (environment !== undefined && !isKnown(environment, failure)) await write(environment, failure, ports, signal);
  } catch (cause) {
    ports.logger.info({ name, cause }, "the failure of a reconcile could not be written into the status");
  }
}

/** The same request with the same status is written once: a status that changes with every failure would wake the queue without a pause. */
function isKnown({ status }: Environment, { asked, status: answered }: ApiError): boolean {
  const condition = status?.conditions?.find(({ type }) => type === FAILURE_CONDITION);
  return condition?.message.startsWith(`${asked}: ${answered} `) === true;
}

async function write(
  environment: Environment,
  { message }: ApiError,
  ports: EnvironmentPorts,
  signal: AbortSignal,
): Promise<void> {
  const { apiVersion, kind, metadata, status: before } = environment;
  const known = before?.conditions ?? [];
  const time = new Date(ports.clock.nowMs()).toISOString().replace(/\.\d+Z$/, "Z");
  const observation = { type: FAILURE_CONDITION, status: "True", reason: REASON, message } as const;
  const failed = observed(known, [observation], { generation: metadata.generation ?? 0, time });
  const conditions = [...known.filter(({ type }) => type !== FAILURE_CONDITION), ...failed];
  const own = { name: metadata.name, ...(metadata.uid === undefined ? {} : { uid: metadata.uid }) };
  // All of the status belongs to this manager: what is left out would be removed.
  const applied = { apiVersion, kind, metadata: own, status: { phase: "Pending", ...before, conditions } };
  ports.writes.note(await ports.client.apply(applied, { manager: STATUS_MANAGER, force: true, subresource: "status", signal }));
  const event = { type: "Warning", reason: REASON, action: "Reconcile", note: message } as const;
  await ports.events.tell(environment as unknown as KubeObject, event);
}
