/** The function of the guide to Lambda serves the order: each attempt is a call of the function with a request and a response. */
import { join } from "node:path";
import { expect, test } from "@jest/globals";
import {
  FakeLambda,
  type LambdaAnswer,
  Server,
  TestAdminClient,
  TestIngressClient,
  temporaryDirectory,
} from "@perdure/conformance";
import { handler } from "../src/lambda.ts";

test("an order runs in a Lambda function, waits without it, and completes", async () => {
  const folder = temporaryDirectory();
  process.env["EFFECTS_FILE"] = join(folder, "effects.log");
  await using lambda = await FakeLambda.start();
  const arn = lambda.add("order", async (event) => (await handler(event, {})) as LambdaAnswer);
  await using server = await Server.start({ baseDir: folder, environment: lambda.environment });
  using admin = new TestAdminClient(server.adminUrl);
  using ingress = new TestIngressClient(server.ingressUrl);
  const registered = await admin.post("/deployments", { arn });
  expect(registered.status).toBe(201);

  const order = { item: "lamp", amount: 49, remindAfterSeconds: 3600 };
  const { invocationId } = await ingress.send(["Order", "order-1", "run"], order);
  await ingress.result(["Order", "order-1", "decide"], true);
  expect(await ingress.outcome(invocationId)).toBe("order-1: shipped");
}, 240_000); // The first suite that starts a server builds it.
