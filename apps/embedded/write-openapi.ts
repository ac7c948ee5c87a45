import { writeFileSync } from 'node:fs';
import { asyncApiFile, asyncApiText } from './asyncapi.js';
import { openApiFile, openApiText } from './openapi.js';

writeFileSync(openApiFile, openApiText());
writeFileSync(asyncApiFile, asyncApiText());
