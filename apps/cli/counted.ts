/** A number with its noun, for a person: `1 row`, `22,695 rows`. */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en')} ${count === 1 ? one : many}`;
