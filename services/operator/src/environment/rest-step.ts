/** Collects the facts for hibernation: the reports of the workers, and the front pods that may still accept requests. */
import type { Clock } from "@perdure/base";
import { type EnvironmentResource, objectNameOf } from "@perdure/custom-resources";
import { type EventRecorder, type KubernetesClient, type MetadataOnly, resources } from "@perdure/kubernetes";
import { selectorOf } from "../desired/labels.js";
import type { WorkerClient, WorkerReport } from "../worker-client.js";
import { type HibernationDecision, nextRest } from "./hibernation.js";
import { workerPods } from "./worker-pods.js";

interface RestPorts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly events: EventRecorder;
  readonly workerClient: WorkerClient;
}

/** Rejects with the API server's error. */
export async function restStep(
  environment: EnvironmentResource,
  ports: RestPorts,
  signal: AbortSignal,
): Promise<HibernationDecision> {
  const { client, clock, workerClient, events } = ports;
  const rest = await nextRest({
    environment,
    nowMs: clock.nowMs(),
    async readReports() {
      const pods = await workerPods(environment, client, signal);
      const addresses = pods.map(({ address }) => address);
      if (!addresses.every((address) => address !== undefined)) return undefined;
      const reports = await Promise.all(addresses.map((address) => workerClient.readReport(address, signal)));
      return reports.every((one): one is WorkerReport => one !== undefined) ? reports : undefined;
    },
    async isIngressClosed() {
      const labels = Object.entries(selectorOf(environment, "front"))
        .map(([name, value]) => `${name}=${value}`)
        .join(",");
      const namespace = objectNameOf(environment.spec.environmentId);
      return (
        (await client.list<MetadataOnly>(resources.pods, { namespace, labels, metadataOnly: true, signal })).items.length === 0
      );
    },
  });
  const before = environment.status?.hibernation?.state;
  const now = rest.hibernation?.state;
  const eventTemplate = now === before ? undefined : NOTES[now ?? "Awake"];
  if (eventTemplate !== undefined) {
    const due = rest.nextWakeTime === undefined ? "" : `; first due at ${rest.nextWakeTime}`;
    const note = `${eventTemplate.note}${now === "Asleep" ? due : ""}`;
    await events.record(environment, {
      type: "Normal",
      reason: eventTemplate.reason,
      action: "Hibernate",
      note,
    });
  }
  return rest;
}

const NOTES: Readonly<Partial<Record<string, { readonly reason: string; readonly note: string }>>> = {
  Asleep: { reason: "Hibernated", note: "the environment was idle, so its processes are stopped" },
  Waking: { reason: "Waking", note: "a request arrived, or a timer is due" },
};
