import { expect, test } from "@jest/globals";
import { watchEventOf } from "./watch-event.js";

const object = { apiVersion: "v1", kind: "Pod", metadata: { name: "a", namespace: "n", resourceVersion: "7" }, spec: { x: 1 } };

test("events carry the object as the API server sent it", () => {
  for (const type of ["ADDED", "MODIFIED"])
    expect(watchEventOf({ type, object }, "pods")).toEqual({ kind: "put", object, resourceVersion: "7" });
  expect(watchEventOf({ type: "DELETED", object }, "pods")).toEqual({ kind: "deleted", object, resourceVersion: "7" });
});

test("a bookmark and an event of an unknown type only advance the resource version", () => {
  for (const type of ["BOOKMARK", "RENAMED"])
    expect(watchEventOf({ type, object: { metadata: { resourceVersion: "8" } } }, "pods")).toEqual({
      kind: "bookmark",
      resourceVersion: "8",
    });
});

test("an error of the API server keeps its status", () => {
  const status = { kind: "Status", code: 410, reason: "Expired", message: "too old" };
  expect(() => watchEventOf({ type: "ERROR", object: status }, "pods")).toThrow(
    expect.objectContaining({ status: 410, reason: "Expired" }),
  );
  expect(() => watchEventOf({ type: "ERROR" }, "pods")).toThrow(expect.objectContaining({ status: 500 }));
});

test("an event that cannot be read ends the watch, so that the objects are listed again", () => {
  const broken = [
    null,
    1,
    "ADDED",
    [],
    {},
    { type: 1, object },
    { type: "ADDED" },
    { type: "ADDED", object: null },
    { type: "MODIFIED", object: {} },
    { type: "DELETED", object: { metadata: { namespace: "n" } } },
    { type: "ADDED", object: { metadata: { name: 1 } } },
    { type: "ADDED", object: { metadata: { name: "a", namespace: 1 } } },
  ];
  for (const value of broken)
    expect(() => watchEventOf(value, "pods")).toThrow(expect.objectContaining({ name: "ApiError", status: 500 }));
});
