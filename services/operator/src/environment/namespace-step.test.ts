import { expect, test } from "@jest/globals";
import type { EnvironmentResource } from "@perdure/custom-resources";
import { type KubeObject, KubernetesApiError, type KubernetesClient, type Resource, resources } from "@perdure/kubernetes";
import { environmentWith } from "../../test/an-environment.js";
import { cell, OPERATOR_NAMESPACE } from "../../test/cell.js";
import type { ObjectApplier } from "../applier.js";
import { ADOPT_ANNOTATION } from "../desired/labels.js";
import { ensureNamespace } from "./namespace-step.js";
import { step } from "./outcome.js";
import { noteNameOf, RetainedNotes } from "./retained-notes.js";

const SIGNAL = new AbortController().signal;
const NOTE_UID = "uid-of-the-note";

/** The note of an environment that was here before; an API server compares uids, as it does. */
function aNote(data: Readonly<Record<string, string>>, isReplaced = false) {
  const calls: string[] = [];
  const name = noteNameOf(environmentWith());
  const note = { ...resources.configMaps, metadata: { name, namespace: OPERATOR_NAMESPACE, uid: NOTE_UID }, data };
  const uidNow = isReplaced ? "uid-of-another-note" : NOTE_UID;
  const client = {
    find: async (resource: Resource) => (resource === resources.configMaps ? note : undefined),
    delete: async ({ plural }: Resource, which: string, namespace: string, { uid }: { readonly uid?: string }) => {
      calls.push(`delete ${plural}/${namespace}/${which} ${uid}`);
      if (uid !== undefined && uid !== uidNow)
        throw new KubernetesApiError(
          "delete configmaps",
          409,
          JSON.stringify({ reason: "Conflict", message: "the UID is another" }),
        );
      return true;
    },
  } as unknown as KubernetesClient;
  const applier = {
    apply: async ({ kind }: KubeObject) => calls.push(`apply ${kind}`),
    create: async ({ kind }: KubeObject) => calls.push(`create ${kind}`) > 0,
  } as unknown as ObjectApplier;
  const run = async (environment: EnvironmentResource) => {
    const notes = new RetainedNotes({ get: () => note, onChange: () => {} }, OPERATOR_NAMESPACE);
    const secretCopies = { noteNew: (namespace: string) => void calls.push(`new ${namespace}`) };
    const ports = { client, applier, cell, cached: undefined, notes, secretCopies };
    const { observation } = await step("NamespaceReady", () => ensureNamespace(environment, ports, SIGNAL));
    return observation;
  };
  return { run, calls };
}

const DELETED = `delete configmaps/${OPERATOR_NAMESPACE}/${noteNameOf(environmentWith())} ${NOTE_UID}`;
const adopting = (uid: string) => environmentWith({}, { annotations: { [ADOPT_ANNOTATION]: uid } });
const FURNISHED = ["apply Namespace", "apply RoleBinding"];
const MADE = ["create Namespace", `new ${environmentWith().metadata.name}`, "apply RoleBinding"];

test("a note of retained data is removed on adoption: exactly this one, by its uid, before anything is created", async () => {
  const { run, calls } = aNote({ uid: "before" });
  expect(await run(adopting("before"))).toMatchObject({ status: "True" });
  expect(calls).toEqual([DELETED, ...FURNISHED]);
});

test("a note that was written again since it was read has no consent: it stays, and nothing is created", async () => {
  const { run, calls } = aNote({ uid: "before" }, true);
  expect(await run(adopting("before"))).toMatchObject({ status: "False", reason: "Conflict" });
  expect(calls).toEqual([DELETED]);
});

test.each([
  ["without consent", environmentWith()],
  ["with consent to the data of another environment", adopting("long-before")],
])("it stays when %s", async (_, environment) => {
  const { run, calls } = aNote({ uid: "before" });
  const observation = await run(environment);
  expect(observation).toMatchObject({ status: "False", reason: "RetainedData" });
  expect(observation.message).toContain(`${ADOPT_ANNOTATION}: "before"`);
  expect(calls).toEqual([]);
});

test("beginning from the snapshot that it names is to agree; from another one is not", async () => {
  const begun = (snapshotId: string) =>
    environmentWith({ backup: { restoreFrom: { snapshotId } } } as Partial<EnvironmentResource["spec"]>);
  const right = aNote({ uid: "before", snapshotId: "final-before" });
  expect(await right.run(begun("final-before"))).toMatchObject({ status: "True" });
  expect(right.calls).toEqual([DELETED, ...FURNISHED]);
  const wrong = aNote({ uid: "before", snapshotId: "final-before" });
  expect(await wrong.run(begun("another"))).toMatchObject({ status: "False", reason: "RetainedData" });
  expect(wrong.calls).toEqual([]);
});

test("an environment's own note blocks nothing and stays: the environment was deleted once, and restored before the deletion ended", async () => {
  const { run, calls } = aNote({ uid: "uid-1" });
  expect(await run(environmentWith())).toMatchObject({ status: "True" });
  expect(calls).toEqual(MADE);
});

test("once an environment has data, notes are not read any more", async () => {
  const { run, calls } = aNote({ uid: "before" });
  const environment = { ...environmentWith(), status: { data: { present: true } } } as EnvironmentResource;
  expect(await run(environment)).toMatchObject({ status: "True" });
  expect(calls).toEqual(MADE);
});
