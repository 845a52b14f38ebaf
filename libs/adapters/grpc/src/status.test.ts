import { Metadata } from "@grpc/grpc-js";
import { expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import { answeredError, statusOf } from "./status.js";

test.each([
  ["an error of the catalogue", new PerdureError("TEN0001", "tenancy is away")],
  ["a refusal with a code", new RegistryRefusal(400, "META0100", "no such handler")],
  ["a refusal without one", new RegistryRefusal(409, undefined, "another version")],
])("%s is the same on the other side", (_name, error) => {
  const answered = answeredError(statusOf(error));
  expect(answered).toBeInstanceOf(error.constructor);
  expect({ ...answered, message: answered?.message }).toEqual({ ...error, message: error.message });
});

test("details that are absent, or cannot be read, are not an error of the catalogue", () => {
  const metadata = new Metadata();
  expect(answeredError({ metadata })).toBeUndefined();
  for (const bytes of [[0xff], [0x1a, 0x05, 1], [0x1a, 0x02, 0x12, 0x00]]) {
    metadata.set("grpc-status-details-bin", Buffer.from(bytes));
    expect(answeredError({ metadata })).toBeUndefined();
  }
});
