/** The planted bugs as data: the same four in every language, and the error that each language makes of them. */

export type PlantedLanguage = "typescript" | "python" | "go" | "java" | "rust";

export interface PlantedBug {
  readonly title: string;
  /** Handler of the object `Planted` of every endpoint (sdks/README.md). */
  readonly handler: "state" | "step" | "call" | "flag";
  /** How the replay ends, and the exit code of the command line. */
  readonly end: { readonly kind: "failed"; readonly exitCode: 3 } | { readonly kind: "mismatch"; readonly exitCode: 4 };
  /** The last failure of the invocation, which is also how the replay ends. */
  readonly errors: Readonly<Record<PlantedLanguage, PlantedError>>;
}

interface PlantedError {
  readonly code: string;
  readonly message: RegExp;
  /** Options of `perdure replay`. */
  readonly flags?: readonly string[];
}

const raised = (message: RegExp): PlantedError => ({ code: "RT0007", message });
/** A panic ends the task of the request, and its message is in the output of the endpoint only. */
const PANICS_IN_RUST: PlantedError = { code: "RT0010", message: /^the endpoint reset the stream: CANCEL$/ };
/** The reset also discards what the attempt has sent last: the journal ends in front of the read of the state. */
const PANICS_UNSTORED: PlantedError = { ...PANICS_IN_RUST, flags: ["--run-steps"] };
/** The code does another step than the journal has. */
const REFUSES: PlantedError = { code: "RT0016", message: /refuse/ };

const FAILED = { kind: "failed", exitCode: 3 } as const;
const MISMATCH = { kind: "mismatch", exitCode: 4 } as const;

const PLANTED_BUGS: readonly PlantedBug[] = [
  {
    title: "a planted bug that depends on a state value",
    handler: "state",
    end: FAILED,
    errors: {
      typescript: raised(/Cannot read properties of undefined \(reading 'name'\)/),
      python: raised(/'plan'/),
      go: raised(/nil pointer dereference/),
      java: raised(/Cannot invoke .*name\(\).* is null/),
      rust: PANICS_UNSTORED,
    },
  },
  {
    title: "a planted bug that depends on the result of a step",
    handler: "step",
    end: FAILED,
    errors: {
      typescript: raised(/Cannot convert 12,50 to a BigInt/),
      python: raised(/invalid literal for int\(\) with base 10: '12,50'/),
      go: raised(/parsing "12,50": invalid syntax/),
      java: raised(/For input string: "12,50"/),
      rust: raised(/InvalidDigit|invalid digit/),
    },
  },
  {
    title: "a planted bug that depends on the response of a call",
    handler: "call",
    end: FAILED,
    errors: {
      typescript: raised(/Cannot read properties of undefined \(reading 'name'\)/),
      python: raised(/list index out of range/),
      go: raised(/index out of range \[0\] with length 0/),
      java: raised(/Index 0 out of bounds for length 0/),
      rust: PANICS_IN_RUST,
    },
  },
  {
    title: "a planted bug in the order of steps",
    handler: "flag",
    end: MISMATCH,
    errors: { typescript: REFUSES, python: REFUSES, go: REFUSES, java: REFUSES, rust: REFUSES },
  },
];

/** Bugs with titles that contain all of these. */
export function selectedBugs(filters: readonly string[]): readonly PlantedBug[] {
  return PLANTED_BUGS.filter(({ title }) => filters.every((filter) => title.includes(filter)));
}
