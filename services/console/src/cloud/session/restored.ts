/**
 * Why: browsers keep a page that was left as it was, and show it again when somebody goes back (the back/forward cache): also after its
 * user has signed out, to whoever sits there next.
 */

/** Tells when the page is shown again after it was left; `page` is its window. Returns what ends the listening. */
export function onRestored(page: EventTarget, listen: () => void): () => void {
  const shown = (event: Event): void => {
    if ("persisted" in event && event.persisted === true) listen();
  };
  page.addEventListener("pageshow", shown);
  return () => page.removeEventListener("pageshow", shown);
}
