/** Unary calls are reported by client and server, and the caller's trace goes along. */
import { create } from "@bufbuild/protobuf";
import { type sendUnaryData, status } from "@grpc/grpc-js";
import { expect, test } from "@jest/globals";
import type { OperationObserver } from "@perdure/base";
import { TenancyAnswerSchema, TenancyQuestionSchema } from "../src/gen/v1/tenancy_pb.js";
import { observedHandlers, observedMethods, tenancyDefinition } from "../src/index.js";
import { TestServer } from "../src/testing/index.js";
import { callUnary } from "../src/unary.js";

function anObserver(log: string[], role: string, traceparent: string | undefined): OperationObserver {
  return {
    begin: (name, target, caller) => ({
      traceparent,
      run: (work) => work(),
      end: (error) => void log.push(`${role} ${target}/${name} ${error ?? "ok"} from ${caller ?? "none"}`),
    }),
  };
}

test("are reported with their result", async () => {
  const log: string[] = [];
  let isBroken = false;
  const handlers = {
    ask(_call: unknown, answer: sendUnaryData<unknown>) {
      if (isBroken) answer({ code: status.INTERNAL, details: "broken" });
      else answer(null, create(TenancyAnswerSchema, {}));
    },
    watch() {},
  };
  const server = await TestServer.start(
    tenancyDefinition,
    observedHandlers(tenancyDefinition, handlers, anObserver(log, "served", undefined)),
  );
  const client = server.connect(anObserver(log, "called", "00-trace"));
  const call = () =>
    callUnary(client, tenancyDefinition.ask, create(TenancyQuestionSchema, {}), { deadlineMs: 10_000, callee: "it" });
  try {
    await call();
    isBroken = true;
    await expect(call()).rejects.toThrow();
  } finally {
    server.stop();
  }
  const method = "perdure.control.v1.Tenancy/Ask";
  expect(log).toEqual([
    `served ${method} ok from 00-trace`,
    `called ${method} ok from none`,
    `served ${method} INTERNAL from 00-trace`,
    `called ${method} INTERNAL from none`,
  ]);
  expect(observedMethods(tenancyDefinition)).toContain("Ask");
  expect(observedMethods(tenancyDefinition)).not.toContain("Watch");
});
