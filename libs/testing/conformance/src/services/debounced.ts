/** Handlers that record the inputs that they run with. */
import { type Context, type ObjectContext, object, service } from "@restatedev/restate-sdk";
import { probe } from "../probe.js";

/** List in the probe of the inputs that ran under a key. */
export const ranWith = (key: string) => `ranWith:${key}`;

function record(key: string, input: number): number {
  probe.push(ranWith(key), input);
  return input;
}

export const indexObject = object({
  name: "Index",
  handlers: { rebuild: (ctx: ObjectContext, input: number) => ctx.run("record", () => record(ctx.key, input)) },
});

interface Digest {
  readonly key: string;
  readonly input: number;
}

export const digestService = service({
  name: "Digest",
  handlers: { write: (ctx: Context, { key, input }: Digest) => ctx.run("record", () => record(key, input)) },
});
