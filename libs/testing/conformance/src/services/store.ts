/** All operations on the state of a virtual object. */
import { setTimeout as delay } from "node:timers/promises";
import { handlers, type ObjectContext, type ObjectSharedContext, object, serde } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";
import { QUICK_RETRIES } from "./common.js";

const { exclusive, shared } = handlers.object;

export const storeObject = (suffix: string) =>
  object({
    name: `Store${suffix}`,
    handlers: {
      put: async (ctx: ObjectContext, entries: Record<string, unknown>) => {
        for (const [key, value] of Object.entries(entries)) ctx.set(key, value);
      },
      putBytes: async (ctx: ObjectContext, { key, bytes }: { key: string; bytes: number[] }) =>
        ctx.set(key, Uint8Array.from(bytes), serde.binary),
      get: shared(async (ctx: ObjectSharedContext, key: string) => ctx.get(key)),
      getBytes: shared(async (ctx: ObjectSharedContext, key: string) => {
        const bytes = await ctx.get<Uint8Array>(key, serde.binary);
        return bytes === null ? null : [...bytes];
      }),
      keys: shared(async (ctx: ObjectSharedContext) => (await ctx.stateKeys()).sort()),
      clear: async (ctx: ObjectContext, key: string) => ctx.clear(key),
      clearAll: async (ctx: ObjectContext) => {
        const before = (await ctx.stateKeys()).sort();
        ctx.clearAll();
        return { before, after: await ctx.stateKeys() };
      },
      /** Reads only values that the same attempt has written. */
      ownWrites: async (ctx: ObjectContext) => {
        const values: unknown[] = [await ctx.get("own")];
        for (const value of [1, 2]) {
          ctx.set("own", value);
          values.push(await ctx.get("own"));
        }
        ctx.clear("own");
        values.push(await ctx.get("own"));
        ctx.set("own", 3);
        ctx.clearAll();
        values.push(await ctx.get("own"));
        ctx.set("own", 4);
        values.push(await ctx.get("own"), (await ctx.stateKeys()).sort());
        return values;
      },
      /** Reads only values from the journal or from the store in a later attempt. */
      acrossSleeps: async (ctx: ObjectContext) => {
        ctx.set("a", "first");
        ctx.set("gone", true);
        await ctx.sleep(20);
        const a = await ctx.get("a");
        ctx.set("a", "second");
        ctx.clear("gone");
        await ctx.sleep(20);
        return [a, await ctx.get("a"), await ctx.get("gone")];
      },
      lazyGet: shared({ enableLazyState: true }, async (ctx: ObjectSharedContext, key: string) => ctx.get(key)),
      lazyKeys: exclusive({ enableLazyState: true }, async (ctx: ObjectContext) => (await ctx.stateKeys()).sort()),
      lazyMix: exclusive({ enableLazyState: true }, async (ctx: ObjectContext) => {
        const values: unknown[] = [await ctx.get("a"), await ctx.get("missing")];
        ctx.set("a", "changed");
        values.push(await ctx.get("a"));
        await ctx.sleep(20);
        values.push(await ctx.get("b"));
        ctx.clear("b");
        values.push(await ctx.get("b"), (await ctx.stateKeys()).sort());
        ctx.clearAll();
        values.push(await ctx.get("c"), await ctx.stateKeys());
        return values;
      }),
      setThenFail: async (ctx: ObjectContext, name: string) => {
        ctx.set("writes", ((await ctx.get<number>("writes")) ?? 0) + 1);
        await ctx.run("barrier", () => 1);
        if (probe.bump(`setThenFail:${name}`) < 3) throw new Error("transient");
        return ctx.get("writes");
      },
      /** Loses updates unless attempts of one key exclude each other; records how many of its steps ran at one time. */
      slowAdd: async (ctx: ObjectContext, by: number) => {
        const name = `${suffix}:${ctx.key}`;
        const count = (await ctx.get<number>("count")) ?? 0;
        await ctx.run("work", async () => {
          probe.put(`together:${name}`, Math.max(probe.bump(`working:${name}`), probe.get<number>(`together:${name}`) ?? 0));
          await delay(2);
          probe.bump(`working:${name}`, -1);
        });
        ctx.set("count", count + by);
        return count + by;
      },
      append: async (ctx: ObjectContext, item: unknown) => {
        const list = (await ctx.get<unknown[]>("list")) ?? [];
        list.push(item);
        ctx.set("list", list);
        return list;
      },
      key: async (ctx: ObjectContext) => ctx.key,
      sharedKey: shared(async (ctx: ObjectSharedContext) => ctx.key),
      /** Waits for an awakeable and keeps its key locked. */
      hold: async (ctx: ObjectContext) => {
        const { id, promise } = ctx.awakeable<unknown>();
        ctx.set("held", id);
        probe.put(`held:${suffix}:${ctx.key}`, id);
        const value = await promise;
        ctx.clear("held");
        return { value };
      },
    },
    options: { retryPolicy: QUICK_RETRIES },
  });
export type StoreObject = ReturnType<typeof storeObject>;
