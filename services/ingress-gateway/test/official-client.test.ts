/** The published TypeScript client, unmodified, against this ingress (ingress.md §11). */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "@jest/globals";
import { idempotentInvocationId, workflowInvocationId } from "@perdure/base";
import { decodeCommand, MessageType } from "@perdure/service-protocol";
import type { Invoke, Outcome } from "@perdure/state-machine";
import { until } from "@perdure/testkit";
import {
  connect,
  HttpCallError,
  type Ingress as RestateIngress,
  rpc,
  type ServiceDefinition,
  type VirtualObjectDefinition,
  type WorkflowDefinition,
} from "@restatedev/restate-sdk-clients";
import { type Fixture, failure, startIngress, success } from "./fixture.js";

interface Greeter {
  greet(context: unknown, name: string): Promise<string>;
  nothing(context: unknown): Promise<void>;
  fail(context: unknown): Promise<void>;
}
interface Counter {
  key(context: unknown): Promise<string>;
}
/** The client's types need an alias here: an interface has no index signature. */
type Wf = {
  run(context: unknown, input: string): Promise<string>;
  peek(context: unknown): Promise<string>;
};
const greeter: ServiceDefinition<"Greeter", Greeter> = { name: "Greeter" };
const counter: VirtualObjectDefinition<"Counter", Counter> = { name: "Counter" };
const wf: WorkflowDefinition<"Wf", Wf> = { name: "Wf" };

describe("the official TypeScript client", () => {
  let fixture: Fixture;
  let client: RestateIngress;
  let outcome: Outcome | "pending";
  beforeAll(async () => {
    fixture = await startIngress({ script: () => outcome });
    client = connect({ url: `http://127.0.0.1:${fixture.port}` });
  });
  beforeEach(() => {
    outcome = success('"ok"');
  });
  afterAll(async () => {
    await fixture[Symbol.asyncDispose]();
  });

  const lastCommand = (): Invoke => fixture.partitions.invoked.at(-1)!;
  function lastInput(): string {
    const command = decodeCommand(MessageType.Input, lastCommand().input);
    if (!("kind" in command) || command.kind !== "input") throw new Error("not an Input command");
    return Buffer.from(command.value).toString("utf8");
  }

  test("calls a service", async () => {
    expect(await client.serviceClient<typeof greeter>(greeter).greet("Ann")).toBe("ok");
    expect(lastInput()).toBe('"Ann"');
  });

  test("calls without an argument and gets nothing", async () => {
    outcome = success("");
    expect(await client.serviceClient<typeof greeter>(greeter).nothing()).toBeUndefined();
    expect(lastInput()).toBe("");
  });

  test("calls an object by a key that needs escaping", async () => {
    await client.objectClient<typeof counter>(counter, "a/b c+ü").key();
    expect(lastCommand().facts.target.key).toBe("a/b c+ü");
  });

  test("passes an idempotency key", async () => {
    await client.serviceClient<typeof greeter>(greeter).greet("x", rpc.opts({ idempotencyKey: "k1" }));
    expect(lastCommand().id).toBe(idempotentInvocationId({ service: "Greeter", key: undefined, handler: "greet" }, "k1"));
  });

  test("learns of a terminal failure", async () => {
    outcome = failure(418, "teapot", { a: "b" });
    const failed = client.serviceClient<typeof greeter>(greeter).fail();
    await expect(failed).rejects.toBeInstanceOf(HttpCallError);
    await expect(failed).rejects.toMatchObject({ status: 418, responseText: expect.stringContaining("teapot") });
  });

  test("sends, later and idempotently, and fetches the result", async () => {
    outcome = "pending";
    const sender = client.serviceSendClient<typeof greeter>(greeter);
    const options = rpc.sendOpts<string>({ idempotencyKey: "s1", delay: 1500 });
    const sent = await sender.greet("x", options);
    expect(sent).toMatchObject({ invocationId: lastCommand().id, status: "Accepted" });
    const { createdAtMs, executionTimeMs } = lastCommand().facts;
    expect(executionTimeMs! - createdAtMs).toBe(1500);
    expect(await sender.greet("x", options)).toMatchObject({ status: "PreviouslyAccepted" });
    const result = client.result(sent);
    await until(() => fixture.partitions.waiting.has(sent.invocationId), "the client waits");
    fixture.partitions.complete(sent.invocationId, success('"later"'));
    expect(await result).toBe("later");
  });

  test("submits a workflow, fetches its output, attaches", async () => {
    outcome = "pending";
    const workflow = client.workflowClient<typeof wf>(wf, "w 1");
    const id = workflowInvocationId("Wf", "w 1");
    expect(await workflow.workflowSubmit("in")).toMatchObject({ invocationId: id, status: "Accepted" });
    expect(await workflow.workflowSubmit("in")).toMatchObject({ status: "PreviouslyAccepted" });
    expect(await workflow.workflowOutput()).toMatchObject({ ready: false });
    const attached = workflow.workflowAttach();
    await until(() => fixture.partitions.waiting.has(id), "the client waits");
    fixture.partitions.complete(id, success('"done"'));
    expect(await attached).toBe("done");
    expect(await workflow.workflowOutput()).toMatchObject({ ready: true, result: "done" });
    outcome = success('"stage"');
    expect(await workflow.peek()).toBe("stage");
  });

  test("completes awakeables", async () => {
    const id = "sign_1rk7BEYP5kXXxN8KZ7MaT5bDMAVlK09uoAAAAEQ";
    await client.resolveAwakeable(id, { ok: true });
    await client.rejectAwakeable(id, "no thanks");
    const results = fixture.partitions.submitted.map((command) => (command.kind === "signal" ? command.result : undefined));
    expect(results).toEqual([
      { kind: "value", value: new Uint8Array(Buffer.from('{"ok":true}')) },
      { kind: "failure", failure: { code: 500, message: "no thanks", metadata: [] } },
    ]);
  });
});
