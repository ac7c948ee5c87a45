import { ofGeneration, on, type Processor } from '#log';
import type { Generation } from '#stores';
import { points, seriesGroup } from '#topics';
import { placed } from './placed.js';

/** Puts every numeric point into the series store of a generation. */
export const seriesProjector = ({ suffix, series }: Pick<Generation, 'suffix' | 'series'>): Processor => ({
  group: ofGeneration(seriesGroup, suffix),
  inputs: [on(points, (records, lease) => series.write(placed(records), lease))],
  checkpoint: () => series.checkpoint(),
});
