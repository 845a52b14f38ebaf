/** A process that crashes during an attempt leaves no hole in the trace: the next leader records the interrupted attempt. */
import { afterAll, beforeAll, expect, test } from "@jest/globals";
import { type Context, service } from "@restatedev/restate-sdk";
import { eventually, SdkEndpoint, Server, TestAdminClient, TestIngressClient } from "../../src/index.js";
import { Collector, type Span } from "./collector.js";

const START_MS = 120_000;
const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

let begun = 0;
const party = service({
  name: "Party",
  handlers: {
    wait: async (_ctx: Context) => {
      begun++;
      if (begun === 1) await new Promise(() => undefined);
      return "over";
    },
  },
});

const close = new AsyncDisposableStack();
let collector: Collector;
let endpoint: SdkEndpoint;
let server: Server;
beforeAll(async () => {
  collector = close.use(await Collector.start());
  endpoint = close.use(await SdkEndpoint.start({ services: [party] }));
  server = close.use(await Server.start({ settings: { "tracing-endpoint": collector.url } }));
}, START_MS);
afterAll(() => close.disposeAsync(), START_MS);

test(
  "an attempt that died with its process has a span from the run's start to the take-over, beside the attempt that follows",
  async () => {
    using admin = new TestAdminClient(server.adminUrl);
    await admin.register({ uri: endpoint.url });
    using caller = new TestIngressClient(server.ingressUrl);
    const headers = { traceparent: `00-${TRACE}-${CALLER}-01`, "idempotency-key": "one" };
    await caller.call(["Party", "wait", "send"], null, { headers });
    await eventually("the handler runs", async () => begun === 1);
    // Spans are sent in batches: earlier spans must be at the collector when the process crashes.
    await eventually("the start is recorded", async () => named("invocation-start Party/wait").length === 1);
    await server.kill();
    await server.startAgain();
    await eventually("the attempts are recorded", async () => named("invocation-attempt Party/wait").length === 2);

    const [start] = named("invocation-start Party/wait");
    const attempts = named("invocation-attempt Party/wait");
    expect(attempts.map(({ attributes, parentSpanId }) => [attributes["perdure.attempt.result"], parentSpanId])).toEqual([
      ["lost", start?.spanId],
      ["ended", start?.spanId],
    ]);
    const [lost, next] = attempts as [Span, Span];
    expect(lost.attributes["error.type"]).toBe("lost");
    expect(lost.startNanos - (start as Span).startNanos < 1_000_000_000n).toBe(true);
    expect(lost.endNanos > lost.startNanos).toBe(true);
    expect(next.startNanos + 1_000_000n >= lost.endNanos).toBe(true);
  },
  START_MS,
);

function named(name: string): readonly Span[] {
  return collector.spans
    .filter((span) => span.traceId === TRACE && span.name === name)
    .toSorted((a, b) => Number(a.startNanos - b.startNanos));
}
