/**
 * Variables for pods that open their tunnel themselves: every container receives the identity of the tunnel. The credentials are part of
 * the user's template.
 */
import type { CloudEnvironment } from "@perdure/custom-resources";
import type { PlainEnvVariable } from "../service-deployment/desired.js";

const TUNNEL_NAME = "PERDURE_TUNNEL_NAME";
const ENVIRONMENT_ID = "PERDURE_ENVIRONMENT_ID";
const REGION = "PERDURE_REGION";
const SIGNING_PUBLIC_KEY = "PERDURE_SIGNING_PUBLIC_KEY";

/** A template that sets one of these variables is refused, because the operator would overwrite the value. */
export const IN_PROCESS_VARIABLES: readonly string[] = [TUNNEL_NAME, ENVIRONMENT_ID, REGION, SIGNING_PUBLIC_KEY];

/** `tunnelName`: of this version alone. */
export function inProcessVariables({ spec }: CloudEnvironment, tunnelName: string): readonly PlainEnvVariable[] {
  return [
    { name: TUNNEL_NAME, value: tunnelName },
    { name: ENVIRONMENT_ID, value: spec.environmentId },
    { name: REGION, value: spec.region },
    { name: SIGNING_PUBLIC_KEY, value: spec.signingPublicKey },
  ];
}
