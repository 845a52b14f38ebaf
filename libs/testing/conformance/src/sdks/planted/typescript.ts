/** An endpoint with the planted bugs of sdks/README.md in TypeScript. Environment: PORT, and OUTSIDE, a folder that stands for the world outside. */
import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http2";
import { join } from "node:path";
import { type Context, createEndpointHandler, type ObjectContext, object, service } from "@restatedev/restate-sdk";

const outside = (name: string): string => join(process.env["OUTSIDE"] ?? "", name);

interface Secret {
  readonly password: string;
}

interface Profile {
  readonly apiKey: string;
  readonly plan?: { readonly name: string };
}

interface Contents {
  readonly items: readonly { readonly name: string }[];
  readonly sessionToken: string;
}

const shelf = service({
  name: "Shelf",
  handlers: {
    list: async (_ctx: Context, request: Secret): Promise<Contents> => ({ items: [], sessionToken: request.password }),
  },
});

const planted = object({
  name: "Planted",
  handlers: {
    fill: async (ctx: ObjectContext, profile: Profile) => ctx.set("profile", profile),
    /** Bug: a profile may be without a plan. */
    state: async (ctx: ObjectContext, _request: Secret) => {
      const profile = await ctx.get<Profile>("profile");
      return profile!.plan!.name.toUpperCase();
    },
    /** Bug: a price may have a decimal comma. */
    step: async (ctx: ObjectContext, _request: Secret) => {
      const price = await ctx.run("price", () => readFileSync(outside("price"), "utf8"));
      return Number(BigInt(price));
    },
    /** Bug: a shelf may be empty. */
    call: async (ctx: ObjectContext, request: Secret) => {
      const { items } = await ctx.serviceClient(shelf).list(request);
      return items[0]!.name;
    },
    /** Bug: the flag is read outside of a step. */
    flag: async (ctx: ObjectContext, _request: Secret) => {
      await ctx.run(existsSync(outside("flag")) ? "refuse" : "reserve", () => true);
      throw new Error("the warehouse is closed");
    },
  },
});

createServer(createEndpointHandler({ services: [planted, shelf], logger: () => {} })).listen(
  Number(process.env["PORT"]),
  "127.0.0.1",
);
