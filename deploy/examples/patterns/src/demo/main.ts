/**
 * `make example NAME=saga`: runs the demo of a pattern; `SDK=python` with services in another language. Without a name it lists the patterns. Exit code 1 when the outcome is not the
 * expected one, 2 for an unknown name.
 */
import { styleText } from "node:util";
import { endpointIn, LANGUAGES } from "#kit/languages";
import { Stage, type StageOutput } from "#kit/stage";
import { openBroker } from "#patterns/demo/broker";
import { PATTERNS } from "#patterns/patterns";

const [name = "", language = "typescript"] = process.argv.slice(2);
const pattern = PATTERNS.find((one) => one.name === name);
if (pattern === undefined) {
  if (name !== "") console.error(`no pattern is called '${name}'`);
  console.log("make example NAME=…");
  for (const { name, summary } of PATTERNS) console.log(`  ${name.padEnd(14)} ${summary}`);
  process.exit(name === "" ? 0 : 2);
}
const other = LANGUAGES.find((one) => one === language);
if (language !== "typescript" && (other === undefined || pattern.isInEveryLanguage !== true)) {
  const inOthers = PATTERNS.filter(({ isInEveryLanguage }) => isInEveryLanguage === true).map(({ name }) => name);
  console.error(`${name} does not exist in '${language}'. In ${LANGUAGES.join(", ")} there are: ${inOthers.join(", ")}`);
  process.exit(2);
}

const marked = (style: "green" | "red" | "yellow" | "gray", mark: string, text: string): void =>
  console.log(`  ${styleText(style, mark)} ${text}`);

let failures = 0;
console.log(`\n${styleText("bold", pattern.name)}: ${pattern.summary}\n`);
const broker = pattern.needs === "kafka" ? await openBroker() : undefined;
const output: StageOutput = {
  said: (text) => marked("gray", "·", text),
  crashed: (text) => marked("yellow", "✗", text),
  checked: ({ text, isTrue }) => {
    if (!isTrue) failures++;
    marked(isTrue ? "green" : "red", isTrue ? "✓" : "✗", isTrue ? text : `not true: ${text}`);
  },
};
const stage = await Stage.start(output, {
  ...(broker === undefined ? {} : { kafkaBrokers: broker.brokers }),
  ...(other === undefined ? {} : { endpoint: await endpointIn(other) }),
});
const interrupted = new Promise<void>((resolve) => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, resolve);
});
try {
  await Promise.race([pattern.demo(stage), interrupted]);
} catch (cause) {
  failures++;
  marked("red", "✗", cause instanceof Error ? cause.message : String(cause));
}
await stage[Symbol.asyncDispose]();
await broker?.[Symbol.asyncDispose]();
console.log(`\n  The code: deploy/examples/patterns/${other ?? `src/${pattern.name}/services.ts`}\n`);
process.exit(failures === 0 ? 0 : 1); // An interrupted demo may still have open requests.
