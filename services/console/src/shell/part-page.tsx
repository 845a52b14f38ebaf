/** Shows a part of the console. */
import { useState } from "react";
import type { LazyPart } from "./part.js";

export function PartPage({ part }: { readonly part: LazyPart }) {
  // Chosen once: another kind of component would begin anew.
  const [Chosen] = useState(() => part.shown());
  return <Chosen />;
}
