/** Why: an OTLP/HTTP collector of the test's own, that keeps the spans it is sent. */
import { createServer } from "node:http";
import { TestListener } from "../../src/index.js";

export interface Span {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** OpenTelemetry's number: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** 2: an error. */
  readonly status: number;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly service: unknown;
  readonly resource: Readonly<Record<string, unknown>>;
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
}

interface KeyValue {
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly name: string;
        readonly kind: number;
        readonly status?: { readonly code?: number };
        readonly startTimeUnixNano: string;
        readonly endTimeUnixNano: string;
        readonly attributes: readonly KeyValue[];
        readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
      }[];
    }[];
  }[];
}

export class Collector implements AsyncDisposable {
  readonly spans: Span[] = [];
  readonly #listener: TestListener;

  private constructor(listener: TestListener, spans: Span[]) {
    this.#listener = listener;
    this.spans = spans;
  }

  static async start(): Promise<Collector> {
    const spans: Span[] = [];
    const server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        spans.push(...spansOf(JSON.parse(Buffer.concat(chunks).toString()) as Exported));
        response.setHeader("content-type", "application/json").end("{}");
      });
    });
    return new Collector(await TestListener.open(server, 0), spans);
  }

  get url(): string {
    return `http://127.0.0.1:${this.#listener.port}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listener.close();
  }
}

function spansOf({ resourceSpans }: Exported): Span[] {
  return resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap((scope) =>
      scope.spans.map((span) => ({
        traceId: span.traceId,
        spanId: span.spanId,
        parentSpanId: span.parentSpanId === "" ? undefined : span.parentSpanId,
        name: span.name,
        kind: span.kind,
        status: span.status?.code ?? 0,
        startNanos: BigInt(span.startTimeUnixNano),
        endNanos: BigInt(span.endTimeUnixNano),
        attributes: recordOf(span.attributes),
        service: recordOf(resource.attributes)["service.name"],
        resource: recordOf(resource.attributes),
        links: (span.links ?? []).map(({ traceId, spanId }) => ({ traceId, spanId })),
      })),
    ),
  );
}

function recordOf(list: readonly KeyValue[]): Record<string, unknown> {
  return Object.fromEntries(list.map(({ key, value }) => [key, Object.values(value)[0]]));
}
