/**
 * The management API's advice is for terminals: flags, commands, paths of files. This file translates it to the fields and pages of the
 * console; the page of an error code is behind the code itself. Pure.
 */

const BY_CODE: Readonly<Record<string, string>> = {
  META0004: "It is already registered. Select “Overwrite the deployment at this URL” when its code has changed.",
  META0006: "Restore what is missing, or select “Overwrite the deployment at this URL” when it is no longer called.",
  META0014: "Select “Use HTTP/1.1”.",
  META0101:
    "Fix the code, or serve it at a new URL so that the old deployment finishes its invocations. “Overwrite” registers it anyway.",
  PERD0101: "The environment is being set up: try again in some seconds.",
  PERD0102: "The environment could not be set up: its logs have the reason. Resume it under Environments to try again.",
  PERD0110: "The environment is suspended: resume it under Environments.",
  PERD0401: "Sign in again.",
};

const BY_STATUS: Readonly<Record<number, string | undefined>> = {
  0: undefined,
  401: "Sign in again.",
};

/** Returns the advice in the terms of the console; undefined when there is none. */
export function browserAdvice(
  advice: string | undefined,
  code: string | undefined,
  status: number | undefined,
): string | undefined {
  if (code !== undefined && code in BY_CODE) return BY_CODE[code];
  if (code === undefined && status !== undefined && status in BY_STATUS) return BY_STATUS[status];
  const text = advice?.replaceAll(/\s*docs\/errors\/\w+\.md(?: \([^)]*\))? says more\.?/g, "").trim();
  return text === "" ? undefined : text;
}
