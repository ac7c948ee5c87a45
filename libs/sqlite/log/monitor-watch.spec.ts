import { describe } from '@jest/globals';
import { monitorsContract } from '#testing';
import { openTestLog } from '../open-test-log.js';

describe('monitors on the log in files', () => {
  monitorsContract(() => openTestLog());
});
