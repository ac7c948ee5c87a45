import { settings, type Setting } from './settings.js';

const prefix = 'HEADWATER_';
/** How many letters more, fewer or other than in the name of a setting are a slip: the fewer, the shorter the name is. */
const maxSlips = (name: string): number => Math.min(3, (name.length - prefix.length) / 2);

/** The names that settings have in the environment. */
const names = Object.values<Setting<unknown>>(settings).flatMap(({ variable, mayBeFile }) =>
  mayBeFile ? [variable, `${variable}_FILE`] : [variable],
);

/**
 * A sentence for each variable that looks like a setting whose name was written wrongly, and so sets nothing. Variables that are like no setting may belong
 * to others, such as the command line, or to a newer version.
 */
export function misspelt(env: Readonly<Record<string, string | undefined>>): readonly string[] {
  return Object.keys(env)
    .filter((name) => name.startsWith(prefix) && !names.includes(name))
    .flatMap((name) => {
      const [nearest, slips] = names.map((one) => [one, slipsBetween(name, one)] as const).reduce((a, b) => (b[1] < a[1] ? b : a));
      return slips <= maxSlips(name) ? [`${name} is no setting, and has no effect: is ${nearest} meant?`] : [];
    });
}

/** The least number of letters to add, to take away or to change that makes one text of the other (Levenshtein 1965). */
function slipsBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let at = 1; at <= one.length; at++) {
    const above = row;
    row = [at];
    for (let to = 1; to <= other.length; to++) {
      const isSame = one[at - 1] === other[to - 1];
      row.push(Math.min(above[to]! + 1, row[to - 1]! + 1, above[to - 1]! + Number(!isSame)));
    }
  }
  return row[other.length]!;
}
