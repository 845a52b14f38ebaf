import { expect, test } from "@jest/globals";
import { apply, type PartitionCommand } from "@perdure/state-machine";
import { anId, endOf, invokeOf, objectTarget, outputOf, setStateOf, sleepOf, someFacts } from "@perdure/state-machine/testing";
import { KvPartitionStore, MemoryKeyValue } from "@perdure/storage";
import { LiveView } from "./live-view.js";
import { Overlay, UndoLog } from "./overlay.js";

type Rows = Map<unknown, unknown> | Set<unknown>;

const { set } = Map.prototype;
const { add } = Set.prototype;

/** Returns every map and set that `work` added something to. */
function filledBy(work: () => void): Set<Rows> {
  const filled = new Set<Rows>();
  Map.prototype.set = function (this: Map<unknown, unknown>, key, value) {
    add.call(filled, this);
    return set.call(this, key, value);
  };
  Set.prototype.add = function (this: Set<unknown>, value) {
    add.call(filled, this);
    return add.call(this, value);
  };
  try {
    work();
    return filled;
  } finally {
    Map.prototype.set = set;
    Set.prototype.add = add;
  }
}

/** A partition whose batches become durable when the test calls for it. */
async function aLeaderPartition() {
  const store = new KvPartitionStore(new MemoryKeyValue());
  const epoch = await store.claim(0);
  const view = new LiveView(0, store.reads);
  const filled = new Set<Rows>();
  const noting = (work: () => void): void => {
    for (const rows of filledBy(work)) filled.add(rows);
  };
  return {
    view,
    filled,
    play(...commands: readonly PartitionCommand[]): void {
      noting(() => {
        for (const command of commands) {
          apply(view, command, view);
          view.accept();
        }
      });
    },
    load(key: string): void {
      noting(() => view.load({ request: { kind: "stateOf", service: "O", key }, state: new Map(), names: [], entries: [] }));
    },
    /** Seals the batch; call the result when the store has written it. */
    seal(): () => Promise<void> {
      let mutations: ReturnType<LiveView["seal"]> = [];
      noting(() => {
        mutations = view.seal();
      });
      return async () => {
        expect(await store.commit([{ partition: 0, epoch, mutations }])).toEqual({ kind: "committed" });
        noting(() => view.markDurable());
      };
    },
  };
}

// Decision 0037: a map in the old generation of the garbage collector retains all rows that pass through its later tables.
test("no map or set that a batch has filled and left empty is ever filled again", async () => {
  const partition = await aLeaderPartition();
  const { view, filled } = partition;
  const emptied = new Set<Rows>();
  for (let round = 0; round < 3; round++) {
    filled.clear();
    const [id, waiter] = [anId(10 + 2 * round), anId(11 + 2 * round)];
    const target = objectTarget(`k${round}`);
    partition.load(`k${round}`);
    partition.play(invokeOf(someFacts({ id, target })), invokeOf(someFacts({ id: waiter, target })));
    partition.play(setStateOf(id, 1, "a", "1"), sleepOf(id, 1, 1, 5_000));
    const commitFirst = partition.seal();
    partition.play(outputOf(id, 1, "done"), endOf(id, 1)); // This happens while the first batch is being written.
    await commitFirst();
    await partition.seal()();
    expect(view.appliedInvocation(waiter)?.status).toBe("invoked");
    // A completed invocation is only in the store.
    partition.play({ kind: "kill", id }, outputOf(waiter, 1, "done"), endOf(waiter, 1));
    await partition.seal()();
    expect([view.isDurable, view.appliedInvocation(waiter)]).toEqual([true, undefined]);
    for (const rows of filled) {
      expect(emptied.has(rows)).toBe(false);
      if (rows.size === 0) emptied.add(rows);
    }
  }
});

test("rows of a table are dropped with their map when they are durable", () => {
  const table = new Overlay<string>(new UndoLog());
  table.set("a", "1");
  table.seal();
  const written = table.inFlight();
  table.set("b", "2");
  table.markDurable();
  expect(table.inFlight()).not.toBe(written);
  expect([...written]).toEqual([["a", "1"]]);
  expect([table.get("a"), table.get("b")]).toEqual([undefined, "2"]);
});

/** Returns the maps that `work` filled although they were made before it. */
function filledButMadeBefore(work: () => void): Rows[] {
  const made = new Set<Rows>();
  const Original = globalThis.Map;
  globalThis.Map = class<K, V> extends Original<K, V> {
    constructor(...args: ConstructorParameters<typeof Original<K, V>>) {
      super(...args);
      made.add(this);
    }
  };
  try {
    return [...filledBy(work)].filter((rows) => rows instanceof Original && !made.has(rows));
  } finally {
    globalThis.Map = Original;
  }
}

// Decision 0037: what waited empty in the old generation keeps what it is filled with until a full collection.
test("no map or list waits empty for the payloads of the next batch", async () => {
  const { view, seal } = await aLeaderPartition();
  const { id } = someFacts();
  const entry = { type: 0, body: new Uint8Array(8), appendedAtMs: 0 };
  for (let round = 0; round < 2; round++) {
    expect(view.seal()).toBe(view.seal()); // The shared empty list.
    const waited = filledButMadeBefore(() => {
      view.load({ request: { kind: "stateOf", service: "O", key: "k" }, state: new Map(), names: [], entries: [] });
      view.mutate({ kind: "appendEntry", id, index: 0, entry });
      view.mutate({ kind: "putState", service: "O", key: "k", stateKey: "s", value: entry.body });
      view.accept();
    });
    expect(waited).toEqual([]);
    await seal()();
  }
});
