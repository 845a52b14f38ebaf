import { expect, test } from "@jest/globals";
import { DEFAULT_API } from "../../cloud/session.js";
import { adviceOn } from "./login.js";

test("who never chose a cloud hears that there is none to log in at, and how to name one", () => {
  expect(adviceOn("unreachable", DEFAULT_API)).toBe("There is no public cloud yet. Set PERDURE_API_URL to the address of yours.");
  expect(adviceOn("unreachable", "https://api.example.com")).toContain("Is the address right?");
  expect(adviceOn("denied", DEFAULT_API)).toBe("Try again: perdure login");
});
