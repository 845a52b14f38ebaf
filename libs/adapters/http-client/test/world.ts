/** The invoker on the real transport, with a partition in memory. */
import { silentLogger, systemClock, systemRandom } from "@perdure/base";
import { createInvoker, type Invoker, type InvokerDeps, type InvokerOptions } from "@perdure/invoker";
import { aRegistry, type FakeInvocation, FakePartition, type TestDeployment } from "@perdure/invoker/testing";
import { createHttpTransport } from "../src/index.js";

export interface World extends AsyncDisposable {
  readonly partition: FakePartition;
  readonly invoker: Invoker;
}

export function aWorld(
  uri: string,
  deployment: Partial<TestDeployment> & Pick<TestDeployment, "services">,
  { http = 2, deps = {}, options = {} }: { http?: 1 | 2; deps?: Partial<InvokerDeps>; options?: Partial<InvokerOptions> } = {},
): World {
  const partition = new FakePartition({ clock: systemClock });
  const transport = createHttpTransport({ clock: systemClock, random: systemRandom });
  const invoker = createInvoker(
    {
      host: partition,
      registry: aRegistry({ address: { kind: "http", uri, httpVersion: http === 2 ? "HTTP/2.0" : "HTTP/1.1" }, ...deployment }),
      transports: { http: transport },
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      ...deps,
    },
    options,
  );
  partition.attach(invoker);
  return {
    partition,
    invoker,
    async [Symbol.asyncDispose]() {
      await invoker[Symbol.asyncDispose]();
      await transport[Symbol.asyncDispose]();
    },
  };
}

export function json(value: unknown): Uint8Array {
  return Buffer.from(JSON.stringify(value));
}

/** The JSON value an invocation ended with; a failure as its text. */
export async function resultOf(world: World, { facts }: FakeInvocation): Promise<unknown> {
  const result = await world.partition.result(facts.id);
  return result.kind === "value"
    ? JSON.parse(Buffer.from(result.value).toString())
    : `${result.failure.code} ${result.failure.message}`;
}
