/** Masks secrets in settings of deployments: a read-only caller sees that they exist, not their values (cloud.md §6.4, T25). */

const MASKED = "***";

/** The same JSON text with values of `additional_headers` and `assume_role_arn` masked; undefined when it is not JSON. */
export function maskSecrets(text: string): string | undefined {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    return undefined;
  }
  const open: unknown[] = [document];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) for (const each of value) open.push(each);
    else maskMembers(value as Record<string, unknown>, open);
  }
  return JSON.stringify(document);
}

function maskMembers(members: Record<string, unknown>, open: unknown[]): void {
  for (const name of Object.keys(members)) {
    const value = members[name];
    if (name === "additional_headers" && typeof value === "object" && value !== null) {
      members[name] = Object.fromEntries(Object.keys(value).map((header) => [header, MASKED]));
    } else if ((name === "assume_role_arn" || name === "additional_headers") && value !== null) {
      members[name] = MASKED;
    } else {
      open.push(value);
    }
  }
}
