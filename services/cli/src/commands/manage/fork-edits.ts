/** Flags of `perdure fork` that edit results: `--set 5='{"approved":true}'` and `--fail 5='500:message'`. */
import type { ForkStart } from "@perdure/admin-client";
import { InvalidArgumentError } from "commander";

export type ResultEdit = NonNullable<ForkStart["edits"]>[number];

export const STEP_MAX = 4_294_967_295;
const FAILURE_CODE_MAX = 65_535;

export function setEdit(text: string, before: readonly ResultEdit[] | undefined): readonly ResultEdit[] {
  const { step, rest } = stepOf(text, `5='{"approved":true}'`);
  return [...(before ?? []), { step, ...resultOf(rest) }];
}

function resultOf(text: string): { none: true } | { base64: string } | { text: string } {
  if (text === "") return { none: true };
  if (text.startsWith("base64:")) return { base64: text.slice("base64:".length) };
  try {
    JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`'${text}' is not JSON. Write texts with quotes: --set 5='"text"'.`);
  }
  return { text };
}

export function failEdit(text: string, before: readonly ResultEdit[] | undefined): readonly ResultEdit[] {
  const { step, rest } = stepOf(text, "5='500:message'");
  return [...(before ?? []), { step, failure: failureOf(rest, "--fail 5='500:message'") }];
}

/** `500:message`; `example` is for the refusal. */
export function failureOf(text: string, example: string): { code: number; message: string } {
  const [, digits = "", message] = /^(\d{1,5}):(.*)$/s.exec(text) ?? [];
  const code = Number(digits);
  if (message !== undefined && code >= 1 && code <= FAILURE_CODE_MAX) return { code, message };
  throw new InvalidArgumentError(`Write the failure as code:message, for example ${example}.`);
}

function stepOf(text: string, example: string): { step: number; rest: string } {
  const [, digits, rest] = /^(\d{1,10})=(.*)$/s.exec(text) ?? [];
  const step = Number(digits);
  if (digits === undefined || rest === undefined || step > STEP_MAX)
    throw new InvalidArgumentError(`Begin with the number of an entry: ${example}.`);
  return { step, rest };
}
