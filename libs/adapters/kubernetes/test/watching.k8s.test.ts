/**
 * The local copy must be right after every way in which watching can break, which a mock would not reproduce. The API server here has no
 * cache of its own, so that etcd's compaction is visible.
 */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Clock, silentLogger, systemClock, systemRandom } from "@perdure/base";
import { type KubernetesServer, startKubernetes } from "@perdure/servers";
import { connectKubernetes, type KubernetesClient } from "../src/client.js";
import { LeaseLeadership } from "../src/leadership.js";
import { ANSWER_MS_MAX } from "../src/limits.js";
import { Reflector, type WatchEnd } from "../src/reflector.js";
import { type KubeObject, resources } from "../src/resource.js";
import { WorkQueue } from "../src/work-queue.js";
import { Wire } from "./wire.js";

const FIRST_MS = 45 * 60_000;
const TEST_MS = 120_000;
const NAMESPACE = "default";
const ports = { clock: systemClock, random: systemRandom, logger: silentLogger };

let kubernetes: KubernetesServer;
/** Straight to the API server. */
let admin: KubernetesClient;

beforeAll(async () => {
  kubernetes = await startKubernetes({ controllers: false, apiServerFlags: { "watch-cache": "false" } });
  admin = connectKubernetes(kubernetes.kubeconfig());
}, FIRST_MS);
afterAll(async () => {
  await admin[Symbol.asyncDispose]();
  await kubernetes[Symbol.asyncDispose]();
}, TEST_MS);

const configMap = (name: string, suite: string, data: Readonly<Record<string, string>> = {}): KubeObject => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace: NAMESPACE, labels: { suite } },
  data,
});

const create = (name: string, suite: string): Promise<KubeObject> => admin.create(configMap(name, suite));
const remove = (name: string): Promise<boolean> => admin.delete(resources.configMaps, name, NAMESPACE);

