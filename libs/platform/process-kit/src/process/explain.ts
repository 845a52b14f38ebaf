/** Text for an error that keeps a process from running: what is wrong, and what to do next. */
import { catalogue, type ErrorCode, type PerdureError } from "@perdure/base";
import { DOCS_URL_VARIABLE, errorPageUrl } from "@perdure/telemetry/error-page";

export type ErrorAdvice = Readonly<Partial<Record<ErrorCode, string>>>;

/** Advice for every process; `program` is the command that its user typed. */
function commonAdvice(program: string): ErrorAdvice {
  return {
    RT0002: `Correct the settings; '${program} --print-config' shows every setting with its meaning.`,
    RT0004: "Stop the program that uses the address, or set another port. Ports below 1024 may need more rights.",
    META0005: "Restore the metadata from a backup, or move it away and register the deployments again.",
    META0010: "Start the version that wrote the data, or a newer one. Nothing in it was changed.",
    OPS0001: `Correct the setting; '${program} --print-config' shows every setting with its meaning.`,
    OPS0002: "Keep one of the two names.",
    OPS0003: "This is a defect of Perdure. Please report it with the log above.",
  };
}

/** Some lines for a user: code, what happened, what to do, where to read on. `own` advice replaces the general advice. */
export function explain(error: PerdureError, program: string, environment: NodeJS.ProcessEnv, own: ErrorAdvice = {}): string {
  const lines = [`${error.code}: ${catalogue[error.code].title}`, "", `  ${error.detail.replaceAll("\n", "\n  ")}`];
  const advice = own[error.code] ?? commonAdvice(program)[error.code];
  if (advice !== undefined) lines.push("", `What to do: ${advice}`);
  lines.push(`More: perdure errors ${error.code}, or ${errorPageUrl(error.code, environment[DOCS_URL_VARIABLE])}`);
  return lines.join("\n");
}
