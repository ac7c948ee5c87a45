import { hash, randomInt } from 'node:crypto';
import { crc32 } from 'node:zlib';

const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const shape = /^hw_[0-9A-Za-z]{38}$/;

function checksum(text: string): string {
  let rest = crc32(text);
  let out = '';
  for (let i = 0; i < 6; i++) {
    out = digits[rest % 62]! + out;
    rest = Math.floor(rest / 62);
  }
  return out;
}

export function makeSecret(): string {
  const body = `hw_${Array.from({ length: 32 }, () => digits[randomInt(62)]).join('')}`;
  return body + checksum(body);
}

export const isWellFormed = (key: string): boolean => shape.test(key) && checksum(key.slice(0, -6)) === key.slice(-6);

export const sha256 = (key: string): string => hash('sha256', key, 'hex');
