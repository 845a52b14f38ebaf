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
export async function makeBusyWorld({ ingress, admin, deploymentId }: WorldClients, fanCount: number): Promise<Facts> {
  const ends: ExpectedEnd[] = [];
  const awakeables: { id: string; value: string }[] = [];
  const statusOf = async (id: string): Promise<unknown> => (await admin.row(id))?.["status"];
  const isIn = (id: string, status: string) => eventually(`${id} is ${status}`, async () => (await statusOf(id)) === status);
  const expectEnd = async (
    what: string,
    id: string,
    status: string,
    end: { value?: unknown; code?: number },
  ): Promise<string> => {
    await isIn(id, status);
    ends.push({ what, id, status, ...end });
    return id;
  };
  const send = async (handler: string, argument?: unknown, delay?: string): Promise<string> =>
    (await ingress.send(["Errand", handler], argument, delay === undefined ? {} : { delay })).invocationId;
  const scoped = async (scope: string, handler: string, argument: unknown, headers: Record<string, string> = {}) => {
    const answer = await ingress.http.request("POST", `/restate/scope/${scope}/send/Errand/${handler}`, {
      json: argument,
      headers,
    });
    if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
    return (answer.json as { invocationId: string }).invocationId;
  };
  /** Resolves when the handler waits; its awakeable gets `value` when the world is finished. */
  const awaits = async (name: string, value: string): Promise<void> => {
    const id = await eventually(`${name} waits`, () => probe.get<string>(awakeableOf(name)));
    awakeables.push({ id, value });
  };

  // ── completed ──────────────────────────────────────────────────────────────────────────────────
  const key = "a key that is known for a century";
  const value = await ingress.result<string>(["Errand", "once"], "keyed", { idempotencyKey: key });
  await expectEnd("a send that completed", await send("once", "a"), "completed", {});
  const first = ends.pop() as ExpectedEnd;
  ends.push({ ...first, value: await ingress.outcome(first.id) });
  await expectEnd("a refusal", await send("refuse", "this"), "completed", { code: 418 });
  await expectEnd("an invocation that its retry policy killed", await send("gives_up"), "completed", { code: 500 });
  const toKill = await send("wait", "to kill");
  await isIn(toKill, "suspended");
  await admin.invocation(toKill, "kill");
  await expectEnd("a killed invocation", toKill, "completed", { code: 409 });
  const toCancel = await send("wait", "to cancel");
  await isIn(toCancel, "suspended");
  await admin.invocation(toCancel, "cancel");
  await expectEnd("a cancelled invocation", toCancel, "completed", { code: 409 });
  const restarted = await admin.invocation(first.id, "restart-as-new");
  const newId = (restarted.json as { new_invocation_id: string }).new_invocation_id;
  await isIn(newId, "completed");
  ends.push({ what: "a restarted invocation", id: newId, status: "completed", value: await ingress.outcome(newId) });
  const toPurge = await send("once", "purged");
  await isIn(toPurge, "completed");
  await admin.invocation(toPurge, "purge");
  await ingress.result(["Tally", "bytes", "putBytes"]);
  for (let n = 0; n < 5; n++) await ingress.result(["Tally", "plain", "add"], 1);

  // ── workflows ──────────────────────────────────────────────────────────────────────────────────
  const ended = await ingress.send(["Journey", "ended", "run"], "ended");
  await ingress.result(["Journey", "ended", "go"], "at once");
  await expectEnd("a workflow that completed", ended.invocationId, "completed", { value: "ended at once" });
  const open = await ingress.send(["Journey", "open", "run"], "open");
  await expectEnd("a workflow that awaits its promise", open.invocationId, "suspended", { value: "open at last" });
  const seer = await ingress.send(["Journey", "open", "see"]);
  await expectEnd("a handler that awaits a workflow's promise", seer.invocationId, "suspended", { value: "at last" });
  await ingress.call(["Journey", "open", "refuse"], "a completed promise with a failure");

  // ── waiting ────────────────────────────────────────────────────────────────────────────────────
  await expectEnd("a sleeping invocation", await send("sleep", NAP_MS), "suspended", { value: "slept" });
  await expectEnd("a delayed invocation", await send("once", "delayed", DELAY), "scheduled", {});
  await expectEnd("an invocation that awaits an awakeable", await send("wait", "waits"), "suspended", { value: "waited" });
  await awaits("waits", "waited");
  const listenerId = await expectEnd("an invocation that awaits a signal", await send("listen"), "suspended", { value: "heard" });
  await expectEnd("an attached invocation", await send("attach", open.invocationId), "suspended", { value: "open at last" });
  await expectEnd("a running invocation", await send("slow", "slow"), "running", { value: "slow is done" });
  await expectEnd("a failing invocation", await send("flaky", "flaky"), "backing-off", { value: "flaky works" });
  const pauses = await expectEnd("one paused by its policy", await send("pauses", "it"), "paused", { value: "it goes on" });
  const stopped = await send("flaky", "stopped");
  await isIn(stopped, "backing-off");
  await admin.invocation(stopped, "pause");
  await expectEnd("one paused by an operator", stopped, "paused", { value: "stopped works" });
  const stops = await expectEnd("one to be paused when it stops", await send("slow", "stops"), "running", {
    value: "stops is done",
  });
  await admin.invocation(stops, "pause");

  // ── a lock and what waits for it ───────────────────────────────────────────────────────────────
  const holder = await ingress.send(["Tally", "held", "hold"]);
  await expectEnd("the holder of a lock", holder.invocationId, "suspended", { value: "released" });
  await awaits("held", "released");
  for (let n = 1; n <= 3; n++) {
    const { invocationId } = await ingress.send(["Tally", "held", "add"], 1);
    await expectEnd("one that waits for a lock", invocationId, "pending", { value: n });
  }
  const edited = await admin.post("/services/Tally/state", { object_key: "held", new_state: { n: "100" } });
  if (edited.status !== 202) throw new Error(`${edited.status} ${edited.text}`);
  const caller = await send("callHeld", "held");
  await expectEnd("a caller of a held object", caller, "suspended", { value: 101 });
  const last = await ingress.send(["Tally", "held", "add"], 1);
  await expectEnd("one that waits behind an edit of state", last.invocationId, "pending", { value: 102 });

  // ── flow control ───────────────────────────────────────────────────────────────────────────────
  const rules = [
    { pattern: "rec", limits: { concurrency: 1 } },
    { pattern: "rate", limits: { rate: { limit: 60, per: "1h", burst: 2 } } },
  ];
  const put = await admin.http.request("PUT", "/limits/rules", { json: rules });
  if (put.status !== 200) throw new Error(`${put.status} ${put.text}`);
  const ready = await scoped("rec", "wait", "ready");
  await isIn(ready, "suspended");
  const ofReady = await eventually("it waits", () => probe.get<string>(awakeableOf("ready")));
  await expectEnd("the holder of a slot", await scoped("rec", "slow", "slotted"), "running", { value: "slotted is done" });
  await ingress.resolveAwakeable(ofReady, "its turn");
  await expectEnd("one that could go on and waits for a slot", ready, "ready", { value: "its turn" });
  const slot = await scoped("rec", "slow", "queued", { "x-restate-limit-key": "tenant/user", "x-perdure-priority": "1" });
  await expectEnd("one that waits for a slot", slot, "pending", { value: "queued is done" });
  for (let n = 0; n < 3; n++) {
    const limited = await scoped("rate", "once", `rate ${n}`);
    await expectEnd(`one of a limited rate, ${n}`, limited, n < 2 ? "completed" : "pending", {});
  }
  const inHalt = await scoped("halt", "wait", "halt");
  await expectEnd("one that began before its queue was paused", inHalt, "suspended", { value: "begun before" });
  await awaits("halt", "begun before");
  const [queue] = await admin.query("select id from sys_vqueue_meta where scope = 'halt'");
  const pausedQueue = String(queue?.["id"]);
  if ((await admin.post(`/vqueues/${pausedQueue}/pause`, {})).status !== 202) throw new Error("the queue is not paused");
  const queuedIds: string[] = [];
  for (let n = 0; n < 2; n++) {
    const queued = await scoped("halt", "slow", `halted ${n}`);
    queuedIds.push(await expectEnd("one in a paused queue", queued, "pending", { value: `halted ${n} is done` }));
  }

  // ── schedules ──────────────────────────────────────────────────────────────────────────────────
  const schedules = ["yearly", "stopped"];
  for (const name of schedules) {
    const schedule = { name, cron: "0 0 1 1 *", paused: name === "stopped", target: { service: "Errand", handler: "tick" } };
    const made = await admin.post("/schedules", schedule);
    if (made.status !== 201) throw new Error(`${made.status} ${made.text}`);
  }
  return {
    deploymentId,
    ends,
    awakeables,
    listenerId,
    idempotent: { key, name: "keyed", value },
    pausedIds: [pauses, stopped, stops],
    pausedQueue,
    queuedIds,
    fan: { name: "fan", count: fanCount },
    schedules,
  };
}
