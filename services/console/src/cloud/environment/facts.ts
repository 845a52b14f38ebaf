/** Why: pages that only environments of the cloud have know what the cloud says of it. */
import { createContext, useContext } from "react";
import type { EnvironmentFacts } from "../cloud-api.js";

export const FactsContext = createContext<EnvironmentFacts | undefined>(undefined);

export function useFacts(): EnvironmentFacts {
  const facts = useContext(FactsContext);
  if (facts === undefined) throw new Error("this is not the page of an environment of the cloud");
  return facts;
}
