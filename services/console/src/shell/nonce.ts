/** Editors write style elements, which the content security policy allows only with the page's nonce. */
import { createContext, useContext } from "react";

export const NonceContext = createContext("");

export function useNonce(): string {
  return useContext(NonceContext);
}
