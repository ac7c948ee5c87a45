import { asyncApi } from '../control/asyncapi.js';
import { gatewayChannels } from '../gateway/gateway.channels.js';
import { firstDifference, version } from './openapi.js';

/** Where the document is kept. */
export const asyncApiFile = new URL('../../../apps/control/asyncapi.json', import.meta.url);

/** The AsyncAPI document of all WebSockets, as the file has it. */
export const asyncApiText = (): string => `${JSON.stringify(asyncApi(gatewayChannels, version), null, 2)}\n`;

/** Where this text differs first from the document, and what to do; undefined when it does not differ. */
export function asyncApiDrift(kept: string): string | undefined {
  const made = asyncApiText();
  if (kept === made) return undefined;
  const place = firstDifference(JSON.parse(kept), JSON.parse(made))?.join(' ') || 'the order of its lines';
  return `apps/control/asyncapi.json differs at ${place} from the channels in apps/gateway. Edit the definition there, not the JSON, and run \`npm run openapi\`.`;
}
