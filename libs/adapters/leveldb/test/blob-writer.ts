/** A process that stops at a given point, so that it can be killed there: `blob-writer.ts <database> <where> <commit log>`. */
import { utf8 } from "@perdure/base";
import { COMMIT_LOG_DEFAULT } from "../src/commit-log/level-commits.js";
import { openLevelKeyValue } from "../src/level-key-value.js";
import { say } from "./say.js";

const [database, where, commitLog] = process.argv.slice(2) as [string, string, "true" | "false"];
const payload = (n: number): Uint8Array => new Uint8Array(600_000 + n).fill(n);

const kv = await openLevelKeyValue(database, { ...COMMIT_LOG_DEFAULT, enabled: commitLog === "true" });
switch (where) {
  case "between file and batch":
    await kv.staging.stage(payload(2));
    break;
  case "between batch and removal": {
    // A scan holds the files; the rows that refer to them are deleted.
    const scan = kv.scan("", "z")[Symbol.asyncIterator]();
    await scan.next();
    await kv.write(new Map([["a", utf8("small")]]));
    break;
  }
  case "anywhere":
    for (let n = 0; ; n++) {
      const value = payload(n % 200);
      const staged = n % 3 === 0 ? await kv.staging.stage(value) : undefined;
      await kv.write(
        new Map<string, Uint8Array | null>([
          [`k${n % 5}`, value],
          [`n`, utf8(`${n}`)],
          [`k${(n + 2) % 5}`, null],
        ]),
      );
      staged?.[Symbol.dispose]();
      say(`written ${n}`);
    }
  default:
    throw new Error(`nowhere: ${where}`);
}
say("there");
setInterval(() => undefined, 1000);
