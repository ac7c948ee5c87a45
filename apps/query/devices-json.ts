import type { FleetMember } from '#edge';
import { JsonText } from './json-text.js';
import type { Pieces } from './series-json.js';

/**
 * The devices that are wanted, from pages of all; a piece, perhaps an empty one, for each page.
 *
 * @param limit of how many devices are listed; with one the answer says whether more follow.
 */
export function* devicesJson(
  pages: Iterable<readonly FleetMember[]>,
  isWanted: (member: FleetMember) => boolean,
  limit: number | undefined,
): Pieces {
  const json = new JsonText().text('{"devices":[');
  let count = 0;
  for (const page of pages) {
    for (const member of page) {
      if (!isWanted(member)) continue;
      if (count === limit) return json.text('],"truncated":true}').bytes();
      if (count++ > 0) json.text(',');
      writeDevice(member, json);
    }
    yield json.bytes();
  }
  return json.text(limit === undefined ? ']}' : '],"truncated":false}').bytes();
}

function writeDevice({ sourceId, online, lastSeenMs }: FleetMember, json: JsonText): void {
  json.text('{"source_id":').string(sourceId).text(`,"online":${online},"last_seen_ms":${lastSeenMs}}`);
}
