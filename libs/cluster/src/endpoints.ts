/** Why: the roles that speak with user endpoints (discovery, attempts, questions of people) reach them in the same ways. */
import { type Clock, Secret } from "@perdure/base";
import { createHttpTransport } from "@perdure/driver-http2";
import { createLambdaTransport } from "@perdure/driver-lambda";
import { createRequestIdentity, type EndpointTransport, type RequestIdentity } from "@perdure/invoker";
import { type ProcessPorts, readSettingFile } from "@perdure/role";

/** The members that `endpointSettings` adds to settings. */
export interface EndpointSettings {
  readonly requestIdentityPrivateKeyPemFile?: string | undefined;
  readonly awsAssumeRoleExternalId?: string | undefined;
}

export interface Endpoints {
  readonly transports: { readonly http: EndpointTransport; readonly lambda: EndpointTransport };
  /** Undefined: requests are not signed. */
  readonly identity: RequestIdentity | undefined;
}

/** As parts of the lifecycle. Rejects with OPS0001 when the key cannot be read or is not one Ed25519 key. */
export async function openEndpoints(settings: EndpointSettings, ports: ProcessPorts): Promise<Endpoints> {
  const { lifecycle, clock, random } = ports;
  const identity = await lifecycle.prepare(() => identityOf(settings, clock));
  const lambdaOptions = { assumeRoleExternalId: settings.awsAssumeRoleExternalId };
  const http: EndpointTransport = await lifecycle.start("endpoint transport", () => createHttpTransport({ clock, random }));
  const lambda: EndpointTransport = await lifecycle.start("Lambda transport", () => createLambdaTransport(lambdaOptions));
  return { transports: { http, lambda }, identity };
}

export function identityOf({ requestIdentityPrivateKeyPemFile: file }: EndpointSettings, clock: Clock) {
  if (file === undefined) return undefined;
  return createRequestIdentity(new Secret(readSettingFile("request-identity-private-key-pem-file", file)), clock);
}
