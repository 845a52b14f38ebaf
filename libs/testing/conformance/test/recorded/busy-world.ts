/** Why: recordings need a world with everything in it. This makes one through the APIs of a running server or cluster. */
import { eventually, type TestAdminClient, type TestIngressClient } from "../../src/index.js";
import { probe } from "../../src/probe.js";
import type { ExpectedEnd, RecordedFacts } from "./facts.js";
import { awakeableOf } from "./services.js";

/** Due after the processes are killed, and long before the recording is opened. */
const NAP_MS = 120_000;
const DELAY = "120s";

export interface WorldClients {
  readonly ingress: TestIngressClient;
  readonly admin: TestAdminClient;
  readonly deploymentId: string;
}

type Facts = Omit<RecordedFacts, "outboxCount">;

/** Everything but the fan, which the recorder starts last. `outboxCount` is what the recorder finds afterwards. */
export async function makeBusyWorld(clients: WorldClients, fanCount: number): Promise<Facts> {
  const maker = new WorldMaker(clients);
  const idempotent = await makeCompleted(clients, maker);
  const workflowId = await makeWorkflows(clients, maker);
  const waiting = await makeWaiting(clients, maker, workflowId);
  await makeLocked(clients, maker);
  const queued = await makeQueued(clients, maker);
  const schedules = await makeSchedules(clients);
  const { ends, awakeables } = maker;
  return {
    deploymentId: clients.deploymentId,
    ends,
    awakeables,
    idempotent,
    ...waiting,
    ...queued,
    fan: { name: "fan", count: fanCount },
    schedules,
  };
}

/** Makes invocations, and notes how each is to end when the world is opened. */
class WorldMaker {
  readonly #ingress: TestIngressClient;
  readonly #admin: TestAdminClient;
  readonly ends: ExpectedEnd[] = [];
  readonly awakeables: { id: string; value: string }[] = [];

  constructor({ ingress, admin }: WorldClients) {
    this.#ingress = ingress;
    this.#admin = admin;
  }

