/** Why: the first thing to do with a registered service is to call it; a line to paste says how, without a secret in it. */
import type { RegistrationView } from "@perdure/admin-client";
import { curlOf } from "../manage/services.js";

/** `reference`: the environment, for the token. Undefined when there is nothing to call. */
export function callLine({ services }: RegistrationView, ingressUrl: string, reference: string): string | undefined {
  const service = services.find(({ handlers }) => handlers.length > 0);
  const handler = service?.handlers.find(({ ty }) => ty === "Workflow") ?? service?.handlers[0];
  if (service === undefined || handler === undefined) return undefined;
  return `${curlOf(ingressUrl, service, handler)} \\\n  -H "authorization: Bearer $(perdure token ${quoted(reference)})"`;
}

/** Inside double quotes a shell still reads some characters; names of accounts are free text. */
function quoted(text: string): string {
  return /^[A-Za-z0-9_./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
