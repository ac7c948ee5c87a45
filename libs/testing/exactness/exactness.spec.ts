import { EmbeddedDeployment } from '../embedded-deployment.js';
import { exactnessSuite } from './suite.js';

exactnessSuite(() => EmbeddedDeployment.start());
