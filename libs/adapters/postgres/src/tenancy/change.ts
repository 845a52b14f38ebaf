/** Changes of tenancy as their notifications carry them: as JSON. */
import { jsonFields, parseJson } from "@perdure/base";
import { parseAccountId, parseApiKeyId, parseEnvironmentId, parseUserId, type TenancyChange } from "@perdure/cloud";

const EVERYTHING: TenancyChange = { kind: "everything" };

/** A change that this version does not have, or that cannot be read, becomes one that drops every cached value. */
export function parseChange(payload: string): TenancyChange {
  const fields = jsonFields(parseJson(payload)) ?? {};
  const parsed = <T>(name: string, parse: (text: string) => T | undefined): T | undefined => {
    const text = fields[name];
    return typeof text === "string" ? parse(text) : undefined;
  };
  switch (fields["kind"]) {
    case "environment": {
      const id = parsed("id", parseEnvironmentId);
      return id === undefined ? EVERYTHING : { kind: "environment", id };
    }
    case "key": {
      const id = parsed("id", parseApiKeyId);
      const environmentId = parsed("environmentId", parseEnvironmentId);
      return id === undefined || environmentId === undefined ? EVERYTHING : { kind: "key", id, environmentId };
    }
    case "member": {
      const id = parsed("id", parseUserId);
      const accountId = parsed("accountId", parseAccountId);
      return id === undefined || accountId === undefined ? EVERYTHING : { kind: "member", id, accountId };
    }
    default:
      return EVERYTHING;
  }
}
