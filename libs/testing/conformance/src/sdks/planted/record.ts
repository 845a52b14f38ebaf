/** Runs handlers with planted bugs on a real server until they have failed, and takes their bundles. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { runCommand } from "@perdure/processes";
import { type IntrospectionRow, TestAdminClient } from "../../admin-client.js";
import { eventually } from "../../eventually.js";
import { TestIngressClient } from "../../ingress-client.js";
import { Server } from "../../server.js";
import { SdkProgram } from "../endpoint.js";
import type { BuildStep } from "../language.js";
import { FIRST_RETRY_MS, REPLAY_MS, SOON_MS } from "../limits.js";
import type { PlantedBug, PlantedLanguage } from "./bugs.js";
import type { OutsideWorld } from "./outside-world.js";

export interface Recording {
  readonly bug: PlantedBug;
  /** The bundle. */
  readonly file: string;
  /** The error in the bundle. */
  readonly message: string;
}

interface RecordingTask {
  readonly language: PlantedLanguage;
  readonly start: BuildStep;
  readonly bugs: readonly PlantedBug[];
  readonly world: OutsideWorld;
  /** Bundle of the command line. */
  readonly program: string;
  readonly folder: string;
}

/** Below fields whose names are those of secrets, in the input, the state, and the response of a call. */
const CANARIES = { password: "canary-of-the-input", apiKey: "canary-of-the-state" };

/** When it resolves, the server and the endpoint have stopped. */
export async function record(task: RecordingTask): Promise<readonly Recording[]> {
  await using endpoint = await SdkProgram.start(task.start, task.world.environment);
  await using server = await Server.start({
    settings: { "worker.invoker.default-retry-policy.initial-interval": `${FIRST_RETRY_MS}ms` },
  });
  using ingress = new TestIngressClient(server.ingressUrl);
  using admin = new TestAdminClient(server.adminUrl);
  await eventually("the endpoint can be registered", () => admin.register({ uri: endpoint.url }), SOON_MS);
  const recordings: Recording[] = [];
  for (const bug of task.bugs) {
    const id = await failing(bug, { ingress, admin, ...task });
    recordings.push({ bug, ...(await bundleOf(id, bug, server.adminUrl, task)) });
  }
  return recordings;
}

/** Id of an invocation of the handler whose last failure is that of the bug. */
async function failing(
  { handler, errors }: PlantedBug,
  { language, ingress, admin, world }: RecordingTask & { readonly ingress: TestIngressClient; readonly admin: TestAdminClient },
): Promise<string> {
  const { password, apiKey } = CANARIES;
  if (handler === "state") await ingress.result(["Planted", handler, "fill"], { apiKey });
  const { invocationId: id } = await ingress.send(["Planted", handler, handler], { password });
  const fails = (what: string, matches: (row: IntrospectionRow) => boolean): Promise<boolean> =>
    eventually(
      `${handler} ${what}`,
      async () => {
        const row = await admin.row(id);
        if (row !== undefined && matches(row)) return true;
        throw new Error(
          `it is ${row?.["status"]}, its last failure is ${row?.["last_failure_error_code"]} ${row?.["last_failure"]}`,
        );
      },
      SOON_MS,
    );
  if (handler === "flag") {
    await fails("fails while the flag is down", (row) => String(row["last_failure"]).includes("the warehouse is closed"));
    world.raiseFlag();
  }
  const { code } = errors[language];
  await fails(`fails with ${code}`, (row) => row["last_failure_error_code"] === code);
  return id;
}

interface BundleFile {
  readonly error: { readonly restate_code: string; readonly message: string } | null;
  readonly journal: { readonly entries: readonly { readonly body: string }[] };
  readonly state: { readonly entries: readonly { readonly key: string; readonly value: string }[] } | null;
}

async function bundleOf(
  id: string,
  bug: PlantedBug,
  adminUrl: string,
  { language, program, folder }: RecordingTask,
): Promise<{ readonly file: string; readonly message: string }> {
  const file = join(folder, `${bug.handler}.bundle.json.gz`);
  const env = { PATH: process.env["PATH"], HOME: folder, PERDURE_ADMIN_URL: adminUrl };
  const args = [program, "bundle", id, "--out", file];
  const { exitCode, stderr } = await runCommand(process.execPath, args, { env, timeoutMs: REPLAY_MS });
  assert.equal(exitCode, 0, stderr);
  const text = gunzipSync(readFileSync(file)).toString();
  const bundle: BundleFile = JSON.parse(text);
  const everything = everythingIn(text, bundle);
  for (const canary of Object.values(CANARIES)) assert.ok(!everything.includes(canary), `'${canary}' is in the bundle`);
  assert.ok(everything.includes("*".repeat(CANARIES.password.length)), "nothing was replaced in the bundle");
  const { code, message } = bug.errors[language];
  assert.equal(bundle.error?.restate_code, code);
  assert.match(bundle.error.message, message);
  return { file, message: bundle.error.message };
}

/** The text of the file and of everything in it that is encoded. */
function everythingIn(text: string, { journal, state }: BundleFile): string {
  const encoded = [
    ...journal.entries.map(({ body }) => body),
    ...(state?.entries ?? []).flatMap(({ key, value }) => [key, value]),
  ];
  return [text, ...encoded.map((base64) => Buffer.from(base64, "base64").toString("latin1"))].join("\n");
}
