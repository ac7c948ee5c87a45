import type { Processor } from '#log';
import type { Generation } from '#stores';
import { eventProjector } from './event-projector.js';
import { seriesProjector } from './series-projector.js';

/** The projectors that keep one generation up to date. They get its stores and nothing else, so that they cannot append to the log. */
export const projectorsOf = (generation: Generation): readonly Processor[] => [seriesProjector(generation), eventProjector(generation)];
