import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** A file that pages need beside themselves. */
export interface Asset {
  readonly name: AssetName;
  readonly type: string;
  readonly bytes: Buffer;
  /** Says what is in the file: another text has another one, so that browsers may keep it for good. */
  readonly version: string;
}

const types = { 'style.css': 'text/css; charset=utf-8', 'icon.svg': 'image/svg+xml', 'live.js': 'text/javascript; charset=utf-8' } as const;
export type AssetName = keyof typeof types;

const assets = new Map(
  Object.entries(types).map(([name, type]) => {
    const bytes = readFileSync(new URL(`../../../../apps/control/pages/assets/${name}`, import.meta.url));
    return [name, { name: name as AssetName, type, bytes, version: hash('sha256', bytes, 'hex').slice(0, 16) }];
  }),
);

export const assetUrl = (name: AssetName): string => `/assets/${assets.get(name)!.version}/${name}`;

/** Undefined where there is no file of this name. */
export const assetNamed = (name: string): Asset | undefined => assets.get(name);
