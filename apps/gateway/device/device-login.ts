import { isSourceId, parseJson } from '#model';

/** The first frame of a device, as far as it means something. */
export interface DeviceLogin {
  readonly apiKey: string;
  readonly sourceId: string;
  /** It wants to be told what is durable. */
  readonly acks: boolean;
  /** The commands that it takes as `command_run`; all others go as `typed_command`. */
  readonly runs: ReadonlySet<string>;
}

const noRuns: ReadonlySet<string> = new Set();

/** Undefined when the frame is anything else. */
export function readLogin(frame: Buffer): DeviceLogin | undefined {
  const fields = objectIn(frame);
  const { type, api_key: apiKey, source_id: sourceId, acks, protocol, commands } = fields;
  if (type !== 'device_auth' || typeof apiKey !== 'string' || !isSourceId(sourceId)) return undefined;
  return { apiKey, sourceId, acks: acks === true, runs: protocol === 1 ? namesIn(commands) : noRuns };
}

function objectIn(frame: Buffer): Record<string, unknown> {
  try {
    const json = parseJson(frame);
    return typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {};
  } catch {
    return {};
  }
}

/** Clients list names, or objects with a name, or have the names as keys. */
function namesIn(manifest: unknown): ReadonlySet<string> {
  if (typeof manifest !== 'object' || manifest === null) return noRuns;
  const names = Array.isArray(manifest)
    ? manifest.map((one: unknown) => (one as { name?: unknown } | null)?.name ?? one)
    : Object.keys(manifest);
  return new Set(names.filter((name): name is string => typeof name === 'string'));
}
