import { invalid } from '../error.js';

/** An id as a part of a path. @throws HeadwaterError for one that would be another path. */
export function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw invalid(`"${id}" is not an id.`);
  return encodeURIComponent(id);
}
