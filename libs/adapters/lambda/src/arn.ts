/** Qualified names of Lambda functions: `arn:<partition>:lambda:<region>:<account>:function:<name>:<version or alias>`. */
const PARTS = /^arn:[a-z0-9-]+:lambda:([a-z0-9-]+):[0-9]+:function:[A-Za-z0-9_-]+:[A-Za-z0-9$_-]+$/;

/** Region of a qualified function; undefined when the text is not the name of one. The version is mandatory. */
export function regionOf(arn: string): string | undefined {
  return PARTS.exec(arn)?.[1];
}
