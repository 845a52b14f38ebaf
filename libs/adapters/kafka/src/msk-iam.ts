/**
 * IAM authentication for Amazon MSK: the token of SASL OAUTHBEARER is a signed URL of the action "connect", in base64url. Packages of the
 * AWS SDK sign it; they are loaded when the first subscription needs a token.
 */
import { type Clock, PerdureError } from "@perdure/base";

/** Rules for AWS credentials of users; the same as for Lambda functions. */
export interface AwsAccess {
  /** Users must name a role: the server's own credentials are not used for them. */
  readonly rolesOnly: boolean;
  /** External id when a role is assumed, against confused deputies. */
  readonly externalId?: string | undefined;
}

interface MskIam {
  readonly region: string;
  readonly profile: string | undefined;
  readonly role: string | undefined;
}

interface AwsCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

const CONFIG = "sasl.oauthbearer.config";
const NAMES: ReadonlySet<string> = new Set(["provider", "region", "profile", "role"]);
const PROVIDER = /^aws[-_]?msk([-_]?iam)?$/i;
const REGION = /^[a-z]{2,4}(-[a-z]+)+-\d{1,2}$/;
const ROLE = /^arn:[a-z0-9-]+:iam::\d{12}:role\/[\w+=.@/-]{1,512}$/;
/** The longest lifetime that brokers accept. */
const TOKEN_SECONDS = 900;
const ACTION = "kafka-cluster:Connect";
/** User agent in CloudTrail of the AWS account. */
const USER_AGENT = "perdure";

/** Reads `provider=aws-msk-iam,region=…,profile=…,role=…`; `provider` may be absent with `AWS_MSK_IAM`. Throws OPS0001. */
export function mskIamOf(config: string, { isNamed, aws }: { readonly isNamed: boolean; readonly aws: AwsAccess }): MskIam {
  const entries = new Map<string, string>();
  for (const entry of config.split(",")) {
    const [name = "", value = ""] = entry.trim().split(/=(.*)/s, 2);
    if (!NAMES.has(name) || entries.has(name)) throw wrong("it is a list of provider, region, profile and role, each once");
    entries.set(name, value);
  }
  const provider = entries.get("provider");
  if (provider === undefined ? !isNamed : !PROVIDER.test(provider)) throw wrong("the provider must be 'aws-msk-iam'");
  const region = entries.get("region");
  if (region === undefined || !REGION.test(region)) throw wrong("it needs the region of the cluster, like 'region=eu-central-1'");
  const role = entries.get("role");
  if (role !== undefined && !ROLE.test(role)) throw wrong("the role must be an ARN, arn:aws:iam::<account>:role/<name>");
  const profile = entries.get("profile");
  if (aws.rolesOnly) checkRoleOnly(role, profile, aws);
  return { region, profile, role };
}

function checkRoleOnly(role: string | undefined, profile: string | undefined, { externalId }: AwsAccess): void {
  if (profile !== undefined) throw wrong("a profile cannot be used here");
  if (role === undefined) throw wrong("it needs a role to assume, like 'role=arn:aws:iam::<account>:role/<name>'");
  if (externalId === undefined)
    throw wrong("no role can be assumed: the server has no external id (aws-assume-role-external-id)");
}

function wrong(reason: string): PerdureError {
  return new PerdureError("OPS0001", `the Kafka property '${CONFIG}' cannot be used: ${reason}`);
}

/** Credentials of the role, of the profile, or those that the SDK finds (environment, web identity, container, instance). */
export async function awsCredentials({ region, profile, role }: MskIam, { externalId }: AwsAccess): Promise<AwsCredentials> {
  const { fromNodeProviderChain, fromTemporaryCredentials } = await import("@aws-sdk/credential-providers");
  const own = fromNodeProviderChain({ ...(profile === undefined ? {} : { profile }), clientConfig: { region } });
  if (role === undefined) return own();
  const params = {
    RoleArn: role,
    RoleSessionName: "perdure",
    ...(externalId === undefined ? {} : { ExternalId: externalId }),
  };
  return fromTemporaryCredentials({ params, clientConfig: { region }, masterCredentials: own })();
}

/** A token that is valid for 15 minutes; kafkajs requests another one for each connection and before the session expires. */
export async function mskToken(
  { region }: Pick<MskIam, "region">,
  { accessKeyId, secretAccessKey, sessionToken }: AwsCredentials,
  clock: Pick<Clock, "nowMs">,
): Promise<string> {
  const [{ SignatureV4 }, { Sha256 }] = await Promise.all([import("@smithy/signature-v4"), import("@smithy/core/checksum")]);
  const credentials = { accessKeyId, secretAccessKey, ...(sessionToken === undefined ? {} : { sessionToken }) };
  const signer = new SignatureV4({ service: "kafka-cluster", region, credentials, sha256: Sha256, applyChecksum: false });
  const hostname = `kafka.${region}.amazonaws.com`;
  const request = {
    method: "GET",
    protocol: "https:",
    hostname,
    path: "/",
    headers: { host: hostname },
    query: { Action: ACTION },
  };
  const signed = await signer.presign(request, { expiresIn: TOKEN_SECONDS, signingDate: new Date(clock.nowMs()) });
  const query = Object.entries({ ...signed.query, "User-Agent": USER_AGENT })
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(String(value))}`)
    .sort();
  return Buffer.from(`https://${hostname}/?${query.join("&")}`).toString("base64url");
}
