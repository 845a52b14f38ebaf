import { describe, expect, test } from "@jest/globals";
import { Turns } from "./turns.js";

const never = new AbortController().signal;

describe("turns", () => {
  test("come in the order of the requests", async () => {
    const turns = new Turns(1, 8);
    const begun: string[] = [];
    const begin = (name: string, signal = never) => turns.begin(signal).then(() => begun.push(name));
    await begin("a");
    const waiting = [begin("b"), begin("c")];
    expect(begun).toEqual(["a"]);
    turns.end();
    await waiting[0];
    expect(begun).toEqual(["a", "b"]);
    turns.end();
    await waiting[1];
    turns.end();
    await begin("d");
    expect(begun).toEqual(["a", "b", "c", "d"]);
  });

  test("are refused when too many wait", async () => {
    const turns = new Turns(1, 1);
    expect(await turns.begin(never)).toBe(true);
    const waiting = turns.begin(never);
    expect(await turns.begin(never)).toBe(false);
    turns.end();
    expect(await waiting).toBe(true);
  });

  test("skip callers that have disconnected", async () => {
    const turns = new Turns(1, 8);
    await turns.begin(never);
    const impatient = new AbortController();
    const gone = turns.begin(impatient.signal);
    const patient = turns.begin(never);
    impatient.abort(new Error("left"));
    await expect(gone).rejects.toThrow("left");
    turns.end();
    expect(await patient).toBe(true);
    turns.end();
    await expect(turns.begin(impatient.signal)).rejects.toThrow("left");
    expect(await turns.begin(never)).toBe(true);
  });
});
