/** Every text that a client may store is shown to a user. Here all of it is an attack. */
import { handlers, type ObjectContext, object, TerminalError } from "@restatedev/restate-sdk";

/** Each would set `window.pwned` in a page that takes text for something else. */
export const PAYLOADS = [
  `<img src=x onerror="window.pwned=1">`,
  `"><script>window.pwned=1</script>`,
  `'-window.pwned=1-'`,
  `javascript:window.pwned=1`,
  `</script><svg/onload=window.pwned=1>`,
  `{{constructor.constructor('window.pwned=1')()}}`,
  `[x](javascript:window.pwned=1)`,
] as const;

/** All of them, as one text. */
export const HOSTILE = PAYLOADS.join(" ");

/** Returns an error with a stack in the form of user code. */
function stacked(message: string): Error {
  const error = new Error(message);
  error.stack = `Error: ${message}\n    at ${HOSTILE} (${HOSTILE}:1:1)`;
  return error;
}

export const hostile = object({
  name: "Hostile",
  description: HOSTILE,
  metadata: { [PAYLOADS[0]]: HOSTILE, homepage: "javascript:window.pwned=1" },
  handlers: {
    /** Stores its input wherever it can. */
    leave: handlers.object.exclusive(
      { description: HOSTILE, metadata: { link: "javascript:window.pwned=1" } },
      async (ctx: ObjectContext, text: string): Promise<string> => {
        await ctx.run(text, () => text);
        ctx.set(text, { [text]: text });
        ctx.set("plain", text);
        ctx.objectSendClient(hostile, text).wait(text);
        return text;
      },
    ),
    fail: async (_ctx: ObjectContext, text: string): Promise<void> => {
      throw new TerminalError(text, { errorCode: 418, metadata: { [text]: text } });
    },
    /** Fails again and again, with a stack. */
    flail: async (ctx: ObjectContext, text: string): Promise<void> => {
      await ctx.run(text, () => {
        throw stacked(text);
      });
    },
    wait: async (ctx: ObjectContext, text: string): Promise<string> => {
      const { promise } = ctx.awakeable<string>();
      await ctx.sleep(3_600_000, text);
      return promise;
    },
  },
});
