/** Origins that may call from browsers are entered one a line. Pure. */

/** Maximum number of origins that the Cloud API accepts. */
const ORIGINS_MAX = 50;

export function originsOf(text: string): readonly string[] {
  return text
    .split(/[\s,]+/)
    .map((one) => one.replace(/\/+$/, ""))
    .filter((one) => one !== "");
}

/** The error of the list; undefined when it is valid. */
export function originsProblem(text: string): string | undefined {
  const origins = originsOf(text);
  if (origins.length > ORIGINS_MAX) return `At most ${ORIGINS_MAX}.`;
  const wrong = origins.find((one) => one !== "*" && !isOrigin(one));
  return wrong === undefined ? undefined : `“${wrong}” is not an origin. Example: https://app.example, without a path.`;
}

function isOrigin(text: string): boolean {
  return /^https?:\/\/[^/?#\s@]{1,253}$/.test(text) && URL.canParse(text);
}
