import { expect, test } from "@jest/globals";
import { environmentWith } from "../../test/an-environment.js";
import { cell } from "../../test/cell.js";
import { ADOPT_ANNOTATION } from "./labels.js";
import { runtimeSettings } from "./runtime-config.js";

const instanceIdWith = (spec: object, metadata: object = {}): string | undefined =>
  runtimeSettings(environmentWith(spec, { uid: "uid-of-this-object", ...metadata }), cell)["worker.incarnation"];

test("a new environment has no incarnation, so its workers lead nothing when Redis lost its data", () => {
  expect(instanceIdWith({})).toBeUndefined();
});

test("an environment made again from a snapshot, or annotated to, has the uid of its object as incarnation", () => {
  expect(instanceIdWith({ backup: { restoreFrom: { snapshotId: "snap_1" } } })).toBe("uid-of-this-object");
  expect(instanceIdWith({}, { annotations: { [ADOPT_ANNOTATION]: "uid-of-the-note" } })).toBe("uid-of-this-object");
});
