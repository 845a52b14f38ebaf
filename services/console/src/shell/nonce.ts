/** Why: editors write style elements, which the page's policy lets through only with its number. */
import { createContext, useContext } from "react";

export const NonceContext = createContext("");

export function useNonce(): string {
  return useContext(NonceContext);
}
