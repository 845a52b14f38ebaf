import { describe, expect, test } from "@jest/globals";
import { tokenize } from "./tokenizer.js";

const texts = (sql: string) => tokenize(sql).map(({ kind, text }) => `${kind}:${text}`);

describe("tokens", () => {
  test("words, names, texts, numbers and symbols are distinguished", () => {
    expect(texts(`SELECT a.b, "Q x", 'it''s', 1.5e3 FROM t;`)).toEqual([
      ...["word:SELECT", "word:a", "symbol:.", "word:b", "symbol:,", 'name:"Q x"', "symbol:,", "text:'it''s'", "symbol:,"],
      ...["number:1.5e3", "word:FROM", "word:t", "symbol:;"],
    ]);
  });

  test("comments of both kinds are skipped, nested ones too", () => {
    expect(texts("a -- b ; c\n d /* e /* ; */ 'f */ g")).toEqual(["word:a", "word:d", "word:g"]);
  });

  test("nothing inside quotes is a token, whatever the quotes", () => {
    expect(texts(`'a;b' E'a\\';b' $$a;'b$$ $x$ ; $$ ; $x$ "a;b" z`)).toEqual([
      ...["text:'a;b'", "text:E'a\\';b'", "text:$$a;'b$$", "text:$x$ ; $$ ; $x$", 'name:"a;b"', "word:z"],
    ]);
  });

  test("what is not closed reaches to the end", () => {
    expect(texts("'abc ; x")).toEqual(["text:'abc ; x"]);
    expect(texts('"abc ; x')).toEqual(['name:"abc ; x']);
    expect(texts("$$abc ; x")).toEqual(["text:$$abc ; x"]);
    expect(texts("a /* ; x")).toEqual(["word:a"]);
  });

  test("a placeholder is not a quote", () => {
    expect(texts("$1 + $2")).toEqual(["symbol:$", "number:1", "symbol:+", "symbol:$", "number:2"]);
  });

  test("positions give back the text", () => {
    const sql = "select  'ü' /* x */ from\tt";
    expect(tokenize(sql).map(({ start, end }) => sql.slice(start, end))).toEqual(["select", "'ü'", "from", "t"]);
  });
});
