/** Builds a CustomResourceDefinition from a schema: names, printer columns, subresources and the OpenAPI schema itself. */
import { z } from "zod";
import { API_GROUP, API_VERSION } from "./names.js";
import { type StructuralSchema, structural, type ValidationRule, withRules } from "./schema.js";

interface PrinterColumn {
  readonly name: string;
  readonly type: "string" | "integer" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  /** 0 = always shown, 1 = `-o wide`. */
  readonly priority?: number;
}

export interface KindSource {
  readonly kind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly scope: "Cluster" | "Namespaced";
  readonly description: string;
  readonly spec: z.ZodType;
  readonly status: z.ZodType;
  /** Validation rules of the whole object: they may read `self.metadata.name`. */
  readonly rules: readonly ValidationRule[];
  readonly columns: readonly PrinterColumn[];
  readonly scale?: { readonly specReplicasPath: string; readonly statusReplicasPath: string; readonly labelSelectorPath: string };
}

export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string; readonly annotations: Readonly<Record<string, string>> };
  readonly spec: {
    readonly group: string;
    readonly names: Readonly<Record<string, unknown>>;
    readonly scope: KindSource["scope"];
    readonly versions: readonly DefinitionVersion[];
  };
}

interface DefinitionVersion {
  readonly name: string;
  readonly served: boolean;
  readonly storage: boolean;
  readonly additionalPrinterColumns: readonly PrinterColumn[];
  readonly subresources: { readonly status: Record<string, never>; readonly scale?: NonNullable<KindSource["scale"]> };
  readonly schema: { readonly openAPIV3Schema: StructuralSchema };
}

/** Helm keeps a definition when its release is uninstalled, because all objects of its kind would be deleted with it (kubernetes.md D7). */
const KEEP = { "helm.sh/resource-policy": "keep" };

export function definitionOf(source: KindSource): CustomResourceDefinition {
  const { kind, plural, singular, shortNames, scope, description, spec, status, rules, columns, scale } = source;
  const whole = z.object({
    apiVersion: z.string(),
    kind: z.string(),
    metadata: z.object({}),
    spec,
    status: status.optional(),
  });
  const root = structural(rules.length === 0 ? whole : withRules(whole, ...rules));
  const { properties } = root as { readonly properties: Readonly<Record<string, unknown>> };
  // The API server accepts `metadata`, `kind` and `apiVersion` only as plain objects without constraints, and always requires them.
  const schema = { ...root, description, required: ["spec"], properties: { ...properties, metadata: { type: "object" } } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${API_GROUP}`, annotations: KEEP },
    spec: {
      group: API_GROUP,
      names: { kind, listKind: `${kind}List`, plural, singular, shortNames, categories: ["perdure"] },
      scope,
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          additionalPrinterColumns: columns,
          subresources: scale === undefined ? { status: {} } : { status: {}, scale },
          schema: { openAPIV3Schema: schema },
        },
      ],
    },
  };
}
