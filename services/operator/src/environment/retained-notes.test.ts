import { expect, test } from "@jest/globals";
import type { MetadataOnly, ObjectCache } from "@perdure/kubernetes";
import { environmentWith } from "../../test/an-environment.js";
import { OPERATOR_NAMESPACE } from "../../test/cell.js";
import { noteNameOf, RetainedNotes } from "./retained-notes.js";

const environment = environmentWith();
const NOTE: MetadataOnly = {
  metadata: { name: noteNameOf(environment), namespace: OPERATOR_NAMESPACE },
};

/** What the operator watches of its namespace, changed by the test. */
function aWatch() {
  const there = new Map<string, MetadataOnly>();
  let notify: Parameters<ObjectCache["onChange"]>[0] = () => {};
  const watched: Pick<ObjectCache, "get" | "onChange"> = {
    get: (name, namespace) => there.get(`${namespace}/${name}`),
    onChange: (listener) => {
      notify = listener;
    },
  };
  const key = `${OPERATOR_NAMESPACE}/${NOTE.metadata.name}`;
  return {
    notes: new RetainedNotes(watched, OPERATOR_NAMESPACE),
    show: () => {
      there.set(key, NOTE);
      notify(NOTE, "changed");
    },
    remove: () => {
      there.delete(key);
      notify(NOTE, "deleted");
    },
  };
}

test("a note may exist when the operator's namespace has one of that name, whatever wrote it", () => {
  const { notes, show, remove } = aWatch();
  expect(notes.mayExist(environment)).toBe(false);
  show();
  expect(notes.mayExist(environment)).toBe(true);
  expect(notes.mayExist(environmentWith({ environmentId: "env_another0000" }, { name: "env-another0000" }))).toBe(false);
  remove();
  expect(notes.mayExist(environment)).toBe(false);
});

test("a note that was just written may exist before the watch shows it, and no longer when it is deleted", () => {
  const { notes, show, remove } = aWatch();
  notes.noteWritten(environment);
  expect(notes.mayExist(environment)).toBe(true);
  show();
  remove();
  expect(notes.mayExist(environment)).toBe(false);
});
