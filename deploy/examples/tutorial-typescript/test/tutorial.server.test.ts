/** The TypeScript tutorial comes true: its commands against a real server, with kill -9 of the service and of the server. */
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { SdkProgram, Server, TUTORIAL_SCENARIOS, type TutorialStage } from "@perdure/conformance";
import { executable, ROOT } from "@perdure/dev-cluster";
import { runCommand } from "@perdure/processes";

const PROJECT = join(ROOT, "deploy/examples/tutorial-typescript");

let server: Server;
let endpoint: SdkProgram;
let stage: TutorialStage;

beforeAll(async () => {
  server = await Server.start();
  const effectsFile = join(server.baseDir, "effects.log");
  const step = { command: process.execPath, args: [join(PROJECT, "src/main.ts")] };
  endpoint = await SdkProgram.start(step, { EFFECTS_FILE: effectsFile });
  const ports = {
    "8080": new URL(server.ingressUrl).port,
    "9070": new URL(server.adminUrl).port,
    "9080": String(endpoint.port),
  };
  stage = {
    ports,
    effectsFile,
    crashService: () => endpoint.crashAndComeBack(),
    crashServer: async () => {
      await server.kill();
      await server.startAgain();
    },
  };
}, 240_000); // The first suite that starts a server builds it.
afterAll(async () => {
  await endpoint[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

test.each(TUTORIAL_SCENARIOS)("$title", ({ play }) => play(stage), 120_000);

test("the test of the order, as the tutorial writes it, passes", async () => {
  const env = { PATH: process.env["PATH"], PERDURE: await executable(), EFFECTS_FILE: join(server.baseDir, "tested.log") };
  const { exitCode, stdout } = await runCommand(process.execPath, ["--test", "test/order.spec.ts"], { cwd: PROJECT, env });
  expect([exitCode, stdout]).toEqual([0, expect.stringMatching(/pass 3/)]);
}, 120_000);
