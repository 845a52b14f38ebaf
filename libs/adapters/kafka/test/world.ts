/** The target of a subscription: a registry with one subscription, and partitions that record accepted deliveries. */
import { type DeploymentId, fromUtf8, partitionOf, type SubscriptionId } from "@perdure/base";
import type { Delivery, HandlerView, RegistrySnapshot } from "@perdure/control";
import type { KafkaClusterRecord, SubscriptionRecord } from "@perdure/metadata";
import { decodeCommand, isFault, MessageType } from "@perdure/service-protocol";
import type { Invoke, ServiceType } from "@perdure/state-machine";
import type { Deliveries } from "@perdure/subscriptions";

const PARTITIONS = 4;

export class RecordedDeliveries implements Deliveries {
  readonly partitionCount = PARTITIONS;
  readonly accepted: (Delivery & { readonly command: Invoke })[] = [];
  readonly #highest = new Map<string, number>();
  /** Whether the next delivery is accepted. */
  takes: (delivery: Delivery) => boolean = () => true;

  deliver(delivery: Delivery, delivered: () => void, undelivered: () => void): void {
    const place = `${partitionOf(delivery.command.id, PARTITIONS)} ${delivery.producer}`;
    const highest = this.#highest.get(place) ?? -1;
    const isInOrder = delivery.after === undefined || delivery.after <= highest;
    if (!isInOrder || !this.takes(delivery)) {
      setImmediate(undelivered); // Asynchronous, as from a leader in another process.
      return;
    }
    if (delivery.seq > highest) {
      this.#highest.set(place, delivery.seq);
      this.accepted.push({ ...delivery, command: delivery.command as Invoke }); // Records become nothing else.
    }
    setImmediate(delivered);
  }

  /** Arguments of accepted deliveries, in order. */
  inputs(): string[] {
    return this.accepted.map(({ command }) => inputOf(command.input).text);
  }

  headers(): Record<string, string>[] {
    return this.accepted.map(({ command }) => inputOf(command.input).headers);
  }
}

function inputOf(body: Uint8Array): { readonly text: string; readonly headers: Record<string, string> } {
  const input = decodeCommand(MessageType.Input, body);
  if (isFault(input) || input.kind !== "input") throw new Error("not an input");
  return { text: fromUtf8(input.value), headers: Object.fromEntries(input.headers.map(({ key, value }) => [key, value])) };
}

/** The part of a registry that subscriptions use. */
export class TestRegistry {
  readonly #listeners = new Set<() => void>();
  readonly #clusters: KafkaClusterRecord[];
  #subscriptions: SubscriptionRecord[] = [];
  #snapshot: RegistrySnapshot = { services: new Map(), deployments: new Map(), rules: [] };

  constructor(properties: Readonly<Record<string, string>>) {
    this.#clusters = [{ name: "k1", properties, createdAtMs: 0 }];
  }

  serve(service: string, serviceType: ServiceType): void {
    const handler = {
      service,
      handler: "take",
      serviceType,
      handlerType: serviceType === "virtualObject" ? "exclusive" : serviceType === "workflow" ? "workflow" : "shared",
      journalRetentionMs: 60_000,
      workflowRetentionMs: 60_000,
      idempotencyRetentionMs: 60_000,
    } as unknown as HandlerView;
    const view = {
      name: service,
      serviceType,
      revision: 1,
      deploymentId: "dp_1" as DeploymentId,
      handlers: new Map([["take", handler]]),
    };
    this.#snapshot = { ...this.#snapshot, services: new Map([...this.#snapshot.services, [service, view]]) };
    this.#changed();
  }

  put(change: Partial<SubscriptionRecord> & { readonly source: string }): SubscriptionRecord {
    const id = "sub_11rinZZNEJFVX7J4F1fp0YN" as SubscriptionId;
    const record: SubscriptionRecord = {
      id,
      sink: "service://Svc/take",
      options: { "group.id": `group of ${change.source}`, "auto.offset.reset": "earliest" },
      paused: false,
      skipped: [],
      ...change,
    };
    this.#subscriptions = [record];
    this.#changed();
    return record;
  }

  current = (): RegistrySnapshot => this.#snapshot;
  subscriptions = (): readonly SubscriptionRecord[] => this.#subscriptions;
  kafkaCluster = (name: string): KafkaClusterRecord | undefined => this.#clusters.find((cluster) => cluster.name === name);
  onChange = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}
