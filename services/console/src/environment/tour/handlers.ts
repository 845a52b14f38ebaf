/** The tour calls any registered service; with the greeter of its first step it has a prepared call. Pure. */
import type { HandlerAddress, HandlerMetadata, ServiceMetadata } from "@perdure/admin-client";
import { isRecord } from "../../kit/problem-text.js";
import { exampleOf } from "../schema/example.js";

export interface Callable {
  /** `Greeter/party`: value of the choice. */
  readonly value: string;
  readonly service: string;
  readonly handler: string;
  readonly needsKey: boolean;
  /** JSON text of an argument that fits. */
  readonly example: string;
}

/** Everything that can be called from outside. */
export function callablesOf(services: readonly ServiceMetadata[]): readonly Callable[] {
  return services
    .filter((service) => service.public)
    .flatMap((service) => service.handlers.filter((handler) => handler.public).map((handler) => callableOf(service, handler)));
}

function callableOf({ name, ty }: ServiceMetadata, handler: HandlerMetadata): Callable {
  return {
    value: `${name}/${handler.name}`,
    service: name,
    handler: handler.name,
    needsKey: ty !== "Service",
    example: handler.input_description === "none" ? "" : exampleText(handler.input_json_schema),
  };
}

/** An input with a name, as our samples require, where the schema has only a string type, or is missing. */
function exampleText(schema: unknown): string {
  const hasDetails = isRecord(schema) && Object.keys(schema).some((name) => name !== "$schema" && name !== "title");
  if (!hasDetails || schema["type"] === "string") return '"Ada"';
  return JSON.stringify(exampleOf(schema), undefined, 2);
}

/** The first of `wanted` that is there; else the first of all. */
export function chosenOf(callables: readonly Callable[], preferred: readonly (string | undefined)[]): Callable | undefined {
  for (const value of preferred) {
    const match = callables.find((one) => one.value === value);
    if (match !== undefined) return match;
  }
  return callables[0];
}

export function addressOf({ service, handler, needsKey }: Callable, key: string): HandlerAddress {
  return needsKey ? { service, key, handler } : { service, handler };
}
