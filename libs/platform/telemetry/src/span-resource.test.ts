import { expect, test } from "@jest/globals";
import { resourceAttributes } from "./span-resource.js";
import { VERSION } from "./version.js";

const facts = { service: "invoker-worker", clusterName: "env_2abc", nodeName: "node1" };

test("a resource names program, environment and this run of the process", () => {
  const one = resourceAttributes({ ...facts, environmentName: "env_2abc" }, {});
  expect(one).toEqual({
    "service.name": "invoker-worker",
    "service.namespace": "env_2abc",
    "service.version": VERSION,
    "service.instance.id": expect.stringMatching(/^[0-9a-f]{8}-[0-9a-f-]{27}$/),
    "perdure.node.name": "node1",
    "perdure.environment.id": "env_2abc",
  });
  const other = resourceAttributes(facts, {});
  expect(other["service.instance.id"]).not.toBe(one["service.instance.id"]);
  expect(other["perdure.environment.id"]).toBe("env_2abc");
  expect(resourceAttributes({ ...facts, clusterName: "localcluster" }, {})).not.toHaveProperty(["perdure.environment.id"]);
});

test("OTEL_RESOURCE_ATTRIBUTES adds to it, does not replace Perdure's attributes, and is left out where it cannot be read", () => {
  const text = "k8s.namespace.name=env-2abc, k8s.pod.name=worker-0,team=a%20b,service.name=other,bad,worse=%zz";
  expect(resourceAttributes(facts, { OTEL_RESOURCE_ATTRIBUTES: text })).toMatchObject({
    "k8s.namespace.name": "env-2abc",
    "k8s.pod.name": "worker-0",
    team: "a b",
    "service.name": "invoker-worker",
  });
  expect(resourceAttributes(facts, { OTEL_RESOURCE_ATTRIBUTES: text })).not.toHaveProperty("worse");
});
