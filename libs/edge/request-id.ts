import { randomBytes } from 'node:crypto';

const process = randomBytes(6).toString('hex');
let count = 0;

/** Names one request in answers, logs and records; unique over processes and restarts. */
export const newRequestId = (): string => `req_${process}${(count++).toString(36).padStart(4, '0')}`;
