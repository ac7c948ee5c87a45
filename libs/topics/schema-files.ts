import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('../../../schemas/', import.meta.url);

/** The texts of all committed versions of a record type, oldest first. @throws Error when there is none. */
export function schemaVersions(schema: string): readonly string[] {
  const versions = readdirSync(folder)
    .map((file) => /^(.+)\.v(\d+)\.avsc$/.exec(file))
    .filter((match) => match?.[1] === schema)
    .toSorted((a, b) => Number(a?.[2]) - Number(b?.[2]));
  if (versions.length === 0) throw new Error(`schemas/ has no ${schema}.v1.avsc`);
  return versions.map((match) => readFileSync(new URL(match![0], folder), 'utf8'));
}