/** A copy of the ConfigMaps of a suite, kept over a wire of its own. */
class Watched implements AsyncDisposable {
  readonly reflector: Reflector<KubeObject>;
  readonly ends: WatchEnd[] = [];
  /** Requests for lists. */
  lists = 0;
  onList: () => void = () => {};
  readonly wire: Wire;
  readonly #client: KubernetesClient;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  private constructor(wire: Wire, suite: string, idleMs: number) {
    this.wire = wire;
    this.#client = connectKubernetes(wire.kubeconfig(kubernetes), (verb) => {
      if (verb !== "list") return;
      this.lists++;
      this.onList();
    });
    const options = { resource: resources.configMaps, namespace: NAMESPACE, labels: `suite=${suite}`, idleMs };
    this.reflector = new Reflector(options, { ...ports, client: this.#client });
    this.reflector.onWatchEnd((end) => this.ends.push(end));
    this.#running = this.reflector.run(this.#stop.signal);
  }

  static async start(suite: string, idleMs = TEST_MS): Promise<Watched> {
    return new Watched(await Wire.to(kubernetes), suite, idleMs);
  }

  get names(): string[] {
    return [...this.reflector.values()].map(({ metadata }) => metadata.name).sort();
  }

  /** Resolves when the condition holds for the copy. */
  until(holds: () => boolean): Promise<void> {
    return new Promise((resolve) => {
      const check = (): void => {
        if (holds()) resolve();
      };
      this.reflector.onChange(check);
      check();
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#running;
    await this.#client[Symbol.asyncDispose]();
    await this.wire[Symbol.asyncDispose]();
  }
}

test(
  "an object deleted while the connection was cut and its event compacted is reported as deleted after a new list, once",
  async () => {
    for (const name of ["expired-a", "expired-b"]) await create(name, "expired");
    await using watched = await Watched.start("expired");
    await watched.reflector.synced;
    const changes: string[] = [];
    watched.reflector.onChange(({ metadata }, change) => changes.push(`${change} ${metadata.name}`));
    watched.wire.cut();
    await remove("expired-b");
    await create("expired-c", "expired");
    await kubernetes.compactHistory();
    watched.wire.mend();
    await watched.until(() => watched.names.join() === "expired-a,expired-c");
    expect(changes.sort()).toEqual(["added expired-c", "deleted expired-b"]);
    expect(watched.ends.filter((end) => end === "expired")).toHaveLength(1);
    await create("expired-d", "expired"); // And it continues from there.
    await watched.until(() => watched.names.includes("expired-d"));
    expect(watched.ends.filter((end) => end === "expired")).toHaveLength(1);
  },
  TEST_MS,
);

test(
  "an object deleted while the connection was cut is reported as deleted on reconnection, without a list when nothing was compacted",
  async () => {
    for (const name of ["cut-a", "cut-b"]) await create(name, "cut");
    await using watched = await Watched.start("cut");
    await watched.reflector.synced;
    watched.wire.cut();
    await remove("cut-a");
    watched.wire.mend();
    await watched.until(() => watched.names.join() === "cut-b");
    expect(watched.lists).toBe(1);
    expect(watched.ends).toContain("closed");
    expect(watched.ends).not.toContain("expired");
  },
  TEST_MS,
);

test(
  "a wire that swallows everything is noticed by its silence, and another connection brings what was missed",
  async () => {
    await create("silent-a", "silent");
    await using watched = await Watched.start("silent", 2_000);
    await watched.reflector.synced;
    // That the watch is on its way shows by what it brings.
    await create("silent-b", "silent");
    await watched.until(() => watched.names.includes("silent-b"));
    const swallowedAt = performance.now();
    watched.wire.swallow();
    await remove("silent-a");
    await watched.until(() => watched.names.join() === "silent-b");
    // No new request uses one of the broken connections: it would wait for its timeout first.
    expect(performance.now() - swallowedAt).toBeLessThan(ANSWER_MS_MAX);
    expect(watched.ends).toContain("closed");
    expect(watched.lists).toBe(1);
  },
  TEST_MS,
);

test(
  "1,200 objects come in three pages; when the pages no longer fit together the list begins anew",
  async () => {
    const count = 1_200;
    const names = Array.from({ length: count }, (_, n) => `page-${n}`);
    for (let n = 0; n < count; n += 40) await Promise.all(names.slice(n, n + 40).map((name) => create(name, "page")));
    {
      await using watched = await Watched.start("page");
      await watched.reflector.synced;
      expect([watched.reflector.size, watched.lists]).toEqual([count, 3]);
      // An API server sends `kind` and `apiVersion` once for the whole list.
      expect(watched.reflector.get("page-0", NAMESPACE)).toMatchObject({ apiVersion: "v1", kind: "ConfigMap" });
      expect(watched.ends).toEqual([]);
    }
    await using watched = await Watched.start("page");
    const first = Promise.withResolvers<void>();
    watched.onList = () => {
      watched.onList = () => {};
      watched.wire.hold(); // The request for the second page is held.
      first.resolve();
    };
    await first.promise;
    await remove("page-0");
    await create("page-last", "page");
    await kubernetes.compactHistory();
    watched.wire.release();
    await watched.reflector.synced;
    expect(watched.ends).toEqual(["expired"]);
    expect([watched.reflector.size, watched.lists]).toEqual([count, 5]);
    expect(watched.names).toContain("page-last");
    expect(watched.names).not.toContain("page-0");
  },
  TEST_MS,
);

test(
  "of 200 changes of one object two are never reconciled at once, the last one is reconciled, and a failure delays no other key",
  async () => {
    await create("busy-one", "busy");
    await create("busy-failing", "busy");
    await using watched = await Watched.start("busy");
    await watched.reflector.synced;
    const queue = new WorkQueue(systemClock, { keysPerSecond: 10_000, keysAtOnce: 10_000 });
    watched.reflector.onChange(({ metadata }) => queue.add(metadata.name));
    let looking = 0;
    let most = 0;
    let checkCount = 0;
    let failures = 0;
    let lastValue = "";
    const last = Promise.withResolvers<void>();
    const work = async (): Promise<void> => {
      for (;;) {
        const acquired = await queue.take();
        if (acquired === undefined) return;
        if (acquired.key === "busy-failing") {
          failures++;
          queue.retry(acquired.key);
        } else {
          most = Math.max(most, ++looking);
          const object = await admin.get(resources.configMaps, acquired.key, NAMESPACE); // A reconcile takes as long as a request.
          lastValue = (object["data"] as { readonly n?: string } | undefined)?.n ?? "";
          looking--;
          checkCount++;
          if (lastValue === "199") last.resolve();
        }
        queue.done(acquired.key);
      }
    };
    const workers = Array.from({ length: 4 }, work);
    queue.add("busy-failing");
    for (let n = 0; n < 200; n++) {
      await admin.apply(configMap("busy-one", "busy", { n: String(n) }), { manager: "test", force: true });
    }
    await last.promise;
    queue.close();
    await Promise.all(workers);
    expect(most).toBe(1);
    expect(checkCount).toBeLessThanOrEqual(201);
    expect(failures).toBeGreaterThan(0);
    expect(failures).toBeLessThan(20); // It backs off: 1 s, 2 s, 4 s …
    expect(queue.failuresOf("busy-failing")).toBe(failures);
  },
  TEST_MS,
);

test(
  "a leader that finds by its clock that its lease has ended writes nothing, and leads no longer; later it may lead again",
  async () => {
    let frozenMs = 0;
    const clock: Clock = {
      nowMs: () => systemClock.nowMs(),
      setTimer: (delayMs, fire) => systemClock.setTimer(delayMs, fire),
      monotonicMs: () => systemClock.monotonicMs() + frozenMs,
    };
    await using client = connectKubernetes(kubernetes.kubeconfig());
    const lease = { namespace: NAMESPACE, name: "frozen", identity: "one", leaseMs: 10_000, renewWithinMs: 8_000, retryMs: 50 };
    const leadership = new LeaseLeadership(lease, { client, clock, logger: silentLogger });
    const stop = new AbortController();
    const write = (name: string, signal: AbortSignal) =>
      client.apply(configMap(name, "frozen"), { manager: "test", force: true, signal });
    const refusals: unknown[] = [];
    let terms = 0;
    await leadership.run(async (signal) => {
      terms++;
      if (terms === 2) {
        await write("frozen-again", signal);
        return stop.abort();
      }
      await write("frozen-before", signal);
      frozenMs += lease.leaseMs + 1_000; // No timer has fired yet.
      refusals.push(await write("frozen-late", signal).catch((cause: unknown) => cause));
      expect(signal.aborted).toBe(true);
    }, stop.signal);
    expect(refusals).toEqual([expect.objectContaining({ message: expect.stringContaining("our lease has ended") })]);
    expect(terms).toBe(2);
    const configMaps = await admin.list<KubeObject>(resources.configMaps, { namespace: NAMESPACE, labels: "suite=frozen" });
    expect(configMaps.items.map(({ metadata }) => metadata.name).sort()).toEqual(["frozen-again", "frozen-before"]);
  },
  TEST_MS,
);
