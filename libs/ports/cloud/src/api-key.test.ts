import { describe, expect, test } from "@jest/globals";
import { systemRandom } from "@perdure/base";
import { apiKeyText, newApiKey, parseApiKey } from "./index.js";

describe("API keys", () => {
  test("have the form of the specification and are read back", () => {
    for (let n = 0; n < 200; n++) {
      const key = newApiKey(systemRandom);
      const text = apiKeyText(key);
      expect(text).toMatch(/^key_[0-9A-Za-z]{23}\.[0-9A-Za-z]{44}$/);
      const parsed = parseApiKey(text);
      expect(parsed?.id).toBe(key.id);
      expect(parsed?.secret.reveal()).toBe(key.secret.reveal());
    }
  });

  test("with one character changed anywhere are rejected", () => {
    const text = apiKeyText(newApiKey(systemRandom));
    for (let at = 0; at < text.length; at++) {
      const other = text[at] === "x" ? "y" : "x";
      expect(parseApiKey(text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
    }
    for (const wrong of ["", "key_", text.slice(0, -1), `${text}0`, ` ${text}`, `${text}\n`, text.toLowerCase()]) {
      if (wrong !== text) expect(parseApiKey(wrong)).toBeUndefined();
    }
  });

  test("do not show their secret", () => {
    const key = newApiKey(systemRandom);
    expect(JSON.stringify(key)).not.toContain(key.secret.reveal());
  });
});
