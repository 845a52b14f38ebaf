import { expect, test } from "@jest/globals";
import { aHandler, aService } from "@perdure/admin-client/testing";
import { changesOf, handlersWithOwn, optionsOf, retryText, serviceRetryText, webAddress } from "./service-text.js";

const SERVICE = aService("Orders", [aHandler("place", { journal_retention: "2d" }), aHandler("look")], {
  journal_retention: "1d",
});

test("retries are described by a sentence", () => {
  const policy = {
    initial_interval: "500ms",
    exponentiation_factor: 2,
    max_interval: "1m",
    max_attempts: 70,
    on_max_attempts: "Pause",
  };
  expect(serviceRetryText(policy)).toBe("first retry after 500ms, then ×2, at most 1m, 70 attempts, then paused");
  expect(serviceRetryText({ ...policy, max_attempts: null })).toBe("first retry after 500ms, then ×2, at most 1m, unlimited");
  expect(retryText({ max_attempts: null })).toBe("");
});

test("only what differs is changed, and only what the service has", () => {
  const desired = { public: false, journal_retention: " 1d ", abort_timeout: "5m", workflow_completion_retention: "1h" };
  expect(changesOf(SERVICE, desired)).toEqual({ public: false, abort_timeout: "5m" });
  expect(optionsOf({ ty: "Workflow" })).toHaveLength(5);
});

test("only virtual objects have a time to live of state", () => {
  const hasTtl = (ty: string) => optionsOf({ ty }).some(({ name }) => name === "state_ttl");
  expect(["Service", "VirtualObject", "Workflow"].filter(hasTtl)).toEqual(["VirtualObject"]);
});

test("handlers with options of their own are named", () => {
  expect(handlersWithOwn(SERVICE.handlers, "journal_retention")).toEqual(["place: 2d"]);
});

test.each(["javascript:alert(1)", "data:text/html,x", "/x", "orders", ""])("%j is not a link", (text) =>
  expect(webAddress(text)).toBeUndefined(),
);

test("a web page is a link", () => expect(webAddress("https://example.com/a")).toBe("https://example.com/a"));
