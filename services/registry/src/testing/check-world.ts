/** Stored invocations, and replays with scripted results, for checks of new code. */
import { type DeploymentId, type InvocationId, partitionOf } from "@perdure/base";
import type { DeploymentView } from "@perdure/control";
import type { ReplayResult, ReplaySubject } from "@perdure/invoker";
import { type CheckOptions, createMemoryMetadataStore, type MetadataStore } from "@perdure/metadata";
import type { AttemptError, Invocation, JournalEntry, Target } from "@perdure/state-machine";
import { anId, anInvocation, someFacts } from "@perdure/state-machine/testing";
import { VirtualClock } from "@perdure/testkit";
import type { CheckPorts } from "../check-ports.js";
import type { RegistryRole } from "../registry.js";
import { aManifest, aRegisterRequest, aWireService, createTestRegistry, startEndpoint, type TestEndpoint } from "./index.js";

/** Started by worlds; a suite closes them after each test. */
export const endpoints: TestEndpoint[] = [];

const PARTITIONS = 4;
export const COMPATIBLE: ReplayResult = { kind: "compatible", output: undefined };
export const OLD = "dp_15ChR1PDwZt22Rn2lfZrRo5" as DeploymentId;
export const signal = new AbortController().signal;

export function anError(message: string, change: Partial<AttemptError> = {}): AttemptError {
  return {
    errorCode: "RT0016",
    code: 570,
    message,
    stacktrace: undefined,
    relatedCommandIndex: undefined,
    relatedCommandName: undefined,
    relatedCommandType: undefined,
    ...change,
  };
}

interface Row {
  readonly n: number;
  readonly status?: Invocation["status"];
  readonly target?: Partial<Target>;
  readonly deployment?: DeploymentId;
  readonly version?: number;
  readonly at?: number;
  readonly length?: number;
}

/** Partitions with the rows of a test, and an endpoint with its results. */
export class RegistryWorld implements CheckPorts {
  readonly partitionCount = PARTITIONS;
  readonly clock = new VirtualClock();
  readonly rows: Invocation[] = [];
  /** Journals by invocation; a body of one byte for each entry by default. */
  readonly journals = new Map<InvocationId, readonly JournalEntry[]>();
  readonly checks: { readonly subject: ReplaySubject; readonly candidate: DeploymentView; readonly timeoutMs: number }[] = [];
  readonly stateReads: string[] = [];
  answer: (subject: ReplaySubject, signal: AbortSignal) => Promise<ReplayResult> | ReplayResult = () => COMPATIBLE;
  registry!: RegistryRole;

  static async open(metadata: MetadataStore = createMemoryMetadataStore()): Promise<RegistryWorld> {
    const world = new RegistryWorld();
    world.registry = await createTestRegistry({ metadata, check: world, clock: world.clock });
    return world;
  }

  readonly store: CheckPorts["store"] = {
    unfinished: (partition) => this.#rows(partition, false),
    completed: (partition) => this.#rows(partition, true),
    readJournal: async (_partition, id, length) => this.journals.get(id) ?? entries(length, 1),
    stateOf: async (partition, keyspace, key) => {
      this.stateReads.push(`${partition} ${keyspace} ${key}`);
      return new Map([["k", new Uint8Array(3)]]);
    },
  };

  readonly replays: CheckPorts["replays"] = {
    check: async (candidate, subject, timeoutMs, given) => {
      this.checks.push({ subject, candidate, timeoutMs });
      return this.answer(subject, given);
    },
  };

  async *#rows(partition: number, isCompleted: boolean): AsyncIterable<Invocation> {
    for (const row of this.rows) {
      if (partitionOf(row.facts.id, PARTITIONS) === partition && (row.status === "completed") === isCompleted) yield row;
    }
  }

  add({ n, status = "suspended", target = {}, deployment = OLD, version = 6, at = n, length = 2 }: Row): InvocationId {
    const plain: Target = {
      scope: undefined,
      service: "S",
      key: undefined,
      handler: "a",
      serviceType: "service",
      handlerType: "shared",
    };
    const id = anId(n, (n * 37) % 256);
    this.rows.push(
      anInvocation(status, {
        facts: someFacts({ id, target: { ...plain, ...target } }),
        pinned: { deploymentId: deployment, protocolVersion: version },
        modifiedAtMs: at,
        journal: { length, commands: length, notifications: 0, outputIndex: -1, hasEvents: false },
      }),
    );
    return id;
  }

  async serve(services: readonly object[] = [aWireService("S", ["a", "b"])], change: object = {}): Promise<string> {
    const endpoint = await startEndpoint("h2c", { body: aManifest(services, change) });
    endpoints.push(endpoint);
    return endpoint.uri;
  }

  async check(requestedBounds: CheckOptions = {}, services?: readonly object[], change: object = {}) {
    return this.registry.checkRegistration(aRegisterRequest(await this.serve(services, change)), requestedBounds, signal);
  }

  get checkedIds(): InvocationId[] {
    return this.checks.map(({ subject }) => subject.facts.id);
  }
}

export function entries(count: number, bytes: number): JournalEntry[] {
  return Array.from({ length: count }, () => ({ type: 0x0400, body: new Uint8Array(bytes), appendedAtMs: 0 }));
}
