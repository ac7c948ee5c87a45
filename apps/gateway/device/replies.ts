import { closeCodes, type CloseCode } from '#edge';
import { TelemetryError, type ErrorKind } from '#model';

/** The codes of errors on the device channel. */
export const deviceErrorCodes = [
  'INVALID_JSON',
  'INVALID_MESSAGE',
  'RATE_LIMITED',
  'SOURCE_LIMIT',
  'DEVICE_LIMIT',
  'BACKEND_UNAVAILABLE',
] as const;
export type DeviceErrorCode = (typeof deviceErrorCodes)[number];

/** What every stranger is told, whatever was wrong. */
export const loginRefusal = 'Send device_auth with a valid API key and a source_id as the first frame, within 10 seconds.';

export const refusalText = (message: string): string => JSON.stringify({ type: 'error', message });

/** An error that names a frame also says that every frame before it is settled. */
export function errorText(code: DeviceErrorCode, detail: string, seq?: number): string {
  return JSON.stringify({ type: 'error', code, detail, ...(seq !== undefined && { seq }) });
}

export const ackText = (seq: number): string => `{"type":"telemetry_ack","seq":${seq}}`;

/** The error of a frame that was refused for what it holds or for what it is too much of; undefined where the frame is not at fault. */
export function refusedFrame(error: unknown, seq: number | undefined): string | undefined {
  if (!(error instanceof TelemetryError)) return undefined;
  const code = codeOf(error);
  if (!code) return undefined;
  return errorText(code, error.message, seq);
}

const codeOfKind: Partial<Record<ErrorKind, DeviceErrorCode>> = {
  invalid: 'INVALID_MESSAGE',
  too_large: 'INVALID_MESSAGE',
  over_rate: 'RATE_LIMITED',
};

function codeOf({ code, kind }: TelemetryError): DeviceErrorCode | undefined {
  if (code === 'invalid_json') return 'INVALID_JSON';
  return code === 'too_many_series' ? 'SOURCE_LIMIT' : codeOfKind[kind];
}

/** The last words on a connection and the code that it is closed with; undefined for an error that the peer is not told of. */
export function lastWords(error: unknown): { readonly text: string; readonly code: CloseCode } | undefined {
  if (!(error instanceof TelemetryError)) return undefined;
  const { kind, code, message } = error;
  if (kind === 'internal') return undefined;
  if (kind === 'unavailable') return { text: errorText('BACKEND_UNAVAILABLE', message), code: closeCodes.tryLater };
  if (code === 'over_rate') return { text: errorText('DEVICE_LIMIT', message), code: closeCodes.tryLater };
  return { text: refusalText(code === 'invalid_key' ? loginRefusal : message), code: closeCodes.policy };
}
