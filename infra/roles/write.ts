import { readFileSync, writeFileSync } from 'node:fs';
import { written } from './written.js';

const read = (path: string): string => readFileSync(path, 'utf8');

for (const [path, text] of written(read)) writeFileSync(path, text);
