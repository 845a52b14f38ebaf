/**
 * Watches whether the API server has our definitions in the current version. Without them, or with older ones, it silently drops fields
 * that it does not declare, and nothing would show why (kubernetes.md D7, D8, §12). A problem shows in readiness, a metric, an event, a log
 * message and a condition of the objects.
 */
import { type Clock, type Logger, pause } from "@perdure/base";
import { API_GROUP, type Observation } from "@perdure/custom-resources";
import {
  type EventRecorder,
  isForbidden,
  isNotFound,
  isUnauthorized,
  type KubeObject,
  type KubernetesClient,
  type Resource,
  resources,
} from "@perdure/kubernetes";
import { lackingIn, schemaOf } from "./definition-differences.js";
import { hashOf } from "./desired/runtime-config.js";
import { DEFINITION_AGAIN_MS, DEFINITION_POLL_MS, NAMES_IN_MESSAGE_MAX } from "./limits.js";
import type { OperatorMetrics } from "./metrics.js";

interface DefinitionsPorts {
  readonly client: KubernetesClient;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly events: EventRecorder;
  readonly metrics: Pick<OperatorMetrics, "definitionMissing" | "definitionOutdated">;
  /** Called when the condition about the definition of a kind has changed. */
  readonly onChange: (plural: string) => void;
}

const NEEDED: readonly Resource[] = [resources.environments, resources.serviceDeployments, resources.cloudEnvironments];

export class Definitions {
  readonly #ports: DefinitionsPorts;
  readonly #againMs: number;
  /** Reason why a kind cannot be watched, by kind; empty when all can. */
  #missing: ReadonlyMap<string, string> = new Map(NEEDED.map(({ plural }) => [plural, `the definition of ${plural}`]));
  readonly #lacking = new Map<string, readonly string[]>();

  constructor(ports: DefinitionsPorts, againMs: number = DEFINITION_AGAIN_MS) {
    this.#ports = ports;
    this.#againMs = againMs;
  }

  /** Missing definitions as text for messages. */
  missing(): readonly string[] {
    return [...this.#missing.values()];
  }

  /** The condition for objects of a kind whose definition is older than this operator; empty when it is current. */
  outdated(plural: string): readonly Observation[] {
    const lacking = this.#lacking.get(plural);
    if (lacking === undefined) return [];
    return [{ type: "CrdOutdated", status: "True", reason: "SchemaDiffers", message: messageOf(plural, lacking) }];
  }

  /**
   * Resolves when all our kinds are served, or the signal fires. Rejects when the API server denies access, which waiting does not resolve.
   */
  async untilServed(signal: AbortSignal): Promise<void> {
    for (let wasReported = false; !signal.aborted; wasReported = true) {
      const missing = new Map<string, string>();
      for (const resource of NEEDED) {
        const problem = await this.#problemOf(resource, wasReported, signal);
        if (problem !== undefined) missing.set(resource.plural, problem);
      }
      if (signal.aborted) return;
      this.#missing = missing;
      if (missing.size === 0) return this.#compareAll(signal);
      await pause(this.#ports.clock, DEFINITION_POLL_MS, signal);
    }
  }

  /** Checks again at intervals until the signal fires. Never rejects. */
  async keepChecking(signal: AbortSignal): Promise<void> {
    for (;;) {
      await pause(this.#ports.clock, this.#againMs, signal);
      if (signal.aborted) return;
      await this.#compareAll(signal);
    }
  }

  async #problemOf(resource: Resource, wasReported: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { client, logger } = this.#ports;
    const { plural, kind } = resource;
    try {
      await client.list(resource, { signal, metadataOnly: true });
      this.#note(plural, true);
      return undefined;
    } catch (cause) {
      if (signal.aborted) return undefined;
      if (isUnauthorized(cause)) throw cause;
      if (!wasReported) logger.warn({ cause, kind }, "custom resources cannot be listed yet; waiting");
      if (!isNotFound(cause)) return `the API server (${plural})`;
      this.#note(plural, false);
      await this.#recordEvent(plural, "CrdMissing", `the definition of ${plural} is not there; the operator waits for it`);
      return `the definition of ${plural}`;
    }
  }

  #note(plural: string, isThere: boolean): void {
    this.#ports.metrics.definitionMissing.set(isThere ? 0 : 1, plural);
  }

  async #compareAll(signal: AbortSignal): Promise<void> {
    for (const { plural } of NEEDED) {
      try {
        await this.#compare(plural, signal);
      } catch (cause) {
        if (signal.aborted) return;
        // Without the right to read definitions the check is skipped; after any other error it is repeated.
        if (!isForbidden(cause)) this.#ports.logger.warn({ cause, plural }, "a definition cannot be read");
      }
    }
  }

  async #compare(plural: string, signal: AbortSignal): Promise<void> {
    const { client, metrics, logger, onChange } = this.#ports;
    const name = `${plural}.${API_GROUP}`;
    const definition = await client.find<KubeObject>(resources.definitions, name, undefined, { signal });
    const was = this.#missing.has(plural);
    const missing = new Map(this.#missing);
    if (definition === undefined) missing.set(plural, `the definition of ${plural}`);
    else missing.delete(plural);
    this.#missing = missing;
    this.#note(plural, definition !== undefined);
    if (definition === undefined) {
      if (!was) logger.error({ plural }, "a custom resource definition was removed; waiting for it");
      await this.#recordEvent(plural, "CrdMissing", `the definition of ${plural} was removed; the operator waits for it`);
      return;
    }
    const lacking = lackingIn(schemaOf(definition), plural);
    metrics.definitionOutdated.set(lacking.length > 0 ? 1 : 0, plural);
    const before = this.#lacking.get(plural);
    if (hashOf(before ?? []) === hashOf(lacking)) return;
    if (lacking.length === 0) this.#lacking.delete(plural);
    else this.#lacking.set(plural, lacking);
    onChange(plural);
    if (lacking.length === 0) return;
    const message = messageOf(plural, lacking);
    logger.error(
      { plural, lacking: lacking.slice(0, NAMES_IN_MESSAGE_MAX) },
      "an installed definition is older than this operator",
    );
    await this.#recordEvent(plural, "CrdOutdated", message);
  }

  #recordEvent(plural: string, reason: string, note: string): Promise<void> {
    const { apiVersion, kind } = resources.definitions;
    const regarding = { apiVersion, kind, metadata: { name: `${plural}.${API_GROUP}` } };
    return this.#ports.events.record(regarding, { type: "Warning", reason, action: "Check", note });
  }
}

function messageOf(plural: string, lacking: readonly string[]): string {
  const more = lacking.length > NAMES_IN_MESSAGE_MAX ? ` and ${lacking.length - NAMES_IN_MESSAGE_MAX} more` : "";
  const names = lacking.slice(0, NAMES_IN_MESSAGE_MAX).join(", ");
  return `the installed definition of ${plural} lacks ${names}${more}: upgrade the chart perdure-crds`;
}
