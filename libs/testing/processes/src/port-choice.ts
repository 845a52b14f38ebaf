/** Reads ports of the local cluster from variables; an error names the wrong variable. */

/** A port that a user may choose. */
export interface PortChoice {
  readonly variable: string;
  readonly fallback: number;
}

/** `after`: so many ports follow on it. Throws when the variable is not the number of a port. */
export function chosenPort(environment: NodeJS.ProcessEnv, { variable, fallback }: PortChoice, after = 0): number {
  const text = environment[variable] ?? "";
  if (text === "") return fallback;
  if (!/^\d{1,5}$/.test(text) || Number(text) < 1 || Number(text) > 65_535 - after)
    throw new Error(`${variable} must be the number of a port, not '${text}'`);
  return Number(text);
}
