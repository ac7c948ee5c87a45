import { maxBytes, maxPoints } from './batches.js';

/** Puts groups of points into as few bodies for the ingest endpoint as it takes, in their order. */
export function* bodiesOf(sourceId: string, groups: readonly (readonly string[])[]): Generator<string> {
  const bodyOf = (points: readonly string[]): string => `{"source_id":${JSON.stringify(sourceId)},"points":[${points.join(',')}]}`;
  let points: string[] = [];
  let bytes = 0;
  for (const group of groups.flatMap((one) => [...fitting(one)])) {
    const more = group.reduce((sum, line) => sum + bytesOf(line), 0);
    if (points.length > 0 && (points.length + group.length > maxPoints || bytes + more > maxBytes)) {
      yield bodyOf(points);
      [points, bytes] = [[], 0];
    }
    for (const line of group) points.push(line);
    bytes += more;
  }
  if (points.length > 0) yield bodyOf(points);
}

/**
 * A group that no body has room for, as several. Equal events are told apart by their number within a body: the third of them is the third
 * only behind two others. So those that earlier parts have are in a later part again, before what is new there: that changes nothing at the server.
 */
function* fitting(group: readonly string[]): Generator<readonly string[]> {
  const earlier = new Map<string, number>();
  let again = new Map<string, number>();
  let fresh: string[] = [];
  let [count, bytes] = [0, 0];
  const part = (): string[] => [...Array.from(again, ([line, times]) => Array.from({ length: times }, () => line)).flat(), ...fresh];
  for (const line of group) {
    let copies = 1 + (again.has(line) ? 0 : (earlier.get(line) ?? 0));
    if (fresh.length > 0 && (count + copies > maxPoints || bytes + copies * bytesOf(line) > maxBytes)) {
      yield part();
      for (const one of fresh) earlier.set(one, (earlier.get(one) ?? 0) + 1);
      [again, fresh, count, bytes] = [new Map(), [], 0, 0];
      copies = 1 + (earlier.get(line) ?? 0);
    }
    const before = earlier.get(line);
    if (before !== undefined) again.set(line, before);
    fresh.push(line);
    count += copies;
    bytes += copies * bytesOf(line);
  }
  yield part();
}

const bytesOf = (line: string): number => Buffer.byteLength(line) + 1;
