/** The picture of `docs/operating/scale.md`: what each resource carries at each step, on a logarithmic scale. */
import type { Values, WorkCost } from "./costs.ts";
import { type Capacity, capacitiesOf } from "./model.ts";
import type { GrowthStep } from "./tables.ts";

const WIDTH = 900;
const HEIGHT = 460;
const LEFT = 70;
const RIGHT = 190;
const TOP = 40;
const BOTTOM = 60;
/** Powers of ten at the ends of the scale. */
const LOWEST = 3;
const HIGHEST = 7;

/** Colours that differ in brightness, too. */
const COLOURS: Readonly<Record<string, string>> = {
  workers: "#1f5fa8",
  gateways: "#6aa84f",
  "Redis, processor": "#cc3d3d",
  "Redis, the node with the list of workers": "#7a1f1f",
  "Redis, network": "#b08bd9",
  "Redis, memory": "#e69138",
  PostgreSQL: "#666666",
};

const x = (index: number, count: number): number => LEFT + ((WIDTH - LEFT - RIGHT) * index) / (count - 1);

function y(perSecond: number): number {
  const power = Math.min(HIGHEST, Math.max(LOWEST, Math.log10(Math.max(1, perSecond))));
  return HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * (power - LOWEST)) / (HIGHEST - LOWEST);
}

const at = (value: number): string => value.toFixed(1);
const text = (left: number, top: number, content: string, more = ""): string =>
  `<text x="${at(left)}" y="${at(top)}" ${more}>${content}</text>`;

/** An SVG with a line for each resource; a ring marks the one that is first at its limit. */
export function chartOf(steps: readonly GrowthStep[], work: WorkCost, values: Values): string {
  const capacities = steps.map((step) => capacitiesOf(step, work, values));
  // Where the list of workers costs next to nothing, its node carries as much as the others.
  const perSecond = (of: readonly Capacity[], resource: string): number =>
    (of.find((capacity) => capacity.resource === resource) ?? of.find(({ resource: name }) => name === "Redis, processor"))
      ?.perSecond ?? 0;
  const parts: string[] = [
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(LEFT, 22, `Invocations per second that each resource carries (${work.name})`, 'font-weight="bold"'),
  ];
  for (let power = LOWEST; power <= HIGHEST; power++) {
    const top = y(10 ** power);
    parts.push(`<line x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${at(top)}" y2="${at(top)}" stroke="#dddddd"/>`);
    parts.push(text(LEFT - 8, top + 4, (10 ** power).toLocaleString("en-US"), 'text-anchor="end"'));
  }
  for (const [index, { what, redisNodes }] of steps.entries()) {
    const left = x(index, steps.length);
    parts.push(text(left, HEIGHT - BOTTOM + 20, what, 'text-anchor="middle"'));
    parts.push(text(left, HEIGHT - BOTTOM + 36, `${redisNodes} Redis`, 'text-anchor="middle" fill="#666666"'));
  }
  for (const [place, [resource, colour]] of Object.entries(COLOURS).entries()) {
    const points = capacities.map((of, index) => `${at(x(index, steps.length))},${at(y(perSecond(of, resource)))}`);
    parts.push(`<polyline points="${points.join(" ")}" fill="none" stroke="${colour}" stroke-width="2"/>`);
    parts.push(`<rect x="${WIDTH - RIGHT + 24}" y="${TOP + place * 24}" width="14" height="14" fill="${colour}"/>`);
    parts.push(
      text(WIDTH - RIGHT + 44, TOP + place * 24 + 12, resource.replace("the node with the list of workers", "list of workers")),
    );
  }
  for (const [index, [first]] of capacities.entries()) {
    if (first === undefined) continue;
    parts.push(
      `<circle cx="${at(x(index, steps.length))}" cy="${at(y(first.perSecond))}" r="6" fill="none" stroke="#000000" stroke-width="2"/>`,
    );
  }
  parts.push(text(WIDTH - RIGHT + 24, TOP + Object.keys(COLOURS).length * 24 + 16, "○ first at its limit"));
  const size = `viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}"`;
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="sans-serif" font-size="12">\n${parts.join("\n")}\n</svg>\n`;
}
