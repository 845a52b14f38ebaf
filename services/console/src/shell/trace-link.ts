/** The operator may configure a trace viewer; then a trace id links to it. */
import { createContext } from "react";

/** A URL with `{traceId}` in it; undefined when none is configured. */
export const TraceUrlContext = createContext<string | undefined>(undefined);

/** Undefined when there is no such address, or it is none that a browser may open. */
export function traceLink(template: string | undefined, traceId: string): string | undefined {
  if (template === undefined || !/^[0-9a-f]{32}$/.test(traceId)) return undefined;
  const text = template.replaceAll("{traceId}", traceId);
  if (!URL.canParse(text)) return undefined;
  const { protocol, href } = new URL(text);
  return protocol === "https:" || protocol === "http:" ? href : undefined;
}
