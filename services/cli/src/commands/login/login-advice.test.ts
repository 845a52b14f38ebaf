import { expect, test } from "@jest/globals";
import { DEFAULT_API } from "../../cloud/session.js";
import { adviceOn } from "./login-advice.js";

test("without a chosen cloud the advice says that there is none by default, and how to set one", () => {
  expect(adviceOn("unreachable", DEFAULT_API)).toBe("There is no public cloud yet. Set PERDURE_API_URL to the address of yours.");
  expect(adviceOn("unreachable", "https://api.example.com")).toContain("Is the address right?");
  expect(adviceOn("denied", DEFAULT_API)).toBe("Try again: perdure login");
});
