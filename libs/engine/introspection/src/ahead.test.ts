import { expect, test } from "@jest/globals";
import { readAhead } from "./ahead.js";

/** A range that notes what happens to it. */
async function* range(name: string, pages: readonly string[], happened: string[] = []): AsyncIterable<string> {
  happened.push(`begin ${name}`);
  try {
    for (const page of pages) {
      if (page === "broken") throw new Error(`${name} is broken`);
      yield page;
    }
  } finally {
    happened.push(`end ${name}`);
  }
}

async function all(pages: AsyncIterable<string>): Promise<string[]> {
  const received: string[] = [];
  for await (const page of pages) received.push(page);
  return received;
}

test("pages come in their order, also those of empty ranges and of none", async () => {
  expect(await all(readAhead([range("a", ["1", "2"]), range("b", []), range("c", ["3"])], 1))).toEqual(["1", "2", "3"]);
  expect(await all(readAhead<string>([], 1))).toEqual([]);
});

test("a range is begun while the one before it is read, and none before that", async () => {
  const happened: string[] = [];
  const pages = readAhead(
    ["a", "b", "c"].map((name) => range(name, [`${name}1`], happened)),
    1,
  );
  for await (const page of pages) happened.push(page);
  expect(happened).toEqual(["begin a", "begin b", "a1", "end a", "begin c", "b1", "end b", "c1", "end c"]);
});

test("a caller that stops early ends the started ranges, and no further range is started", async () => {
  const happened: string[] = [];
  for await (const _ of readAhead(
    ["a", "b", "c"].map((name) => range(name, ["1", "2"], happened)),
    1,
  ))
    break;
  expect(happened).toEqual(["begin a", "begin b", "end a", "end b"]);
});

test("a failed range is reported in its turn, after the pages before it", async () => {
  const happened: string[] = [];
  const pages = readAhead([range("a", ["1", "2"], happened), range("b", ["broken"], happened), range("c", [], happened)], 1);
  const received: string[] = [];
  await expect(
    (async () => {
      for await (const page of pages) received.push(page);
    })(),
  ).rejects.toThrow("b is broken");
  expect(received).toEqual(["1", "2"]);
  expect(new Set(happened)).toEqual(new Set(["begin a", "begin b", "begin c", "end a", "end b", "end c"]));
});
