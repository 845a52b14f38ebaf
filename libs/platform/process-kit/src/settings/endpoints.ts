/** Settings shared by the roles that call user endpoints (discovery, attempts). */
import { optionalText, textMap } from "../config/setting.js";
import { egressSettings } from "./egress.js";

export const endpointSettings = {
  requestIdentityPrivateKeyPemFile: optionalText({
    sentence: "PEM file with the Ed25519 key (PKCS#8) that signs requests to endpoints; they are not signed when not set.",
  }),
  additionalRequestHeaders: textMap(
    {},
    { sentence: "Headers sent with every request to endpoints, beside x-restate-cluster-name.", secret: true },
  ),
  awsAssumeRoleExternalId: optionalText({
    sentence: "External id sent along when a role is assumed to call a Lambda function.",
  }),
  egress: egressSettings,
} as const;

/** Sent with every request to an endpoint; names in lower case. */
export function requestHeadersOf({
  clusterName,
  additionalRequestHeaders,
}: {
  readonly clusterName: string;
  readonly additionalRequestHeaders: Readonly<Record<string, string>>;
}): Record<string, string> {
  const own = Object.entries(additionalRequestHeaders).map(([name, value]) => [name.toLowerCase(), value] as const);
  return { "x-restate-cluster-name": clusterName, ...Object.fromEntries(own) };
}
