/** Field names whose values are masked at the top of a line and one level down. */
export const MASKED_FIELDS: readonly string[] = [
  "accessToken",
  "additionalHeaders",
  "apiKey",
  "authorization",
  "body",
  "credential",
  "headers",
  "key",
  "password",
  "payload",
  "secret",
  "token",
  "value",
];
