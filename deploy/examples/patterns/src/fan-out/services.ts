/**
 * Fan-out and fan-in: many parts at once, then one result. Every part is an invocation of its own, on whatever endpoint process is free;
 * parts that are done stay done when the caller or a process fails.
 */
import { type Context, RestatePromise, service } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

const Words = z.object({ words: z.number() });

export const pageCounter = service({
  name: "PageCounter",
  handlers: {
    /** Counts one page. */
    count: async (ctx: Context, page: string): Promise<number> => {
      const { words } = await ctx.run("count the words", () => callOutside("pages/count", page, { page }, Words));
      return words;
    },
  },
});

export const bookCounter = service({
  name: "BookCounter",
  handlers: {
    /** Counts all pages. */
    count: async (ctx: Context, pages: readonly string[]): Promise<number> => {
      const counts = await RestatePromise.all(pages.map((page) => ctx.serviceClient(pageCounter).count(page)));
      return counts.reduce((sum, words) => sum + words, 0);
    },
  },
});
