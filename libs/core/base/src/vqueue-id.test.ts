import { describe, expect, test } from "@jest/globals";
import {
  hashString,
  newInvocationId,
  parseVqueueId,
  partitionKeyOf,
  partitionOf,
  systemRandom,
  type VqueueIdentity,
  vqueueId,
} from "./index.js";
import { partitionKeyOfVqueue, partitionOfVqueue } from "./vqueue-id.js";

const scoped = (service: string, scope: string, limitKey?: string): VqueueIdentity => ({
  service,
  scope,
  limitKey,
  lockKey: undefined,
});
const lock = (service: string, lockKey: string): VqueueIdentity => ({ service, scope: undefined, limitKey: undefined, lockKey });

describe("the id of a virtual queue", () => {
  test("has the recorded form", () => {
    const id = vqueueId(scoped("Greeter", "s1", "t1/u1"));
    expect(id).toMatch(/^vq_1[0-9a-zA-Z]{33}$/);
    expect(parseVqueueId(id)).toEqual({ ok: true, value: id });
  });

  test("is the same each time, and never that of another queue", () => {
    const queues = [
      scoped("Greeter", "s1"),
      scoped("Greeter", "s1", "a"),
      scoped("Greeter", "s1", "a/b"),
      scoped("Wf", "s1"),
      scoped("Greeter", "s2"),
      lock("Greeter", "s1"),
      lock("Counter", "a,b"),
      lock("Counter", ""),
    ];
    const ids = queues.map(vqueueId);
    expect(new Set(ids).size).toBe(queues.length);
    expect(queues.map(vqueueId)).toEqual(ids);
  });

  test("begins with the same key as the ids of its invocations, and is in their partition", () => {
    const id = vqueueId(scoped("Greeter", "s1", "t1"));
    const invocation = newInvocationId({ service: "Greeter", key: undefined, handler: "greet", scope: "s1" }, 1, systemRandom);
    expect(id.slice(4, 15)).toBe(invocation.slice(5, 16));
    expect(partitionKeyOfVqueue(id)).toBe(partitionKeyOf(invocation));
    for (const count of [1, 6, 24, 1024]) expect(partitionOfVqueue(id, count)).toBe(partitionOf(invocation, count));
    expect(partitionKeyOfVqueue(vqueueId(lock("Counter", "k")))).toBe(hashString("k"));
  });

  test("reads what the reference server made", () => {
    expect(parseVqueueId("vq_16r7ktWeJrSM2eXQyOpOcM4CfCKetohKwL")).toMatchObject({ ok: true });
  });

  test.each([
    ["vq_1nope", "bad length"],
    ["vq", "bad format"],
    ["vq_", "bad length"],
    ["vq_26r7ktWeJrSM2eXQyOpOcM4CfCKetohKwL", "unrecognized codec version"],
    ["inv_16r7ktWeJrSM6TnJJqE00c1p55gNvNMohO", "id doesn't match the expected type"],
    ["vq_1ZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZZ", "base62 decode error"],
    ["queue_16r7k", "unrecognized resource type: queue"],
  ])("%s is refused: %s", (text, problem) => {
    expect(parseVqueueId(text)).toEqual({ ok: false, problem });
  });
});
