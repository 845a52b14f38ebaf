/** Turns ids of invocations in sentences of the server into links. Ids are shown short, times and durations as everywhere else. */
import { Fragment, type ReactNode } from "react";
import { Link } from "wouter";
import { Breakable, exactMoment, ShortId } from "../../kit/index.js";
import { proseParts } from "./prose.js";

/** Matches ids of invocations, deployments and awakeables; those of awakeables end with base64url. */
const ID = /((?:inv|dp)_[0-9A-Za-z]{10,}|(?:sign|prom)_[\w-]{10,})/;

export function LinkedText({ text, except }: { readonly text: string; readonly except: string }) {
  return text.split(ID).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    <Fragment key={index}>{index % 2 === 1 ? linked(part, except) : <Prose text={part} />}</Fragment>
  ));
}

function Prose({ text }: { readonly text: string }) {
  return proseParts(text).map((part, index) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of one text have no other name
    <Fragment key={index}>
      {part.kind === "text" ? (
        <Breakable text={part.text} />
      ) : (
        <time dateTime={new Date(part.atMs).toISOString()} title={exactMoment(part.atMs)} className="nowrap">
          {part.text}
        </time>
      )}
    </Fragment>
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
