/**
 * Checks a request's input against the handler's declaration before anything is stored, so that the caller gets the error at once
 * (ingress.md §3.2).
 */
import type { InputRule } from "@perdure/control";
import { badInput, type IngressRefusal } from "./refusal.js";

const emptyBody = badInput("Empty body not allowed");
const emptyContentType = badInput("Empty content-type");

export function checkInput(rule: InputRule, contentType: string | undefined, bodyBytes: number): IngressRefusal | undefined {
  if (rule.none) return checkNone(contentType, bodyBytes);
  if (bodyBytes === 0) {
    if (rule.required) return emptyBody;
    if (contentType === undefined) return undefined;
  }
  if (contentType === undefined) return emptyContentType;
  if (matches(rule.contentType, contentType)) return undefined;
  return badInput(`Content-type '${contentType}' does not match '${rule.contentType}'`);
}

function checkNone(contentType: string | undefined, bodyBytes: number): IngressRefusal | undefined {
  if (contentType === undefined && bodyBytes === 0) return undefined;
  const given = contentType === undefined ? "None" : `Some(${JSON.stringify(contentType)})`;
  return badInput(`Expected body and content-type to be empty, but wasn't with content-type '${given}'`);
}

/** Exact and case-sensitive; parameters of the given type do not count. */
function matches(pattern: string, contentType: string): boolean {
  if (pattern === contentType || pattern === "*/*") return true;
  const semicolon = contentType.indexOf(";");
  const given = semicolon < 0 ? contentType : contentType.slice(0, semicolon).trimEnd();
  if (given === pattern) return true;
  return pattern.endsWith("/*") && given.startsWith(pattern.slice(0, -1));
}
