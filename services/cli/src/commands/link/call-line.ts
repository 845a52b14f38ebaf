/** A shell command that calls a newly registered service, without a secret in it. */
import type { RegistrationView } from "@perdure/admin-client";
import { curlOf } from "../manage/services.js";

/** `reference`: the environment, for the token. Undefined when there is no handler to call. */
export function callLine({ services }: RegistrationView, ingressUrl: string, reference: string): string | undefined {
  const service = services.find(({ handlers }) => handlers.length > 0);
  const handler = service?.handlers.find(({ ty }) => ty === "Workflow") ?? service?.handlers[0];
  if (service === undefined || handler === undefined) return undefined;
  return `${curlOf(ingressUrl, service, handler)} \\\n  -H "authorization: Bearer $(perdure token ${quoted(reference)})"`;
}

/** Inside double quotes a shell still interprets some characters; names of accounts are free text. */
function quoted(text: string): string {
  return /^[A-Za-z0-9_./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
