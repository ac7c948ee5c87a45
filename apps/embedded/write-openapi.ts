import { writeFileSync } from 'node:fs';
import { openApiFile, openApiText } from './openapi.js';

writeFileSync(openApiFile, openApiText());
