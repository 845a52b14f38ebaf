import { describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { apiKeyText, credentialsOf, newApiKey } from "./index.js";

const ISSUER = "https://api.us.perdure.test";
const KEY = apiKeyText(newApiKey(systemRandom));
const OTHER_KEY = apiKeyText(newApiKey(systemRandom));
const token = (claims: object) => `eyJhbGciOiJFZERTQSJ9.${Buffer.from(JSON.stringify(claims)).toString("base64url")}.c2ln`;
const OURS = token({ iss: ISSUER });
const STRANGE = token({ iss: "https://elsewhere.test" });

const credentialsFrom = (...values: string[]) =>
  credentialsOf(["host", "x", ...values.flatMap((value, i) => [i % 2 === 0 ? "Authorization" : "authorization", value])], ISSUER);

describe("credentials of a request", () => {
  test.each([
    ["a key", [`Bearer ${KEY}`], KEY, []],
    ["a token of ours", [`bearer ${OURS}`], OURS, []],
    ["the scheme in capitals", [`BEARER ${KEY}`], KEY, []],
    ["nothing", [], undefined, []],
    ["a foreign one first", ["Basic dTpw", `Bearer ${KEY}`], KEY, ["Basic dTpw"]],
    ["a foreign one last", [`Bearer ${KEY}`, "Bearer opaque"], KEY, ["Bearer opaque"]],
    ["two of ours: the last decides", [`Bearer ${KEY}`, `Bearer ${OTHER_KEY}`], OTHER_KEY, []],
    ["a key and a token: the last decides", [`Bearer ${KEY}`, `Bearer ${OURS}`], OURS, []],
    ["only a token of another issuer", [`Bearer ${STRANGE}`], undefined, [`Bearer ${STRANGE}`]],
    ["a malformed key is ours, and so decides", [`Bearer ${KEY}`, "Bearer key_short"], "key_short", []],
    ["two spaces", [`Bearer  ${KEY}`], undefined, []],
    ["another scheme around a key", [`Basic ${KEY}`], undefined, []],
    ["two in one line", [`Bearer opaque, Bearer ${KEY}`], undefined, []],
    ["a token of ours in another scheme", [`Token ${OURS}`], undefined, []],
    ["a malformed token", ["Bearer eyJ.@@.x"], undefined, ["Bearer eyJ.@@.x"]],
    ["a token with claims that are not an object", ["Bearer eyJ.bnVsbA.x"], undefined, ["Bearer eyJ.bnVsbA.x"]],
  ])("%s", (_name, values, credential, foreign) => {
    expect(credentialsFrom(...values)).toEqual({ credential, foreign });
  });

  test("other headers and queries are ignored", () => {
    expect(credentialsOf(["cookie", `authorization=Bearer ${KEY}`, "x-authorization", `Bearer ${KEY}`], ISSUER)).toEqual({
      credential: undefined,
      foreign: [],
    });
  });
});
