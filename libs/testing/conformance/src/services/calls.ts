/** Services that call services: with and without waiting, delayed, with idempotency keys, by name, in chains and in large numbers. */
import { type Context, InvocationIdParser, RestatePromise, rpc, serde, service, TerminalError } from "@restatedev/restate-sdk";
import { FOREVER_MS, QUICK_RETRIES, type Terminal } from "./common.js";
import { type EchoService, throwTerminal } from "./echo.js";
import type { StoreObject } from "./store.js";

interface SendRequest {
  readonly key: string;
  readonly item: unknown;
  readonly delay?: number;
  readonly idempotencyKey?: string;
}

interface Chain {
  chain(ctx: Context, depth: number): Promise<number>;
  chainOfFailure(ctx: Context, request: { depth: number; terminal: Terminal }): Promise<never>;
}

export const callsService = (suffix: string, echo: EchoService, store: StoreObject) => {
  const self = { name: `Calls${suffix}` };
  return service({
    name: self.name,
    handlers: {
      ...callsOfEcho(echo),
      ...callsOfStore(store),
      ...callsOfItself(self),
      ...callsByName(suffix),
      ...cancelledCalls(echo, store),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
};

const callsOfEcho = (echo: EchoService) => ({
  echo: async (ctx: Context, value: unknown) => ctx.serviceClient(echo).echo(value),
  nothing: async (ctx: Context) => (await ctx.serviceClient(echo).nothing()) ?? "nothing",
  bytes: async (ctx: Context, bytes: number[]) => [
    ...(await ctx.serviceClient(echo).bytes(Uint8Array.from(bytes), rpc.opts({ input: serde.binary, output: serde.binary }))),
  ],
  crowd: async (ctx: Context, count: number) => {
    const calls = Array.from({ length: count }, (_, i) => ctx.serviceClient(echo).echo(i));
    return (await RestatePromise.all(calls)).reduce<number>((sum, value) => sum + Number(value), 0);
  },
  attachTo: async (ctx: Context, id: string) => ctx.invocation(InvocationIdParser.fromString(id)).attach(),
  idOfCall: async (ctx: Context) => {
    const call = ctx.serviceClient(echo).describe("who");
    const id = String(await call.invocationId);
    return { id, described: (await call).id };
  },
  headers: async (ctx: Context) =>
    ctx.serviceClient(echo).headers(rpc.opts({ headers: { "x-hop": "one", "x-words": "two words" } })),
  caught: async (ctx: Context, terminal: Terminal) => {
    try {
      return await ctx.serviceClient(echo).fail(terminal);
    } catch (error) {
      if (!(error instanceof TerminalError)) throw error;
      return { code: error.code, message: error.message, metadata: error.metadata ?? {} };
    }
  },
});

const callsOfStore = (store: StoreObject) => ({
  /** Sends and calls to one key, which arrive in the order in which they were made. */
  order: async (ctx: Context, { key, waits }: { key: string; waits: boolean[] }) => {
    const calls: PromiseLike<unknown>[] = [];
    for (const [i, wait] of waits.entries()) {
      if (wait) calls.push(ctx.objectClient(store, key).append(i));
      else ctx.objectSendClient(store, key).append(i);
    }
    for (const call of calls) await call;
    return ctx.objectClient(store, key).append("end");
  },
  send: async (ctx: Context, { key, item, delay, idempotencyKey }: SendRequest) => {
    const options = rpc.sendOpts<unknown>({
      ...(delay === undefined ? {} : { delay }),
      ...(idempotencyKey === undefined ? {} : { idempotencyKey }),
    });
    return ctx.objectSendClient(store, key).append(item, options).invocationId;
  },
  twice: async (ctx: Context, { key, item, idempotencyKey }: SendRequest) => {
    const options = () => rpc.opts<unknown, unknown[]>(idempotencyKey === undefined ? {} : { idempotencyKey });
    const first = await ctx.objectClient(store, key).append(item, options());
    return [first, await ctx.objectClient(store, key).append(item, options())];
  },
  attach: async (ctx: Context, { key, item, idempotencyKey }: SendRequest) => {
    const sent = ctx
      .objectSendClient(store, key)
      .append(item, rpc.sendOpts(idempotencyKey === undefined ? {} : { idempotencyKey }));
    return ctx.attach(await sent.invocationId);
  },
});

const callsOfItself = (self: { readonly name: string }) => ({
  chain: async (ctx: Context, depth: number): Promise<number> =>
    depth === 0 ? 0 : 1 + (await ctx.serviceClient<Chain>(self).chain(depth - 1)),
  chainOfFailure: async (ctx: Context, request: { depth: number; terminal: Terminal }): Promise<never> =>
    request.depth === 0
      ? throwTerminal(request.terminal)
      : ctx.serviceClient<Chain>(self).chainOfFailure({ ...request, depth: request.depth - 1 }),
});

const callsByName = (suffix: string) => ({
  generic: async (
    ctx: Context,
    { service: name, method, bytes, key }: { service: string; method: string; bytes: number[]; key?: string },
  ) => [
    ...(await ctx.genericCall({
      service: name,
      method,
      parameter: Uint8Array.from(bytes),
      inputSerde: serde.binary,
      outputSerde: serde.binary,
      ...(key === undefined ? {} : { key }),
    })),
  ],
  genericSend: async (ctx: Context, { key, item, delay }: SendRequest) =>
    ctx.genericSend({
      service: `Store${suffix}`,
      method: "append",
      key,
      parameter: new TextEncoder().encode(JSON.stringify(item)),
      inputSerde: serde.binary,
      ...(delay === undefined ? {} : { delay }),
    }).invocationId,
});

const cancelledCalls = (echo: EchoService, store: StoreObject) => ({
  cancelScheduled: async (ctx: Context, { key, item }: SendRequest) => {
    const sent = ctx.objectSendClient(store, key).append(item, rpc.sendOpts({ delay: FOREVER_MS }));
    const id = await sent.invocationId;
    ctx.cancel(id);
    return id;
  },
  cancelCall: async (ctx: Context) => {
    const call = ctx.serviceClient(echo).sleep(FOREVER_MS);
    ctx.cancel(await call.invocationId);
    try {
      return await call;
    } catch (error) {
      if (!(error instanceof TerminalError)) throw error;
      return { code: error.code };
    }
  },
});
