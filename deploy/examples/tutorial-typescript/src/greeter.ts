import { type Context, service } from "@restatedev/restate-sdk";
import { effect } from "./effects.ts";

export const greeter = service({
  name: "Greeter",
  handlers: {
    /** `POST /Greeter/greet` with a name. */
    greet: async (ctx: Context, name: string): Promise<string> => {
      await ctx.run("write the card", () => effect(`write the card for ${name}`));
      await ctx.sleep({ seconds: 5 });
      await ctx.run("send the card", () => effect(`send the card to ${name}`));
      return `Hello ${name}!`;
    },
  },
});
