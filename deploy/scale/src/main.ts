/**
 * `make scale`: prints the tables of the model of `docs/operating/scale.md` with numbers of your own. Arguments are `name=value`: an assumption
 * (`commitMs=0.5`), `work=three-steps`, `rate=50000` (the smallest environment that carries it), or a shape whose capacity to calculate
 * (`workers=8 gateways=2 redisNodes=2 databases=1`).
 */
import { ASSUMPTIONS, type Values, valuesOf, WORK, type WorkCost } from "./costs.ts";
import { type Shape, shapeFor } from "./model.ts";
import { stepTable, tablesOf } from "./tables.ts";

const SHAPE = ["workers", "gateways", "redisNodes", "databases"] as const;

interface Question {
  readonly work: WorkCost;
  readonly values: Values;
  readonly rate: number | undefined;
  readonly shape: Partial<Shape>;
}

/** Throws with what can be written instead. */
export function parseQuestion(args: readonly string[]): Question {
  let work: WorkCost = WORK["no-op"];
  let rate: number | undefined;
  const replaced: Record<string, number> = {};
  const shape: Record<string, number> = {};
  for (const arg of args) {
    const [name = "", text = ""] = arg.split("=");
    if (name === "work") {
      const matching = Object.entries(WORK).find(([key]) => key === text);
      if (matching === undefined) throw new Error(`work is ${Object.keys(WORK).join(" or ")}, not '${text}'`);
      [, work] = matching;
      continue;
    }
    const value = Number(text);
    if (text === "" || !(value > 0)) throw new Error(`'${arg}' is not a name and a number above 0, such as commitMs=0.5`);
    if (name === "rate") rate = value;
    else if (SHAPE.some((each) => each === name)) shape[name] = value;
    else if (name in ASSUMPTIONS) replaced[name] = value;
    else throw new Error(`no assumption is called '${name}': ${Object.keys(ASSUMPTIONS).join(", ")}`);
  }
  return { work, rate, shape, values: valuesOf(replaced) };
}

/** The text that answers the arguments. */
export function answerOf({ work, rate, shape, values }: Question): string {
  if (rate !== undefined) {
    const matching = shapeFor(rate, work, values);
    if (matching === undefined)
      return `No environment carries ${rate} invocations a second (${work.name}): divide the load over several.`;
    return stepTable([{ what: `${rate}/s`, ...matching }], work, values);
  }
  if (Object.keys(shape).length > 0) {
    const whole: Shape = { workers: 1, gateways: 1, redisNodes: 1, databases: 1, ...shape };
    return stepTable([{ what: "yours", ...whole }], work, values);
  }
  return Object.values(tablesOf(work, values)).join("\n\n");
}

if (process.argv[1] !== undefined && import.meta.filename === process.argv[1]) {
  try {
    console.log(answerOf(parseQuestion(process.argv.slice(2))));
  } catch (error) {
    console.error(`scale: ${error instanceof Error ? error.message : String(error)}`);
    process.exitCode = 2;
  }
}