  isIn(id: string, status: string): Promise<true> {
    return eventually(`${id} is ${status}`, async () => (await this.#admin.row(id))?.["status"] === status || undefined);
  }

  async expectEnd(what: string, id: string, status: string, end: { value?: unknown; code?: number }): Promise<string> {
    await this.isIn(id, status);
    this.ends.push({ what, id, status, ...end });
    return id;
  }

  async send(handler: string, argument?: unknown, delay?: string): Promise<string> {
    return (await this.#ingress.send(["Errand", handler], argument, delay === undefined ? {} : { delay })).invocationId;
  }

  async scoped(scope: string, handler: string, argument: unknown, headers: Record<string, string> = {}): Promise<string> {
    const path = `/restate/scope/${scope}/send/Errand/${handler}`;
    const answer = await this.#ingress.http.request("POST", path, { json: argument, headers });
    if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
    return (answer.json as { invocationId: string }).invocationId;
  }

  /** Resolves when the handler waits; its awakeable gets `value` when the world is finished. */
  async awaits(name: string, value: string): Promise<void> {
    const id = await eventually(`${name} waits`, () => probe.get<string>(awakeableOf(name)));
    this.awakeables.push({ id, value });
  }
}

async function makeCompleted({ ingress, admin }: WorldClients, maker: WorldMaker): Promise<Facts["idempotent"]> {
  const key = "a key that is known for a century";
  const value = await ingress.result<string>(["Errand", "once"], "keyed", { idempotencyKey: key });
  await maker.expectEnd("a send that completed", await maker.send("once", "a"), "completed", {});
  const first = maker.ends.pop() as ExpectedEnd;
  maker.ends.push({ ...first, value: await ingress.outcome(first.id) });
  await maker.expectEnd("a refusal", await maker.send("refuse", "this"), "completed", { code: 418 });
  await maker.expectEnd("an invocation that its retry policy killed", await maker.send("gives_up"), "completed", { code: 500 });
  const toKill = await maker.send("wait", "to kill");
  await maker.isIn(toKill, "suspended");
  await admin.invocation(toKill, "kill");
  await maker.expectEnd("a killed invocation", toKill, "completed", { code: 409 });
  const toCancel = await maker.send("wait", "to cancel");
  await maker.isIn(toCancel, "suspended");
  await admin.invocation(toCancel, "cancel");
  await maker.expectEnd("a cancelled invocation", toCancel, "completed", { code: 409 });
  const restarted = await admin.invocation(first.id, "restart-as-new");
  const newId = (restarted.json as { new_invocation_id: string }).new_invocation_id;
  await maker.isIn(newId, "completed");
  maker.ends.push({ what: "a restarted invocation", id: newId, status: "completed", value: await ingress.outcome(newId) });
  const toPurge = await maker.send("once", "purged");
  await maker.isIn(toPurge, "completed");
  await admin.invocation(toPurge, "purge");
  await ingress.result(["Tally", "bytes", "putBytes"]);
  for (let n = 0; n < 5; n++) await ingress.result(["Tally", "plain", "add"], 1);
  return { key, name: "keyed", value };
}

/** Returns the id of a workflow that awaits its promise. */
async function makeWorkflows({ ingress }: WorldClients, maker: WorldMaker): Promise<string> {
  const ended = await ingress.send(["Journey", "ended", "run"], "ended");
  await ingress.result(["Journey", "ended", "go"], "at once");
  await maker.expectEnd("a workflow that completed", ended.invocationId, "completed", { value: "ended at once" });
  const open = await ingress.send(["Journey", "open", "run"], "open");
  await maker.expectEnd("a workflow that awaits its promise", open.invocationId, "suspended", { value: "open at last" });
  const seer = await ingress.send(["Journey", "open", "see"]);
  await maker.expectEnd("a handler that awaits a workflow's promise", seer.invocationId, "suspended", { value: "at last" });
  await ingress.call(["Journey", "open", "refuse"], "a completed promise with a failure");
  return open.invocationId;
}

/** Invocations that sleep, wait, run, fail and are paused. */
async function makeWaiting(
  { admin }: WorldClients,
  maker: WorldMaker,
  workflowId: string,
): Promise<Pick<Facts, "listenerId" | "pausedIds">> {
  await maker.expectEnd("a sleeping invocation", await maker.send("sleep", NAP_MS), "suspended", { value: "slept" });
  await maker.expectEnd("a delayed invocation", await maker.send("once", "delayed", DELAY), "scheduled", {});
  await maker.expectEnd("an invocation that awaits an awakeable", await maker.send("wait", "waits"), "suspended", {
    value: "waited",
  });
  await maker.awaits("waits", "waited");
  const listenerId = await maker.expectEnd("an invocation that awaits a signal", await maker.send("listen"), "suspended", {
    value: "heard",
  });
  await maker.expectEnd("an attached invocation", await maker.send("attach", workflowId), "suspended", { value: "open at last" });
  await maker.expectEnd("a running invocation", await maker.send("slow", "slow"), "running", { value: "slow is done" });
  await maker.expectEnd("a failing invocation", await maker.send("flaky", "flaky"), "backing-off", { value: "flaky works" });
  const pauses = await maker.expectEnd("one paused by its policy", await maker.send("pauses", "it"), "paused", {
    value: "it goes on",
  });
  const stopped = await maker.send("flaky", "stopped");
  await maker.isIn(stopped, "backing-off");
  await admin.invocation(stopped, "pause");
  await maker.expectEnd("one paused by an operator", stopped, "paused", { value: "stopped works" });
  const stops = await maker.expectEnd("one to be paused when it stops", await maker.send("slow", "stops"), "running", {
    value: "stops is done",
  });
  await admin.invocation(stops, "pause");
  return { listenerId, pausedIds: [pauses, stopped, stops] };
}

/** A lock, and what waits for it. */
async function makeLocked({ ingress, admin }: WorldClients, maker: WorldMaker): Promise<void> {
  const holder = await ingress.send(["Tally", "held", "hold"]);
  await maker.expectEnd("the holder of a lock", holder.invocationId, "suspended", { value: "released" });
  await maker.awaits("held", "released");
  for (let n = 1; n <= 3; n++) {
    const { invocationId } = await ingress.send(["Tally", "held", "add"], 1);
    await maker.expectEnd("one that waits for a lock", invocationId, "pending", { value: n });
  }
  const edited = await admin.post("/services/Tally/state", { object_key: "held", new_state: { n: "100" } });
  if (edited.status !== 202) throw new Error(`${edited.status} ${edited.text}`);
  const caller = await maker.send("callHeld", "held");
  await maker.expectEnd("a caller of a held object", caller, "suspended", { value: 101 });
  const last = await ingress.send(["Tally", "held", "add"], 1);
  await maker.expectEnd("one that waits behind an edit of state", last.invocationId, "pending", { value: 102 });
}

/** Invocations that wait for limits of their scope, and a paused queue. */
async function makeQueued(
  { ingress, admin }: WorldClients,
  maker: WorldMaker,
): Promise<Pick<Facts, "pausedQueue" | "queuedIds">> {
  const rules = [
    { pattern: "rec", limits: { concurrency: 1 } },
    { pattern: "rate", limits: { rate: { limit: 60, per: "1h", burst: 2 } } },
  ];
  const put = await admin.http.request("PUT", "/limits/rules", { json: rules });
  if (put.status !== 200) throw new Error(`${put.status} ${put.text}`);
  const ready = await maker.scoped("rec", "wait", "ready");
  await maker.isIn(ready, "suspended");
  const ofReady = await eventually("it waits", () => probe.get<string>(awakeableOf("ready")));
  await maker.expectEnd("the holder of a slot", await maker.scoped("rec", "slow", "slotted"), "running", {
    value: "slotted is done",
  });
  await ingress.resolveAwakeable(ofReady, "its turn");
  await maker.expectEnd("one that could go on and waits for a slot", ready, "ready", { value: "its turn" });
  const slot = await maker.scoped("rec", "slow", "queued", { "x-restate-limit-key": "tenant/user", "x-perdure-priority": "1" });
  await maker.expectEnd("one that waits for a slot", slot, "pending", { value: "queued is done" });
  for (let n = 0; n < 3; n++) {
    const limited = await maker.scoped("rate", "once", `rate ${n}`);
    await maker.expectEnd(`one of a limited rate, ${n}`, limited, n < 2 ? "completed" : "pending", {});
  }
  const inHalt = await maker.scoped("halt", "wait", "halt");
  await maker.expectEnd("one that began before its queue was paused", inHalt, "suspended", { value: "begun before" });
  await maker.awaits("halt", "begun before");
  const [queue] = await admin.query("select id from sys_vqueue_meta where scope = 'halt'");
  const pausedQueue = String(queue?.["id"]);
  if ((await admin.post(`/vqueues/${pausedQueue}/pause`, {})).status !== 202) throw new Error("the queue is not paused");
  const queuedIds: string[] = [];
  for (let n = 0; n < 2; n++) {
    const queued = await maker.scoped("halt", "slow", `halted ${n}`);
    queuedIds.push(await maker.expectEnd("one in a paused queue", queued, "pending", { value: `halted ${n} is done` }));
  }
  return { pausedQueue, queuedIds };
}

async function makeSchedules({ admin }: WorldClients): Promise<readonly string[]> {
  const schedules = ["yearly", "stopped"];
  for (const name of schedules) {
    const schedule = { name, cron: "0 0 1 1 *", paused: name === "stopped", target: { service: "Errand", handler: "tick" } };
    const made = await admin.post("/schedules", schedule);
    if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  }
  return schedules;
}
