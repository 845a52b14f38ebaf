import { expect, test } from "@jest/globals";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { ADOPT_ANNOTATION } from "./labels.js";
import { endpointsOf, hostOf, runtimeSettings } from "./runtime-config.js";

const instanceIdWith = (spec: object, metadata: object = {}): string | undefined =>
  runtimeSettings(environmentWith(spec, { uid: "uid-of-this-object", ...metadata }), cell)["worker.incarnation"];

test("a new environment has no incarnation, so its workers lead nothing when Redis lost its data", () => {
  expect(instanceIdWith({})).toBeUndefined();
});

test("an environment made again from a snapshot, or annotated to, has the uid of its object as incarnation", () => {
  expect(instanceIdWith({ backup: { restoreFrom: { snapshotId: "snap_1" } } })).toBe("uid-of-this-object");
  expect(instanceIdWith({}, { annotations: { [ADOPT_ANNOTATION]: "uid-of-the-note" } })).toBe("uid-of-this-object");
});

test("clients are given the host at the cloud gateway, or the Service of the environment where there is no gateway", () => {
  const environment = environmentWith({ environmentId: "env_0123456789ab" });
  expect(hostOf(environment, cell)).toBe("0123456789ab.env.eu.example.org");
  expect(endpointsOf(environment, cell)).toEqual({
    ingress: "https://0123456789ab.env.eu.example.org:8080",
    admin: "https://0123456789ab.env.eu.example.org:9070",
  });
  const elsewhere = { ...cell, edge: { scheme: "http", ports: { ingress: 80, admin: 81 } } } as const;
  expect(endpointsOf(environment, elsewhere)).toEqual({
    ingress: "http://0123456789ab.env.eu.example.org:80",
    admin: "http://0123456789ab.env.eu.example.org:81",
  });
  const alone = { ...cell, hasCloudGateway: false };
  expect(hostOf(environment, alone)).toBe("runtime.env-0123456789ab.svc.cluster.local");
  expect(endpointsOf(environment, alone)).toEqual({
    ingress: "http://runtime.env-0123456789ab.svc.cluster.local:8080",
    admin: "http://runtime.env-0123456789ab.svc.cluster.local:9070",
  });
});
