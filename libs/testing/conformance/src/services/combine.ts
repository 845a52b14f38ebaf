/** Combinators of durable promises in any tree: a test sends the tree, the handler builds it and returns how it settled. */
import { type Context, RestatePromise, service, TerminalError } from "@restatedev/restate-sdk";
import { FOREVER_MS, QUICK_RETRIES } from "./common.js";
import type { EchoService } from "./echo.js";

export type Tree =
  | { readonly kind: "sleep"; readonly ms: number }
  | { readonly kind: "run" | "call" | "awakeable"; readonly value: unknown }
  | { readonly kind: "runFails" | "callFails" | "awakeableFails" | "rejected"; readonly message: string }
  | { readonly kind: "resolved"; readonly value: unknown }
  | { readonly kind: "never" }
  | { readonly kind: "all" | "race" | "any" | "allSettled"; readonly of: readonly Tree[] }
  | { readonly kind: "orTimeout"; readonly of: Tree; readonly ms: number }
  | { readonly kind: "map"; readonly of: Tree };

export type CombinedResult =
  | { readonly value: unknown }
  | { readonly failure: string }
  | { readonly failures: readonly string[] };

export const combineService = (suffix: string, echo: EchoService) => {
  function build(ctx: Context, tree: Tree): RestatePromise<unknown> {
    switch (tree.kind) {
      case "sleep":
        return ctx.sleep(tree.ms).map(() => `slept ${tree.ms}`);
      case "run":
        return ctx.run("value", () => tree.value);
      case "runFails":
        return ctx.run("failure", () => {
          throw new TerminalError(tree.message);
        });
      case "call":
        return ctx.serviceClient(echo).echo(tree.value);
      case "callFails":
        return ctx.serviceClient(echo).fail({ message: tree.message });
      case "awakeable": {
        const { id, promise } = ctx.awakeable<unknown>();
        ctx.resolveAwakeable(id, tree.value);
        return promise;
      }
      case "awakeableFails": {
        const { id, promise } = ctx.awakeable<unknown>();
        ctx.rejectAwakeable(id, tree.message);
        return promise;
      }
      case "resolved":
        return RestatePromise.resolve(tree.value);
      case "rejected":
        return RestatePromise.reject(new TerminalError(tree.message));
      case "never":
        return ctx.awakeable<unknown>().promise;
      case "orTimeout":
        return build(ctx, tree.of).orTimeout(tree.ms);
      case "map":
        return build(ctx, tree.of).map((value, failure) =>
          failure === undefined ? `mapped ${String(value)}` : `mapped ${failure.message}`,
        );
      case "all":
        return RestatePromise.all(tree.of.map((one) => build(ctx, one)));
      case "race":
        return RestatePromise.race(tree.of.map((one) => build(ctx, one)));
      case "any":
        return RestatePromise.any(tree.of.map((one) => build(ctx, one)));
      case "allSettled":
        return RestatePromise.allSettled(tree.of.map((one) => build(ctx, one))).map((results) => (results ?? []).map(textOf));
    }
  }
  return service({
    name: `Combine${suffix}`,
    handlers: {
      settle: async (ctx: Context, tree: Tree): Promise<CombinedResult> => {
        try {
          return { value: await build(ctx, tree) };
        } catch (error) {
          if (error instanceof AggregateError) return { failures: error.errors.map((one: Error) => one.message) };
          if (!(error instanceof TerminalError)) throw error;
          return { failure: error.message };
        }
      },
      /** Awaits the promise that lost a race. */
      loserLater: async (ctx: Context) => {
        const slow = ctx.sleep(60).map(() => "slow");
        const quick = ctx.sleep(10).map(() => "quick");
        return [await RestatePromise.race([slow, quick]), await slow];
      },
      mapOnce: async (ctx: Context) => {
        let mapped = 0;
        const promise = ctx
          .serviceClient(echo)
          .echo(1)
          .map(() => ++mapped);
        await promise;
        await RestatePromise.all([promise, promise]);
        return mapped;
      },
      raceWithLong: async (ctx: Context) =>
        RestatePromise.race([ctx.sleep(FOREVER_MS).map(() => "long"), ctx.run("short", () => "short")]),
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
};

function textOf(result: PromiseSettledResult<unknown>): string {
  return result.status === "fulfilled" ? `ok ${String(result.value)}` : `no ${(result.reason as Error).message}`;
}
