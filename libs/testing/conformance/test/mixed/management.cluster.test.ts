/**
 * Commands of the management API, their answers and failed outcomes between processes of the previous and the current build: each side
 * sends what the other one reads, and every operation has the same answer in every mixture.
 */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { vqueueId } from "@perdure/base";
import { DevCluster, type LocalRole, type ServiceProgram } from "@perdure/dev-cluster";
import { type Context, type ObjectContext, object, service, TerminalError } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { unpackPreviousBuild } from "./previous-build.js";

const TEST_MS = 300_000;
const STEP_MS = 60_000;

const managed = service({
  name: "Managed",
  handlers: {
    wait: (ctx: Context) => ctx.sleep(3_600_000),
    fail: () => {
      throw new TerminalError("refused on purpose", { errorCode: 418 });
    },
  },
});
const counter = object({
  name: "ManagedCounter",
  handlers: { value: async (ctx: ObjectContext) => (await ctx.get<number>("n")) ?? 0 },
});

let directory: string;
let previous: Readonly<Record<LocalRole, string>>;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "perdure-previous-"));
  previous = unpackPreviousBuild(directory);
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function become(build: "previous" | "present", role: LocalRole, program: ServiceProgram): Promise<void> {
  await program.stop();
  program.useBundle(build === "previous" ? previous[role] : undefined);
  await program.startAgain();
  await program.ready();
}

/** Uses every operation once and returns the answers. */
async function manage(admin: TestAdminClient, ingress: TestIngressClient): Promise<readonly string[]> {
  const answers: string[] = [];
  const note = (what: string, { status }: { readonly status: number }): void => void answers.push(`${what} ${status}`);
  const statusOf = async (id: string): Promise<unknown> => (await admin.row(id))?.["status"];

  const { invocationId: id } = await ingress.send(["Managed", "wait"]);
  note("restart of a running one", await admin.invocation(id, "restart-as-new"));
  await eventually("the handler runs", async () => (await statusOf(id)) === "running", STEP_MS);
  note("pause", await admin.invocation(id, "pause"));
  await eventually("the invocation is paused", async () => (await statusOf(id)) === "paused", STEP_MS);
  note("pause again", await admin.invocation(id, "pause"));
  note("resume", await admin.invocation(id, "resume"));
  note("kill", await admin.invocation(id, "kill"));
  const killed = await ingress.attach(id);
  answers.push(`killed ${killed.status} ${(killed.json as { message: string }).message}`);
  note("kill again", await admin.invocation(id, "kill"));
  const restarted = await admin.invocation(id, "restart-as-new");
  note("restart", restarted);
  const { new_invocation_id: copy } = restarted.json as { new_invocation_id: string };
  note("cancel", await admin.invocation(copy, "cancel"));
  const cancelled = await ingress.attach(copy);
  answers.push(`cancelled ${cancelled.status} ${(cancelled.json as { message: string }).message}`);
  note("purge of the journal", await admin.invocation(id, "purge-journal"));
  note("purge", await admin.invocation(id, "purge"));
  note("purge again", await admin.invocation(id, "purge"));

  const stateOf = (n: string, version?: string) => ({ object_key: "k", new_state: { n: [...Buffer.from(n)] }, version });
  note("state", await admin.post("/services/ManagedCounter/state", stateOf("7")));
  note("state of another version", await admin.post("/services/ManagedCounter/state", stateOf("8", "stale")));
  answers.push(`value ${await ingress.result(["ManagedCounter", "k", "value"])}`);

  const queue = vqueueId({ service: "Managed", scope: "s", limitKey: undefined, lockKey: undefined });
  for (const verb of ["pause", "resume"]) note(`${verb} of a queue`, await admin.post(`/vqueues/${queue}/${verb}`, undefined));

  const failed = await ingress.call(["Managed", "fail"]);
  answers.push(`failed ${failed.status} ${(failed.json as { message: string }).message}`);
  return answers;
}

const ANSWERS: readonly string[] = [
  "restart of a running one 409",
  "pause 202",
  "pause again 200",
  "resume 200",
  "kill 200",
  "killed 409 killed",
  "kill again 409",
  "restart 200",
  "cancel 202",
  "cancelled 409 Cancelled",
  "purge of the journal 200",
  "purge 200",
  "purge again 404",
  "state 202",
  "state of another version 409",
  "value 7",
  "pause of a queue 202",
  "resume of a queue 202",
  "failed 418 refused on purpose",
];

test(
  "management works, and failures arrive, whichever of management API, gateway and worker is of the build before",
  async () => {
    await using endpoint = await SdkEndpoint.start({ services: [managed, counter] });
    await using cluster = await DevCluster.start({ workers: 1, gateways: 1, bundles: previous });
    using admin = new TestAdminClient(cluster.adminUrl);
    using ingress = new TestIngressClient(cluster.ingressUrls[0] as string);
    await eventually("the deployment is registered", () => admin.register({ uri: endpoint.url }), STEP_MS);
    const [worker] = cluster.workers as [ServiceProgram];
    const [gateway] = cluster.gateways as [ServiceProgram];
    const holds = async (mixture: string): Promise<void> =>
      expect([mixture, ...(await manage(admin, ingress))]).toEqual([mixture, ...ANSWERS]);
    await holds("all of the build before");
    await become("present", "invoker-worker", worker);
    await holds("worker of the present build");
    await become("present", "admin-api", cluster.admin);
    await become("present", "ingress-gateway", gateway);
    await holds("all of the present build");
    await become("previous", "invoker-worker", worker);
    await holds("worker of the build before");
  },
  TEST_MS,
);
