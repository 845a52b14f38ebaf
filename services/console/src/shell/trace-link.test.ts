import { expect, test } from "@jest/globals";
import { traceLink } from "./trace-link.js";

const ID = "4bf92f3577b34da6a3ce929d0e0e4736";

test.each([
  ["https://jaeger.example/trace/{traceId}", ID, `https://jaeger.example/trace/${ID}`],
  ["http://localhost:16686/trace/{traceId}?uiFind={traceId}", ID, `http://localhost:16686/trace/${ID}?uiFind=${ID}`],
  [undefined, ID, undefined],
  ["javascript:alert('{traceId}')", ID, undefined],
  ["not an address {traceId}", ID, undefined],
  ["https://jaeger.example/trace/{traceId}", "../x", undefined],
])("%s leads to the trace %s at %s", (template, id, link) => expect(traceLink(template, id)).toBe(link));
