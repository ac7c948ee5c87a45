import { writeFileSync } from 'node:fs';
import { nginxConf } from './nginx-conf.js';

writeFileSync('infra/proxy/nginx.conf', nginxConf());
