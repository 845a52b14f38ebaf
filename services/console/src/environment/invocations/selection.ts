/** The selection stays while the list changes under it: ids, or everything that matches the condition. Pure. */

export type ListSelection =
  | { readonly kind: "ids"; readonly ids: ReadonlySet<string> }
  /** The list and more: everything that matches its condition. */
  | { readonly kind: "matching" };

export const NOTHING: ListSelection = { kind: "ids", ids: new Set() };

export function isSelected(selection: ListSelection, id: string): boolean {
  return selection.kind === "matching" || selection.ids.has(id);
}

export function isNothing(selection: ListSelection): boolean {
  return selection.kind === "ids" && selection.ids.size === 0;
}

/** Toggles an id. When all matches are selected and one is deselected, the listed ones remain selected: `listed`. */
export function toggled(selection: ListSelection, id: string, listed: readonly string[]): ListSelection {
  const ids = new Set(selection.kind === "matching" ? listed : selection.ids);
  if (!ids.delete(id)) ids.add(id);
  return { kind: "ids", ids };
}

/** Everything from one row to another as well, both ends included. */
export function withRange(selection: ListSelection, listed: readonly string[], from: number, to: number): ListSelection {
  if (selection.kind === "matching") return selection;
  const [first, last] = from <= to ? [from, to] : [to, from];
  return { kind: "ids", ids: new Set([...selection.ids, ...listed.slice(first, last + 1)]) };
}
