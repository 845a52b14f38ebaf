import { expect, test } from "@jest/globals";
import { ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import { SeededRandom } from "@perdure/testkit";
import { childOf, contextOf, idsOf, newTraceId, traceparentOf } from "./trace-ids.js";

const propagator = new W3CTraceContextPropagator();

test.each([true, false])(
  "the text of a context is the one that the propagator of OpenTelemetry writes (sampled: %s)",
  (sampled) => {
    const random = new SeededRandom(5);
    for (let n = 0; n < 100; n++) {
      const ids = childOf({ traceId: newTraceId(random) }, sampled, random);
      const carrier: Record<string, string> = {};
      const setter = { set: (into: object, key: string, value: string) => void Object.assign(into, { [key]: value }) };
      propagator.inject(contextOf(ids), carrier, setter);
      expect(carrier).toEqual({ traceparent: traceparentOf(ids) });
      expect(idsOf(traceparentOf(ids))).toEqual(ids);
    }
  },
);

const valid = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

test.each([
  valid,
  `${valid.slice(0, -2)}03`,
  `01${valid.slice(2)}-more`,
  `ff${valid.slice(2)}`,
  `${valid}-more`,
  valid.toUpperCase(),
  "00-00000000000000000000000000000000-b7ad6b7169203331-01",
  "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
  "nonsense",
  "",
])("%j is read as the propagator of OpenTelemetry reads it", (traceparent) => {
  const getter = { get: (carrier: Record<string, string>, key: string) => carrier[key], keys: Object.keys };
  const span = trace.getSpanContext(propagator.extract(ROOT_CONTEXT, { traceparent }, getter));
  const ids = idsOf(traceparent);
  expect(ids === undefined ? undefined : [ids.traceId, ids.spanId, ids.sampled]).toEqual(
    span === undefined ? undefined : [span.traceId, span.spanId, (span.traceFlags & 1) === 1],
  );
});
