/** A process that writes small batches without end, so that it can be killed: `commit-writer.ts <database> <first number>`. */
import { utf8 } from "@perdure/base";
import { openLevelKeyValue } from "../src/level-key-value.js";
import { say } from "./say.js";

const [database, first] = process.argv.slice(2) as [string, string];
const kv = await openLevelKeyValue(database, { enabled: true, segmentBytesMax: 256 * 1024 });
for (let n = Number(first); ; n++) {
  const value = utf8(`${n} ${"x".repeat((n * 37) % 3_000)}`);
  await kv.write(
    new Map<string, Uint8Array | null>([
      ["n", utf8(`${n}`)],
      [`a${n % 50}`, value],
      [`b${n % 50}`, value],
      [`a${(n + 25) % 50}`, null],
    ]),
  );
  say(`${n}`);
}
