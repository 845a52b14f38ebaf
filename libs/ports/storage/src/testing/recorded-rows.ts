/** Fields whose names have changed since rows were recorded as JSON; their stored numbers have not. The recorded files never change. */
const RENAMED_FIELDS: Readonly<Record<string, string>> = { life: "generation", callerLife: "callerGeneration" };

/** Parses recorded rows with the names that their fields have now. */
export function parseRecordedRows<T>(json: string): T {
  const renamed = json.replace(/"(\w+)":/g, (whole, field: string) =>
    Object.hasOwn(RENAMED_FIELDS, field) ? `"${RENAMED_FIELDS[field]}":` : whole,
  );
  return JSON.parse(renamed) as T;
}
