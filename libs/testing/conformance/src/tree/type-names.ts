/** Type names that several files define, for the rule that one name has one meaning. */

const TYPE = /^(?:export )?(?:declare )?(?:abstract )?(?:interface|type|class|enum) ([A-Z]\w*)/gm;

/** Names of the types that a source defines at its top level. */
export function typeNamesIn(source: string): readonly string[] {
  return [...source.matchAll(TYPE)].map(([, name]) => name ?? "");
}

export interface SharedTypeNames {
  readonly why: string;
  readonly names: readonly string[];
}

/** Names that two files define. The list may only shrink: a name of another meaning is another name. */
export const SHARED_TYPE_NAMES: readonly SharedTypeNames[] = [
  {
    why: "The same thing in two packages that do not import each other.",
    names: ["AnyRequest", "AnyResponse", "EndpointAnswer", "Sql", "SqlFormat"],
  },
  {
    why: "The same value of an API, as each of its clients reads it; the CLI and the console share no package of their own.",
    names: ["AccountPlan", "EnvironmentDescription", "EnvironmentId", "VerificationFinding"],
  },
  { why: "A JSON Schema, of which each program reads other members.", names: ["JsonSchema"] },
  { why: "The same settings of two local demos.", names: ["ChosenPorts", "PortName"] },
];
