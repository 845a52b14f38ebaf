import { expect, test } from "@jest/globals";
import { creationOf, destinationText, EVENT_TYPES, type EventForm, filterText, problemsOf } from "./event-form.js";

const FORM: EventForm = {
  types: ["invocation.failed"],
  destination: "webhook",
  url: " https://hooks.example.com/x ",
  service: "Alerts",
  handler: "receive",
  ofService: "",
  description: " pager ",
};

test("a form becomes the subscription that it shows", () => {
  expect(creationOf(FORM)).toEqual({
    types: ["invocation.failed"],
    to: { url: "https://hooks.example.com/x" },
    filter: {},
    description: "pager",
  });
  expect(creationOf({ ...FORM, destination: "handler", ofService: "Orders", description: "" })).toEqual({
    types: ["invocation.failed"],
    to: { service: "Alerts", handler: "receive" },
    filter: { service: "Orders" },
  });
});

test("a form without events, or with an address that is not of the web, is not sent", () => {
  expect(problemsOf(FORM)).toEqual({});
  expect(Object.keys(problemsOf({ ...FORM, types: [], url: "javascript:alert(1)" }))).toEqual(["types", "url"]);
  expect(problemsOf({ ...FORM, destination: "handler", url: "" })).toEqual({});
});

test("destinations and filters are texts", () => {
  expect(destinationText({ to: { service: "Alerts", handler: "receive" } })).toBe("Alerts/receive");
  expect(filterText({ filter: { service: "Orders", scope: "acme" } })).toBe("service Orders, scope acme");
  expect(filterText({ filter: {} })).toBeUndefined();
});

test("each event is offered once", () => {
  expect(new Set(EVENT_TYPES.map(({ type }) => type)).size).toBe(8);
});
