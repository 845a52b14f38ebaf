/** Why: a recorded world is only whole when everything in it can be finished, with the results that it was going to have. */
import { expect } from "@jest/globals";
import { eventually, type SdkEndpoint, type TestAdminClient, type TestIngressClient } from "../../src/index.js";
import type { RecordedFacts } from "./facts.js";
import { BYTES_DIGESTS } from "./services.js";

/** A retry may be a while away when the endpoint is there again. */
const FINISHED_MS = 60_000;

export interface OpenedWorld {
  readonly admin: TestAdminClient;
  readonly ingress: TestIngressClient;
  readonly endpoint: SdkEndpoint;
  readonly facts: RecordedFacts;
}

/** The recorded deployment is at another address now. */
export async function moveDeployment({ admin, endpoint, facts }: OpenedWorld): Promise<void> {
  const moved = await admin.patch(`/deployments/${facts.deploymentId}`, { uri: endpoint.url, overwrite: true });
  expect([moved.status, moved.text]).toEqual([200, expect.stringContaining(endpoint.url)]);
}

/** Completes, signals and resumes what waits for that, but for what is in the paused queue. */
export async function completeAll({ admin, ingress, facts }: OpenedWorld): Promise<void> {
  for (const { id, value } of facts.awakeables) expect((await ingress.resolveAwakeable(id, value)).status).toBe(202);
  await ingress.call(["Errand", "raise"], { id: facts.listenerId, value: "heard" });
  expect(await ingress.result(["Journey", "open", "name"])).toBe("open");
  expect((await ingress.call(["Journey", "open", "go"], "at last")).status).toBe(200);
  for (const id of facts.pausedIds) {
    await eventually(
      `${id} is paused or goes on`,
      async () => {
        const status = (await admin.row(id))?.["status"];
        if (status === "paused") await admin.invocation(id, "resume");
        return status === "completed";
      },
      FINISHED_MS,
    );
  }
}

/** No invocation starts from the paused queue until it is resumed. */
export async function resumeQueue({ admin, facts }: OpenedWorld): Promise<void> {
  for (const id of facts.queuedIds) expect((await admin.row(id))?.["status"]).toBe("pending");
  expect((await admin.post(`/vqueues/${facts.pausedQueue}/resume`, {})).status).toBe(202);
}

/** Every invocation ends as it was going to, once; nothing is left that is not completed. */
export async function expectAllFinished({ admin, ingress, facts }: OpenedWorld): Promise<void> {
  for (const { what, id, value, code } of facts.ends) {
    const answer = await ingress.attach(id, FINISHED_MS);
    if (code !== undefined) expect([what, answer.status]).toEqual([what, code]);
    else if (value !== undefined) expect([what, answer.status, answer.json]).toEqual([what, 200, value]);
    else expect([what, answer.status]).toEqual([what, 200]);
  }
  await eventually(
    "nothing is unfinished",
    async () => (await admin.query("select id from sys_invocation where status <> 'completed'")).length === 0,
    FINISHED_MS,
  );
}

/** State, retained results and schedules are there, and what was counted was counted once. */
export async function expectNothingLost({ admin, ingress, facts }: OpenedWorld): Promise<void> {
  const { key, name, value } = facts.idempotent;
  expect(await ingress.result(["Errand", "once"], name, { idempotencyKey: key })).toBe(value);
  expect((await ingress.call(["Journey", "ended", "run"], "again")).status).toBe(409);
  expect(await ingress.result(["Tally", "plain", "get"])).toBe(5);
  expect(await ingress.result(["Tally", "held", "get"])).toBe(102);
  expect(await ingress.result(["Tally", "bytes", "digests"])).toEqual({ ...BYTES_DIGESTS, text: "wert" });
  for (let n = 0; n < facts.fan.count; n++)
    expect([n, await ingress.result(["Tally", `${facts.fan.name} ${n}`, "get"])]).toEqual([n, 1]);
  const { json } = await admin.get("/schedules");
  const { schedules } = json as { schedules: readonly { name: string; paused: boolean }[] };
  expect(schedules.map((schedule) => [schedule.name, schedule.paused])).toEqual([
    ["yearly", false],
    ["stopped", true],
  ]);
  const rules = await admin.query("select pattern from sys_rules order by pattern");
  expect(rules.map(({ pattern }) => pattern)).toEqual(["rate", "rec"]);
}
