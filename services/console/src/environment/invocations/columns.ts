/** The columns that the user chose for the list, stored in this browser. */

export interface InvocationListColumn {
  readonly name: string;
  readonly label: string;
  /** Width as a track of a CSS grid. */
  readonly width: string;
}

/** Always shown: the target and the status. */
const STATUS: InvocationListColumn = { name: "status", label: "Status", width: "8rem" };
const TARGET: InvocationListColumn = { name: "target", label: "Target", width: "minmax(11rem, 2fr)" };

export const CHOICES: readonly InvocationListColumn[] = [
  { name: "id", label: "Id", width: "12rem" },
  { name: "created", label: "Created", width: "7rem" },
  { name: "took", label: "Duration", width: "6rem" },
  { name: "attempts", label: "Attempts", width: "4.5rem" },
  { name: "failure", label: "Last failure", width: "minmax(9rem, 3fr)" },
  { name: "modified", label: "Last modified", width: "7rem" },
  { name: "deployment", label: "Deployment", width: "10rem" },
  { name: "idempotency", label: "Idempotency key", width: "10rem" },
  { name: "caller", label: "Invoked by", width: "minmax(8rem, 1fr)" },
  { name: "scope", label: "Scope", width: "8rem" },
];

export const USUAL: readonly string[] = ["id", "created", "took", "attempts", "failure"];

/** The stored columns; the default ones when nothing valid is stored. */
export function chosenColumns(remembered: string | null): readonly string[] {
  if (remembered === null) return USUAL;
  const names = remembered.split(",");
  const validNames = CHOICES.map(({ name }) => name).filter((name) => names.includes(name));
  return validNames.length === 0 && remembered !== "" ? USUAL : validNames;
}

export function listColumns(chosen: readonly string[]): readonly InvocationListColumn[] {
  return [STATUS, TARGET, ...CHOICES.filter(({ name }) => chosen.includes(name))];
}

export const COLUMNS_KEY = "perdure.invocations.columns";
