/** Reads the JSON of a bundle; files of bundles are this JSON, compressed with gzip. */
import { BUNDLE_FORMAT, BUNDLE_VERSION, BundleShape, tolerant } from "@perdure/admin-contract";
import { PerdureError } from "@perdure/base/perdure-error";
import type { BundleView } from "./views.js";

/** Throws OPS0010 when the text is not a bundle, or one of a later format. */
export function parseBundle(text: string): BundleView {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new PerdureError("OPS0010", "it is not JSON", { cause });
  }
  if (fieldOf(value, "format") !== BUNDLE_FORMAT) {
    throw new PerdureError("OPS0010", `it has no field 'format' with the value ${BUNDLE_FORMAT}`);
  }
  const version = fieldOf(value, "version");
  if (typeof version === "number" && version > BUNDLE_VERSION) {
    const versions = `it has version ${version} of the format, and this program reads up to ${BUNDLE_VERSION}`;
    throw new PerdureError("OPS0010", `${versions}: update the program`);
  }
  const parsed = tolerant(BundleShape).safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new PerdureError("OPS0010", `field '${issue?.path.join(".")}': ${issue?.message}`);
}

function fieldOf(value: unknown, name: "format" | "version"): unknown {
  return typeof value === "object" && value !== null ? new Map(Object.entries(value)).get(name) : undefined;
}
