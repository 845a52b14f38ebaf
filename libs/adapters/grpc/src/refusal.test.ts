import { expect, test } from "@jest/globals";
import { PerdureError } from "@perdure/base";
import { RegistryRefusal } from "@perdure/metadata";
import { errorOf, refusalOf } from "./refusal.js";

test("a refusal and an error arrive as they were", () => {
  for (const error of [
    new RegistryRefusal(409, "META0004", "it is there already"),
    new RegistryRefusal(404, undefined, "there is none"),
    new PerdureError("META0003", "no answer"),
  ]) {
    const sent = refusalOf(error);
    if (sent === undefined) throw new Error("an error of the catalogue is sent");
    const arrived = errorOf({ code: undefined, ...sent });
    expect(arrived).toBeInstanceOf(error.constructor);
    expect([arrived.message, arrived.code]).toEqual([error.message, error.code]);
  }
});

test.each([
  { status: 0, code: "META9999" },
  { status: 0, code: undefined },
  { status: 409, code: "META9999" },
  { status: 418, code: undefined },
])("an error of %j is none of this version, and its text is kept", ({ status, code }) => {
  expect(errorOf({ status, code, detail: "too many teapots" })).toMatchObject({
    code: "OPS0003",
    detail: expect.stringContaining("too many teapots"),
  });
});
