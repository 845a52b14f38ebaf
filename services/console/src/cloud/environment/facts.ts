/** Gives pages that only environments of the cloud have the facts that the Cloud API returned. */
import { createContext, useContext } from "react";
import type { EnvironmentDescription } from "../cloud-api.js";

export const FactsContext = createContext<EnvironmentDescription | undefined>(undefined);

export function useFacts(): EnvironmentDescription {
  const facts = useContext(FactsContext);
  if (facts === undefined) throw new Error("this is not the page of an environment of the cloud");
  return facts;
}
