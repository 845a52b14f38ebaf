"""AI agent with tools and memory. See ../src/agent/services.ts for the explanation."""

from restate import ObjectContext, VirtualObject

from outside import call_outside

ROUNDS_MAX = 8
MEMORY_MESSAGES_MAX = 100
# Tools by name: the system outside that performs each, and the name of its input.
TOOLS = {"weather": ("weather/now", "city"), "book_table": ("tables/book", "restaurant")}

agent = VirtualObject("Agent")


@agent.handler()
async def chat(ctx: ObjectContext, text: str) -> str:
    """Answers a message of the user who is the key of the object."""
    messages = [*(await ctx.get("messages", type_hint=list) or []), {"role": "user", "text": text}]
    for turn in range(1, ROUNDS_MAX + 1):
        key = str(ctx.uuid())
        body = {"messages": messages}
        completion = await ctx.run_typed(f"model {turn}", call_outside, action="model/complete", key=key, body=body)
        if completion["kind"] == "text":
            messages.append({"role": "assistant", "text": completion["text"]})
            ctx.set("messages", messages[-MEMORY_MESSAGES_MAX:])
            return completion["text"]
        tool = completion["tool"]
        result = await ctx.run_typed(f"tool {tool}", use_tool, tool=tool, key=key, text=completion["input"])
        messages.append({"role": "tool", "text": f"{tool}: {result}"})
    return "I could not finish this. Please try a smaller request."


async def use_tool(tool: str, key: str, text: str) -> str:
    if tool not in TOOLS:
        return f"there is no tool called {tool}"
    action, name = TOOLS[tool]
    return (await call_outside(action, key, {name: text}))["result"]


@agent.handler()
async def clear(ctx: ObjectContext) -> None:
    """Deletes the conversation."""
    ctx.clear("messages")
