import { describe, expect, test } from "@jest/globals";
import { systemClock } from "@perdure/base";
import { Output, showBytes, showCount, showDuration, showTime, showWhen } from "./index.js";

function terminal({ isJson = false, hasColour = false, isTTY = false, columns = 0 } = {}) {
  const said = { out: "", err: "" };
  const stdout = { write: (text: string) => (said.out += text), isTTY: isTTY || columns > 0, columns };
  const stderr = { write: (text: string) => (said.err += text), isTTY };
  return { said, output: new Output({ stdout, stderr, isJson, hasColour, clock: systemClock }) };
}

const COLUMNS = [
  { title: "NAME", show: ({ name }: { name: string; n: number }) => name },
  { title: "N", show: ({ n }: { name: string; n: number }) => String(n), align: "right" as const },
  { title: "X", show: () => undefined },
];

describe("output", () => {
  test("tables line up, and what others wrote breaks no line and moves no cursor", () => {
    const { said, output } = terminal();
    output.table(
      COLUMNS,
      [
        { name: "a\nb\x1b[2Jc", n: 5 },
        { name: "ü", n: 1234 },
      ],
      "none",
    );
    expect(said.out).toBe("NAME        N  X\na b[2Jc     5  –\nü        1234  –\n");
    output.table(COLUMNS, [], "none");
    expect(said.err).toBe("none\n");
  });

  test("a terminal obeys nothing that others wrote", async () => {
    const { said, output } = terminal({ isTTY: true, hasColour: true });
    const hostile = "a\x1b]0;title\x07\x1b[2J\x9b2J\r\x7fb\r\nc";
    const shown = "a]0;title[2J2Jb\nc";
    output.print(hostile);
    output.value(hostile);
    output.facts([["N", hostile]]);
    expect(said.out).toBe(`${shown}\n${shown}\n${output.paint("dim", "N")}  ${shown}\n`);
    output.note(hostile);
    output.warn(hostile);
    expect(said.err).toBe(`${shown}\n${output.paint("yellow", "!")} ${shown}\n`);
    await output.during(hostile, async () => undefined);
    expect(said.err).not.toMatch(/\x07|\x9b|\x7f|\x1b\[2J/);
    expect(said.err).toContain("a]0;title[2J2J b c …");
  });

  test("a program receives values as they are, and JSON has no control characters", () => {
    const { said, output } = terminal();
    output.value("a\x1b[2J\r\nb");
    output.json({ a: "\x1b\x9b\x7f" });
    expect(said.out).toBe('a\x1b[2J\r\nb\n{\n  "a": "\\u001b\\u009b\\u007f"\n}\n');
  });

  test("rows are one line each on a terminal: long cells are cut, ids are not, and colours end", () => {
    const rows = [
      { id: "inv_12345", target: "Greeter/greet", remark: "\x1b[31mno luck at all\x1b[39m" },
      { id: "inv_1", target: "G/g", remark: "" },
    ];
    const columns = [
      { title: "ID", show: ({ id }: (typeof rows)[number]) => id },
      { title: "TARGET", cutTo: 6, show: ({ target }: (typeof rows)[number]) => target },
      { title: "DETAILS", cutTo: 8, show: ({ remark }: (typeof rows)[number]) => remark },
    ];
    const shown = (width: number, wraps = false): readonly string[] => {
      const { said, output } = terminal({ columns: width });
      output.table(columns, rows, "none", { wraps });
      return said.out.split("\n").slice(0, -1);
    };
    expect(shown(80)[1]).toBe("inv_12345  Greeter/greet  \x1b[31mno luck at all\x1b[39m");
    expect(shown(0)[1]).toBe(shown(80)[1]);
    expect(shown(30)).toEqual([
      "ID         TARGET    DETAILS",
      "inv_12345  Greeter…  \x1b[31mno luck …\x1b[39m",
      "inv_1      G/g",
    ]);
    expect(shown(20)).toEqual(
      ["ID         TARGET  …", "inv_12345  Greet…  …", "inv_1      G/g"].map((line) =>
        line.replace("Greet…  …", "Greet…  \x1b[31m…\x1b[39m"),
      ),
    );
    expect(shown(20, true)[1]).toBe("inv_12345  Greet…  \x1b[31mno luck…\x1b[39m");
  });

  test("with --json there is JSON on stdout, and only warnings on stderr", async () => {
    const { said, output } = terminal({ isJson: true, hasColour: true });
    output.note("for users");
    await output.during(
      "working",
      async (progress) => progress.step("on"),
      () => "done",
    );
    output.event({ a: 1 }, () => output.print("a is 1"));
    output.result({ b: 2 }, () => output.print("b is 2"));
    output.warn("careful");
    expect(said).toEqual({ out: '{"a":1}\n{\n  "b": 2\n}\n', err: "! careful\n" });
  });

  test("progress is a line that turns on a terminal, and a line per step elsewhere", async () => {
    const work = async (progress: { step(text: string): void }) => {
      progress.step("half");
      progress.step("half");
    };
    const plain = terminal();
    await plain.output.during("whole", work, () => "done");
    expect(plain.said.err).toBe("whole …\nhalf …\ndone\n");
    const turning = terminal({ isTTY: true, hasColour: true });
    await turning.output.during("whole", work, () => "done");
    expect(turning.said.err).toMatch(/^\r\x1b\[2K.*⠋.* whole …\r\x1b\[2K.*✔.* done\n$/s);
    await expect(turning.output.during("x", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
    expect(turning.said.err.endsWith("\r\x1b[2K")).toBe(true);
  });

  test("facts stand below each other, and those without a value are left out", () => {
    const { said, output } = terminal();
    output.facts([
      ["Name", "a"],
      ["Longer", "b"],
      ["Nothing", undefined],
    ]);
    expect(said.out).toBe("Name    a\nLonger  b\n");
  });

  test("times, sizes and counts are short", () => {
    expect([showTime(0), showTime(undefined)]).toEqual(["1970-01-01 00:00:00 UTC", "–"]);
    expect([0, 250, 1_499, 61_000, 90_061_000].map(showDuration)).toEqual(["0s", "250ms", "1s", "1m 1s", "1d 1h"]);
    expect([showWhen(5_000, 0), showWhen(0, 5_000), showWhen(10, 0)]).toEqual(["in 5s", "5s ago", "now"]);
    expect([0, 1_023, 1_024, 1_572_864].map(showBytes)).toEqual(["0 B", "1023 B", "1.0 KiB", "1.5 MiB"]);
    expect(showCount(1_234_567)).toBe("1,234,567");
  });
});
