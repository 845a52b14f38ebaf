/** Bodies of requests about deployments. */
import { formatDuration, parseByteSize, parseDuration } from "@perdure/base";
import { CHECK_BOUNDS_MAX } from "@perdure/metadata";
import { z } from "zod";

const count = (min: number, max: number) => z.number().int().min(min).max(max).nullish();

/** A duration such as `30s`, as milliseconds. */
const time = (maxMs: number) =>
  z
    .string()
    .transform((text, context) => {
      const parsed = parseDuration(text);
      if (parsed.ok && parsed.ms >= 1 && parsed.ms <= maxMs) return parsed.ms;
      context.addIssue({ code: "custom", message: parsed.ok ? `must be 1ms to ${formatDuration(maxMs)}` : parsed.reason });
      return z.NEVER;
    })
    .nullish();

/** A size such as `64MiB`, as bytes. */
const size = (maxBytes: number) =>
  z
    .string()
    .transform((text, context) => {
      const parsed = parseByteSize(text);
      if (parsed.ok && parsed.bytes >= 1 && parsed.bytes <= maxBytes) return parsed.bytes;
      context.addIssue({ code: "custom", message: parsed.ok ? `must be 1 to ${maxBytes} bytes` : parsed.reason });
      return z.NEVER;
    })
    .nullish();

/** Bounds of a check; an absent one has its default. */
export const CheckDeployment = z
  .strictObject({
    in_flight_per_handler: count(0, CHECK_BOUNDS_MAX.inFlightPerHandler),
    completed_per_handler: count(0, CHECK_BOUNDS_MAX.completedPerHandler),
    invocations: count(1, CHECK_BOUNDS_MAX.invocations),
    timeout: time(CHECK_BOUNDS_MAX.timeoutMs),
    replay_timeout: time(CHECK_BOUNDS_MAX.replayTimeoutMs),
    bytes: size(CHECK_BOUNDS_MAX.bytes),
    concurrency: count(1, CHECK_BOUNDS_MAX.concurrency),
  })
  .meta({ id: "CheckDeploymentRequest" });

/** `true` checks within the default bounds. */
const Verify = z.union([z.boolean(), CheckDeployment]).nullish();

/** Characters of a URI (RFC 3986); a later check, with a better message, requires it to be absolute. */
const UriText = z.string().regex(/^[!#-;=?-[\]_a-z~%]+$/i, "is not a URI");
const HeaderName = z.string().regex(/^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/, "is not a header name");
const HeaderValue = z.string().regex(/^[\t\x20-\x7e\x80-\xff]*$/, "is not a header value");
const Headers = z.record(HeaderName, HeaderValue);
const Metadata = z.record(z.string(), z.string());
const Flag = z.boolean().default(false);

/** Tokens of one cloud platform. We cannot create them, so the request is refused instead of sent without a token. */
const Auth = z.looseObject({}).nullish();

const shared = { additional_headers: Headers.nullish(), dry_run: Flag, auth: Auth };
const registration = { ...shared, metadata: Metadata.nullish(), breaking: Flag, force: z.boolean().nullish(), verify: Verify };

const RegisterHttp = z.object({ uri: UriText, use_http_11: Flag, ...registration });
const RegisterLambda = z.object({ arn: z.string(), assume_role_arn: z.string().nullish(), ...registration });
export const RegisterDeployment = z.union([RegisterHttp, RegisterLambda]).meta({ id: "RegisterDeploymentRequest" });

export const UpdateDeployment = z
  .object({
    uri: UriText.nullish(),
    use_http_11: z.boolean().nullish(),
    arn: z.string().nullish(),
    assume_role_arn: z.string().nullish(),
    overwrite: Flag,
    ...shared,
  })
  .meta({ id: "UpdateDeploymentRequest" });
