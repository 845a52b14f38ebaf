/** Why: sentences of the server name invocations; whoever reads them wants to go there. Their long ids are shown short. */
import { Fragment, type ReactNode } from "react";
import { Link } from "wouter";
import { Breakable, ShortId } from "../../kit/index.js";

/** Of invocations, deployments and awakeables; those of awakeables end with base64url. */
const ID = /((?:inv|dp)_[0-9A-Za-z]{10,}|(?:sign|prom)_[\w-]{10,})/;

export function LinkedText({ text, except }: { readonly text: string; readonly except: string }) {
  return text.split(ID).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    <Fragment key={index}>{index % 2 === 1 ? linked(part, except) : <Breakable text={part} />}</Fragment>
  ));
}

function linked(id: string, except: string): ReactNode {
  if (!id.startsWith("inv_") || id === except) return <ShortId id={id} />;
  return (
    <Link href={`/invocations/${id}`}>
      <ShortId id={id} />
    </Link>
  );
}
