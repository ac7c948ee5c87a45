import { isSourceId, maxCommandNameChars, parseJson } from '#model';

/** The first frame of a device, as far as it means something. */
export interface DeviceLogin {
  readonly apiKey: string;
  readonly sourceId: string;
  /** It wants to be told what is durable. */
  readonly acks: boolean;
  /** The commands that it takes as `command_run`; all others go as `typed_command`. */
  readonly runs: ReadonlySet<string>;
  /** What those take in memory, about. */
  readonly runBytes: number;
}

/** Commands of a manifest that are kept. What is beyond is ignored, as are names that no command has: a device is not refused for it. */
const maxNames = 256;
/** What a name takes beside its characters. */
const nameBytes = 64;

const noRuns: ReadonlySet<string> = new Set();

/** Undefined when the frame is anything else. */
export function readLogin(frame: Buffer): DeviceLogin | undefined {
  const fields = objectIn(frame);
  const { type, api_key: apiKey, source_id: sourceId, acks, protocol, commands } = fields;
  if (type !== 'device_auth' || typeof apiKey !== 'string' || !isSourceId(sourceId)) return undefined;
  const runs = protocol === 1 ? namesIn(commands) : noRuns;
  const runBytes = Iterator.from(runs).reduce((bytes, name) => bytes + nameBytes + name.length, 0);
  return { apiKey, sourceId, acks: acks === true, runs, runBytes };
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
  const isName = (name: unknown): name is string => typeof name === 'string' && name.length <= maxCommandNameChars;
  return new Set(names.filter(isName).slice(0, maxNames));
}
