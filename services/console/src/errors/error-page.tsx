/** The page of an error code: what happened, why, and what to do, from docs/errors, which is part of the build. */
import { useQuery } from "@tanstack/react-query";
import { Marked } from "marked";
import { type MouseEvent, useMemo } from "react";
import { useLocation, useParams, useRouter } from "wouter";
import { Loaded, Page } from "../kit/index.js";
import { errorLink } from "./error-text.js";
import "./error-page.css";

const PAGES = import.meta.glob<string>(["../../../../docs/errors/*.md", "!**/README.md"], { query: "?raw", import: "default" });

export default function ErrorPage() {
  const { code = "" } = useParams();
  const load = PAGES[`../../../../docs/errors/${code}.md`];
  const query = useQuery({
    queryKey: ["error", code],
    queryFn: async () => (await load?.()) ?? null,
    staleTime: Number.POSITIVE_INFINITY,
  });
  const title = /^# \w+: (.*)/.exec(query.data ?? "")?.[1];
  return (
    <Page title={code} lead={title === undefined ? undefined : capitalised(title)}>
      <Loaded query={query}>
        {(text) => (text === null ? <p>Only error codes of Perdure have a page.</p> : <ErrorText text={text} />)}
      </Loaded>
    </Page>
  );
}

const capitalised = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** The text is built in and never contains user data. Its heading is the page's title already. */
function ErrorText({ text }: { readonly text: string }) {
  const router = useRouter();
  const [, go] = useLocation();
  const html = useMemo(
    () =>
      markedFor((code) => router.hrefs(`${router.base}/errors/${code}`, router)).parse(text.replace(/^# .*\n/, ""), {
        async: false,
      }),
    [text, router],
  );
  /** Links between codes stay within the page that is loaded; with the keyboard they are clicked, too. */
  const follow = (event: MouseEvent) => {
    const code = event.target instanceof HTMLElement ? event.target.dataset["code"] : undefined;
    if (code === undefined || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(`/errors/${code}`);
  };
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: what is clicked are the links in it
    // biome-ignore lint/security/noDangerouslySetInnerHtml: see above
    <div className="words" onClick={follow} dangerouslySetInnerHTML={{ __html: html }} />
  );
}

function markedFor(hrefOf: (code: string) => string): Marked {
  return new Marked({
    renderer: {
      link({ href, tokens }) {
        const linkText = this.parser.parseInline(tokens);
        const link = errorLink(href);
        if (link.kind === "page") return `<a href="${hrefOf(link.code)}" data-code="${link.code}">${linkText}</a>`;
        return link.kind === "web" ? `<a href="${encodeURI(link.href)}" rel="noreferrer">${linkText}</a>` : linkText;
      },
    },
  });
}
