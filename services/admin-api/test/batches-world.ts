/** A world for tests of batches, which outlive processes: a process with its server, and what it leaves behind when it ends. */
import { type InvocationId, newInvocationId, silentLogger, systemRandom } from "@perdure/base";
import type { RegistryView } from "@perdure/control";
import {
  createMemoryMetadataStore,
  emptyMemoryMetadata,
  type MemoryMetadata,
  type MetadataStore,
  type Registry,
} from "@perdure/metadata";
import { createTestRegistry } from "@perdure/registry/testing";
import type { JournalEntry } from "@perdure/state-machine";
import { VirtualClock } from "@perdure/testkit";
import { type BatchService, openBatches, openSharedBatches, type SharedBatches } from "../src/batches/batches.js";
import type { InsightSource } from "../src/insight/source.js";
import type { Sql, StatementAnswer } from "../src/ports.js";
import {
  createScriptedPartitions,
  createTestAdminApi,
  type ScriptedPartitions,
  startServer,
  type TestServer,
} from "../src/testing/index.js";

export interface View {
  readonly id: string;
  readonly state: string;
  readonly matched: number;
  readonly done: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly remaining: number;
  readonly [field: string]: unknown;
}
export interface Result {
  readonly invocation_id: string;
  readonly result: string;
  readonly status: number;
  readonly error?: string;
  readonly new_invocation_id?: string;
}

export function rowsOf(rows: readonly object[]): StatementAnswer {
  // In small chunks, so that ids are split.
  const text = JSON.stringify({ rows });
  const chunks = Array.from({ length: Math.ceil(text.length / 50) }, (_, i) => Buffer.from(text.slice(i * 50, i * 50 + 50)));
  return {
    kind: "rows",
    chunks: (async function* () {
      yield* chunks;
    })(),
  };
}

export const freshId = (n: number): InvocationId =>
  newInvocationId({ service: "Greeter", key: `k${n}`, handler: "greet" }, 1_000 + n, systemRandom);
export const freshIds = (count: number): InvocationId[] => Array.from({ length: count }, (_, n) => freshId(n));

export class World implements AsyncDisposable {
  readonly clock = new VirtualClock();
  /** Stored data that every process here reads. */
  readonly memory: MemoryMetadata = emptyMemoryMetadata();
  readonly journals = new Map<string, JournalEntry[]>();
  /** SQL statements received. */
  readonly statements: string[] = [];
  sqlAnswer: (query: string) => StatementAnswer = () => rowsOf([]);
  partitions: ScriptedPartitions = createScriptedPartitions();
  /** Batches of the process that serves now. */
  batches!: BatchService;
  server!: TestServer;
  readonly #registry: Registry & RegistryView;
  readonly #insight: InsightSource = {
    partitionCount: 1,
    store: {
      reads: { invocation: () => undefined, lock: () => undefined, inbox: () => undefined },
      readJournal: async (_partition, id) => this.journals.get(id) ?? [],
      events: async () => [],
      stateOf: async () => new Map(),
      flow: async () => ({ pauses: [] }),
    },
    invoker: { status: () => undefined, flowWait: () => undefined },
  };
  readonly #sql: Sql = async (query) => {
    this.statements.push(query);
    return this.sqlAnswer(query);
  };

  private constructor(registry: Registry & RegistryView) {
    this.#registry = registry;
  }

  static async open(): Promise<World> {
    const world = new World(await createTestRegistry());
    await world.serve();
    return world;
  }

  /** A new process with these documents and partitions. */
  openBatches(): Promise<BatchService> {
    return openBatches(this.#ports());
  }

  /** One of several processes with these documents. */
  openShared(metadata: MetadataStore = createMemoryMetadataStore(this.memory)): SharedBatches {
    return openSharedBatches({ ...this.#ports(), metadata });
  }

  #ports(): Parameters<typeof openBatches>[0] {
    return {
      registry: this.#registry,
      partitions: this.partitions,
      insight: this.#insight,
      clock: this.clock,
      random: systemRandom,
      metadata: createMemoryMetadataStore(this.memory),
      logger: silentLogger,
    };
  }

  /** Starts a process and its server. */
  async serve(): Promise<void> {
    this.batches = await this.openBatches();
    const { partitions, batches } = this;
    const api = createTestAdminApi({ registry: this.#registry, partitions, sql: this.#sql, insight: this.#insight, batches });
    this.server = await startServer(api);
  }

  begin(body: object) {
    return this.server.send("POST", "/invocations/batch", body);
  }

  async view(id: string): Promise<View> {
    return (await this.server.send("GET", `/invocations/batches/${id}`)).json<View>();
  }

  async untilOver(id: string): Promise<View> {
    for (let round = 0; round < 2_000; round++) {
      const batch = await this.view(id);
      if (batch.state !== "running") return batch;
    }
    throw new Error("the batch does not end");
  }

  async allResults(id: string): Promise<Result[]> {
    const results: Result[] = [];
    for (let cursor: string | null = "0"; cursor !== null; ) {
      const page: { results: Result[]; next_cursor: string | null } = (
        await this.server.send("GET", `/invocations/batches/${id}/results?cursor=${cursor}`)
      ).json();
      results.push(...page.results);
      if (page.next_cursor === cursor) throw new Error("the batch is over, and its results are not");
      cursor = page.next_cursor;
    }
    return results;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.batches[Symbol.asyncDispose]();
  }
}
