import { intervalMs, RollupRows } from '#model';
import { NumberList } from './number-list.js';
import { type Level, levels } from './run.js';
import type { Points } from './points.js';

/** Points to a minute's row from which on rows are worth their room: with fewer, the rows would take more of it than the points. */
const pointsPerMinute = 4;
/** Minute rows, or points, to an hour's row from which on hour rows are worth it: fewer are read quickly enough. */
const rowsPerHour = 8;
/** What changes by less is not worth a segment of its own. */
const slack = 2;

/** The rows of some series, which come in their order, and where those of each series begin. */
export class Stretch {
  readonly series = new NumberList();
  readonly rows: Readonly<Record<Level, RollupRows>> = { '1m': new RollupRows(), '1h': new RollupRows() };
  readonly #begins: Readonly<Record<Level, NumberList>> = { '1m': new NumberList(), '1h': new NumberList() };
  #points = 0;

  clear(): void {
    this.series.clear();
    for (const level of levels) {
      this.#begins[level].clear();
      this.rows[level].clear();
    }
    this.#points = 0;
  }

  /** Folds points [from, to) into the minutes of a series. */
  add(series: number, { timeMs, value }: Points, from: number, to: number): void {
    const minutes = this.rows['1m'];
    if (series !== this.series.last) {
      this.series.push(series);
      this.#begins['1m'].push(minutes.length);
      minutes.begin();
    }
    minutes.fold(intervalMs['1m'], timeMs, value, from, to);
    this.#points += to - from;
  }

  /** To be called once all points were added. */
  foldHours(): void {
    const hours = this.rows['1h'];
    for (let at = 0; at < this.series.length; at++) {
      this.#begins['1h'].push(hours.length);
      hours.begin();
      hours.foldRows(intervalMs['1h'], this.rows['1m'], ...this.span('1m', at));
    }
  }

  /** Takes over the rows of the stretch after this one, whose first series may be the last one here. */
  append(next: Stretch): void {
    const first = next.series.at(0) === this.series.last ? 1 : 0;
    for (let at = first; at < next.series.length; at++) this.series.push(next.series.at(at)!);
    for (const level of levels) {
      const before = this.rows[level].length;
      for (let at = first; at < next.series.length; at++) this.#begins[level].push(before + next.#begins[level].at(at)!);
      this.rows[level].append(next.rows[level]);
    }
    this.#points += next.#points;
  }

  /** Where the rows of the series at a position begin and end. */
  span(level: Level, at: number): [from: number, to: number] {
    const begins = this.#begins[level];
    return [begins.at(at)!, begins.at(at + 1) ?? this.rows[level].length];
  }

  /** The levels whose rows are worth their room; where it is a close call, the same as those of the stretch before. */
  worth(before?: readonly Level[]): readonly Level[] {
    const enough = (level: Level, finer: number, perRow: number): boolean => {
      const factor = before ? (before.includes(level) ? 1 / slack : slack) : 1;
      return finer >= perRow * factor * this.rows[level].length;
    };
    const minutes = enough('1m', this.#points, pointsPerMinute);
    const hours = enough('1h', minutes ? this.rows['1m'].length : this.#points, rowsPerHour);
    return levels.filter((level) => (level === '1m' ? minutes : hours));
  }
}
