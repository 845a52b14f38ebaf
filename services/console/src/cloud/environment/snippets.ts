/** Snippets for reaching an environment from elsewhere, with this environment's values and a variable in place of the key. Pure. */
import type { EnvironmentDescription } from "../cloud-api.js";

interface SnippetText {
  readonly id: string;
  readonly label: string;
  readonly about: string;
  readonly text: string;
}

/** The variable that all snippets take the key from: a key that is pasted with a command ends in its history. */
export const KEY_VARIABLE = "PERDURE_API_KEY";

type SnippetEnvironment = Pick<
  EnvironmentDescription,
  "environmentId" | "name" | "region" | "ingressBaseUrl" | "adminBaseUrl" | "signingPublicKey"
>;

/** `apiUrl`: of the Cloud API. */
export function snippetsOf(place: SnippetEnvironment, apiUrl: string): readonly SnippetText[] {
  const ingress = bare(place.ingressBaseUrl);
  const admin = bare(place.adminBaseUrl);
  return [
    {
      id: "curl",
      label: "curl",
      about: "Call the handler “greet” of the service “Greeter”.",
      text: `export ${KEY_VARIABLE}='key_…'
curl ${ingress}/Greeter/greet \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" \\
  --json '"Ada"'`,
    },
    {
      id: "register",
      label: "Register by curl",
      about: "Register the handlers of an endpoint; run it from CI after each deployment.",
      text: `curl ${admin}/deployments \\
  -H "Authorization: Bearer $${KEY_VARIABLE}" \\
  --json '{"uri": "https://your-service.example"}'`,
    },
    {
      id: "typescript",
      label: "TypeScript",
      about: "Call from code, with @restatedev/restate-sdk-clients.",
      text: `import * as clients from "@restatedev/restate-sdk-clients";
import type { greeter } from "./greeter.js";

const ingress = clients.connect({
  url: "${ingress}",
  headers: { Authorization: \`Bearer \${process.env.${KEY_VARIABLE}}\` },
});
console.log(await ingress.serviceClient<typeof greeter>({ name: "Greeter" }).greet("Ada"));`,
    },
    {
      id: "perdure",
      label: "perdure",
      about: "Log in once; the profile serves both command lines.",
      text: `${apiUrl === "" ? "" : `export PERDURE_API_URL=${apiUrl}\n`}perdure login
perdure env configure ${place.name}
perdure whoami
perdure deployments register https://your-service.example
perdure call Greeter/greet '"Ada"'`,
    },
    {
      id: "restate",
      label: "restate",
      about: "The official command line, with a key and no login.",
      text: `${restateVariables(ingress, admin)}
export RESTATE_AUTH_TOKEN="$${KEY_VARIABLE}"
restate whoami
restate deployments register https://your-service.example`,
    },
    {
      id: "kubernetes",
      label: "Kubernetes",
      about: "With the operator: services in your cluster, reached through a tunnel. The key of the Secret needs full access.",
      text: `apiVersion: v1
kind: Secret
metadata:
  name: ${objectName(place.name)}-key
  namespace: perdure-system
stringData:
  key: key_…
---
apiVersion: perdure.dev/v1alpha1
kind: CloudEnvironment
metadata:
  name: ${objectName(place.name)}
spec:
  environmentId: ${place.environmentId}
  region: ${place.region}
  signingPublicKey: ${place.signingPublicKey}
  authentication:
    secretRef:
      name: ${objectName(place.name)}-key
      key: key`,
    },
  ];
}

/** Returns the shell command that exports a key which was just made, and is shown only once. */
export function keyExport(key: string): string {
  return `export ${KEY_VARIABLE}='${key}'`;
}

/** The SDK accepts a list: during a rotation it holds both keys. */
export function identityKeys(keys: readonly string[]): string {
  return `restate.serve({
  services: [greeter],
  identityKeys: [${keys.map((key) => `"${key}"`).join(", ")}],
});`;
}

/**
 * The principal that may assume a customer's role, and only for this environment (cloud.md §5.6). Undefined where Lambda is not offered.
 */
export function trustPolicy({
  lambdaPrincipalArn,
  lambdaExternalId,
}: Pick<EnvironmentDescription, "lambdaPrincipalArn" | "lambdaExternalId">): string | undefined {
  const [, partition, account] = /^arn:([\w-]+):iam::(\d{12}):/.exec(lambdaPrincipalArn ?? "") ?? [];
  if (partition === undefined || account === undefined) return undefined;
  const Principal = { AWS: `arn:${partition}:iam::${account}:root` };
  const conditions = { "sts:ExternalId": lambdaExternalId, "aws:PrincipalArn": lambdaPrincipalArn };
  const policy = {
    Version: "2012-10-17",
    Statement: [
      { Effect: "Allow", Principal, Action: "sts:AssumeRole", Condition: { StringEquals: conditions } },
      { Effect: "Allow", Principal, Action: "sts:TagSession" },
    ],
  };
  return JSON.stringify(policy, null, 2);
}

/** The command that makes a service on a laptop reachable. */
export function tunnelCommands({ name }: Pick<EnvironmentDescription, "name">): string {
  return `perdure tunnel -e ${name} --tunnel-name laptop --local-port 9080
perdure deployments register -e ${name} tunnel://laptop:9080`;
}

/** The short form names the host alone, and takes the usual ports for granted. */
function restateVariables(ingress: string, admin: string): string {
  const [one, other] = [new URL(ingress), new URL(admin)];
  if (one.hostname === other.hostname && one.port === "8080" && other.port === "9070") {
    return `export RESTATE_HOST=${one.hostname}\nexport RESTATE_HOST_SCHEME=${one.protocol.slice(0, -1)}`;
  }
  return `export RESTATE_INGRESS_URL=${ingress}\nexport RESTATE_ADMIN_URL=${admin}`;
}

/** Names of Kubernetes objects begin and end with a letter of the alphabet or a digit, unlike names of environments. */
function objectName(name: string): string {
  return name.replaceAll(/^-+|-+$/g, "") || "environment";
}

function bare(url: string): string {
  return url.replace(/\/+$/, "");
}
