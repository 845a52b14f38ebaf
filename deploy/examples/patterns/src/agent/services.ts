/**
 * AI agent: a loop of model and tools with a memory per user. Every answer of the model and every result of a tool is stored, so a crash
 * repeats neither an expensive completion nor an action; a virtual object holds the conversation.
 */
import { type ObjectContext, object } from "@restatedev/restate-sdk";
import { z } from "zod";
import { callOutside } from "#kit/call-outside";

const Message = z.object({ role: z.enum(["user", "assistant", "tool"]), text: z.string() });
type Message = z.infer<typeof Message>;

/** What a model answers: a text for the user, or a tool to call. */
const Completion = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("text"), text: z.string() }),
  z.object({ kind: z.literal("tool"), tool: z.string(), input: z.string() }),
]);

interface Memory {
  readonly [key: string]: unknown;
  readonly messages: readonly Message[];
}

const ROUNDS_MAX = 8;
const MEMORY_MESSAGES_MAX = 100;
const ToolResult = z.object({ result: z.string() });

/** Tools by name; each returns a text for the model. */
const TOOLS: Readonly<Record<string, (key: string, input: string) => Promise<string>>> = {
  weather: async (key, city) => (await callOutside("weather/now", key, { city }, ToolResult)).result,
  book_table: async (key, restaurant) => (await callOutside("tables/book", key, { restaurant }, ToolResult)).result,
};

export const agent = object({
  name: "Agent",
  handlers: {
    /** Answers a message of the user who is the key of the object. */
    chat: async (ctx: ObjectContext<Memory>, text: string): Promise<string> => {
      const messages: Message[] = [...((await ctx.get("messages")) ?? []), { role: "user", text }];
      for (let round = 1; round <= ROUNDS_MAX; round++) {
        const key = ctx.rand.uuidv4();
        const completion = await ctx.run(`model ${round}`, () => callOutside("model/complete", key, { messages }, Completion));
        if (completion.kind === "text") {
          messages.push({ role: "assistant", text: completion.text });
          ctx.set("messages", messages.slice(-MEMORY_MESSAGES_MAX));
          return completion.text;
        }
        const { tool, input } = completion;
        const result = await ctx.run(`tool ${tool}`, async () => {
          const call = TOOLS[tool];
          return call === undefined ? `there is no tool called ${tool}` : await call(key, input);
        });
        messages.push({ role: "tool", text: `${tool}: ${result}` });
      }
      return "I could not finish this. Please try a smaller request.";
    },

    /** Deletes the conversation. */
    clear: async (ctx: ObjectContext<Memory>): Promise<void> => ctx.clear("messages"),
  },
});
