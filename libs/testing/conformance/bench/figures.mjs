/** Small things that every measurement does with its numbers. */
export const median = (numbers) => numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)];

export const perInvocationUs = (seconds, count) => (seconds / count) * 1e6;

export const yes = (met) => (met ? "yes" : "**no**");

/** A table in Markdown. */
export const table = (head, rows) => [head, head.map(() => "---"), ...rows].map((row) => `| ${row.join(" | ")} |`).join("\n");
