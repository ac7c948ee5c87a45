import { TelemetryError } from '#model';

/** As sent, and after inflating. */
export const maxBodyBytes = 5 * 1024 * 1024;

export const tooLarge = (): TelemetryError =>
  new TelemetryError('body_too_large', 'Split the points over several bodies: one is at most 5 MiB, as sent and after inflating.');
