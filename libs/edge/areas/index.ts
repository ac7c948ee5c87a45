import { alertsArea } from './alerts.js';
import type { AnyArea } from './area.js';
import { claimsArea } from './claims.js';
import { monitorsArea } from './monitors.js';
import { organizationsArea } from './organizations.js';
import { peopleArea } from './people.js';
import { targetsArea } from './targets.js';

export type { AnyArea, Area } from './area.js';
export { alertsArea } from './alerts.js';
export { claimsArea } from './claims.js';
export { keysArea } from './keys.js';
export { monitorsArea } from './monitors.js';
export { organizationsArea } from './organizations.js';
export { peopleArea } from './people.js';
export { targetsArea } from './targets.js';

/** The areas that the group `decisions` decides. Keys have a group of their own, which is older. */
export const areas: readonly AnyArea[] = [claimsArea, monitorsArea, alertsArea, peopleArea, targetsArea, organizationsArea];
