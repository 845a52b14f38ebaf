/** Shows a part of the console. */
import { useState } from "react";
import type { Part } from "./part.js";

export function PartPage({ part }: { readonly part: Part }) {
  // Chosen once: another kind of component would begin anew.
  const [Chosen] = useState(() => part.shown());
  return <Chosen />;
}
