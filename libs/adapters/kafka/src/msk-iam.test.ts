import { describe, expect, test } from "@jest/globals";
import { mskIamOf, mskToken } from "./msk-iam.js";

const OURS = { isNamed: false, aws: { rolesOnly: false } };
const OTHER_OWNERS = { isNamed: false, aws: { rolesOnly: true, externalId: "env_1" } };
const ROLE = "arn:aws:iam::123456789012:role/kafka-reader";
const clock = { nowMs: () => Date.UTC(2026, 10, 26, 4) };

const urlOf = (token: string): URL => new URL(Buffer.from(token, "base64url").toString());

describe("a token", () => {
  /** As `aws-msk-iam-sasl-signer-js` 1.0.3 signs with these credentials at this time. */
  test.each([
    [
      { accessKeyId: "AKIDEXAMPLE", secretAccessKey: "example-secret-key-of-no-account" },
      "8e1ca6cd2df7e4bc489e91d61bbae3f5f97a550a1864bb08d519f78baf13f724",
    ],
    [
      { accessKeyId: "ASIDEXAMPLE", secretAccessKey: "another-example-secret-key", sessionToken: "session/+token==" },
      "7ab2a85023ac0bd4eafaae24a4605a090dd301e16e90622bec4baff506e6cb9d",
    ],
  ])("is a signed URL of the action connect, good for a quarter of an hour (%j)", async (credentials, signature) => {
    const token = await mskToken({ region: "eu-central-1" }, credentials, clock);
    expect(token).toMatch(/^[\w-]+$/);
    const url = urlOf(token);
    expect(url.origin + url.pathname).toBe("https://kafka.eu-central-1.amazonaws.com/");
    const { sessionToken, accessKeyId } = { sessionToken: undefined, ...credentials };
    expect(Object.fromEntries(url.searchParams)).toEqual({
      Action: "kafka-cluster:Connect",
      "User-Agent": "perdure",
      "X-Amz-Algorithm": "AWS4-HMAC-SHA256",
      "X-Amz-Credential": `${accessKeyId}/20261126/eu-central-1/kafka-cluster/aws4_request`,
      "X-Amz-Date": "20261126T040000Z",
      "X-Amz-Expires": "900",
      "X-Amz-SignedHeaders": "host",
      "X-Amz-Signature": signature,
      ...(sessionToken === undefined ? {} : { "X-Amz-Security-Token": sessionToken }),
    });
  });
});

describe("sasl.oauthbearer.config", () => {
  test("has provider and region, and optionally a profile or a role", () => {
    expect(mskIamOf("provider=aws-msk-iam,region=eu-central-1", OURS)).toEqual({
      region: "eu-central-1",
      profile: undefined,
      role: undefined,
    });
    const named = { ...OURS, isNamed: true };
    expect(mskIamOf(`region=us-gov-west-1, profile=dev, role=${ROLE}`, named)).toEqual({
      region: "us-gov-west-1",
      profile: "dev",
      role: ROLE,
    });
    expect(mskIamOf(`provider=aws_msk_iam,region=eu-central-1,role=${ROLE}`, OTHER_OWNERS)).toMatchObject({ role: ROLE });
  });

  test.each([
    ["", OURS, "a list of provider, region"],
    ["region=eu-central-1", OURS, "the provider must be"],
    ["provider=gcp,region=eu-central-1", OURS, "the provider must be"],
    ["provider=aws-msk-iam", OURS, "it needs the region"],
    ["provider=aws-msk-iam,region=evil.example/?", OURS, "it needs the region"],
    ["provider=aws-msk-iam,region=eu-central-1,region=us-east-1", OURS, "each once"],
    ["provider=aws-msk-iam,region=eu-central-1,role=admin", OURS, "the role must be an ARN"],
    ["provider=aws-msk-iam,region=eu-central-1", OTHER_OWNERS, "it needs a role to assume"],
    [`provider=aws-msk-iam,region=eu-central-1,profile=admin,role=${ROLE}`, OTHER_OWNERS, "a profile cannot be used"],
    [`provider=aws-msk-iam,region=eu-central-1,role=${ROLE}`, { isNamed: false, aws: { rolesOnly: true } }, "no external id"],
  ])("that cannot be is refused with its reason: %s", (config, context, reason) => {
    expect(() => mskIamOf(config, context)).toThrow(reason);
  });
});
